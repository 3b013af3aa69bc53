"""Benchmarks: what the hop index, the set reductions and a training step cost, against the dense way."""
