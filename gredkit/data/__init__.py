"""Datasets, tasks and the hop index of graphs."""
