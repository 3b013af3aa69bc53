"""Datasets: functions, each registered under a short name."""
