"""Layers over pairs of nodes and the distances between them, used by the models of `nn/models`."""
