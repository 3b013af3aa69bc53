"""Graphs and their hop index."""

from gredkit.data.hops import HopData, add_hops, add_hops_to_all

__all__ = ["HopData", "add_hops", "add_hops_to_all"]
