"""Launchers: one class a file, each registered under a short name."""
