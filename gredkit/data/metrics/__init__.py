"""Metrics: functions or classes of outputs and targets, each registered with its label and direction."""
