"""Losses: functions or classes of outputs and targets, each registered under a short name."""
