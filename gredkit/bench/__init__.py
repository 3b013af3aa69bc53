"""Benchmarks of gredkit's speed and memory, compared with dense and published implementations."""
