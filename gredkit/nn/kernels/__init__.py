"""Fused CPU kernels for the GRED layer: C code, compiled on first use, that computes the same as the PyTorch code."""
