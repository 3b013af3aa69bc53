"""The hop index for models that list its pairs."""

from dataclasses import dataclass

import numpy as np
from torch_geometric.data import Data

from gredkit.data.hops.index import HopData
from gredkit.data.hops.structure import Hops
from gredkit.data.structures import Arrays


@dataclass(frozen=True)
class CountedHops(Hops):
    """The hop index, the same entry of the cache, and how many pairs of nodes there are at each distance.

    hop_pairs: numpy array [K + 1], the number of ordered pairs at distance k. Like `hop_profile` it stays in main
    memory when a batch moves to a device, so that the pairs can be listed without waiting for the device.
    """

    def attach(self, graph: Data, arrays: Arrays) -> HopData:
        hops = super().attach(graph, arrays)
        hops.hop_pairs = pairs_by_distance(arrays["set_size"], arrays["seq_length"], arrays["seq_set"])
        return hops


def pairs_by_distance(set_size: np.ndarray, seq_length: np.ndarray, seq_set: np.ndarray) -> np.ndarray:
    """The number of ordered pairs at distance 0, 1, …. Shape: [sets], [nodes], [rows] -> [hops]"""
    first = np.repeat(seq_length.cumsum() - seq_length, seq_length)  # the row at which the node of each row begins
    hop = np.arange(len(seq_set)) - first
    return np.bincount(hop, weights=set_size[seq_set], minlength=1).astype(np.int64)
