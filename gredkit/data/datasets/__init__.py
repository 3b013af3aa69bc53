"""Datasets: functions that return a task, each registered under a short name."""
