"""Graphs and their hop index."""
