"""Sequence extractors: one class per file, each registered under a short name."""
