"""Fused CPU kernels for the layer: C that is compiled on first use, beside PyTorch code that computes the same."""
