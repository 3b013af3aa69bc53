"""Hops without distances: the sizes of a node's hops, filled with nodes at random."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xxhash
from torch_geometric.data import Data

from gredkit.data.hops.index import HopArrays, HopData, attach_hops, check_K, hop_arrays
from gredkit.data.structures import Arrays, Structure


@dataclass(frozen=True)
class RandomHops(Structure):
    """A hop index with the same sizes of sets as `Hops(K)`, whose members are other nodes of the graph at random."""

    K: int | None
    seed: int = 0
    key: ClassVar[str] = "random_hops"

    def __post_init__(self) -> None:
        check_K(self.K)

    def compute(self, graph: Data) -> Arrays:
        # Features count too: graphs with the same edges would otherwise have the same draw, which a model could learn.
        features = b"" if graph.x is None else graph.x.cpu().numpy().tobytes()
        return shuffled(hop_arrays(graph, self.K), self.seed, features)._asdict()

    def attach(self, graph: Data, arrays: Arrays) -> HopData:
        return attach_hops(graph, HopArrays(**arrays), self.K)

    def settings(self) -> dict[str, Any]:
        return {"K": self.K, "seed": self.seed, "reads": "edges and features"}  # entries of other draws are not reused


def shuffled(hops: HopArrays, seed: int, features: bytes) -> HopArrays:
    """The same lengths and sizes with members at random: any other node of the graph may stand at any hop but 0."""
    nodes = len(hops.seq_length)
    drawn = np.random.default_rng(
        [seed, xxhash.xxh3_64_intdigest(b"".join([*(array.tobytes() for array in hops), features]))]
    )
    size = hops.set_size[hops.seq_set]  # of each row
    start = hops.seq_length.cumsum() - hops.seq_length
    is_far = np.ones(len(size), bool)
    is_far[start] = False
    seq_set = np.empty_like(hops.seq_set)
    seq_set[start] = np.arange(nodes)
    seq_set[is_far] = np.arange(nodes, len(size))  # each set stands in one sequence only
    seen = np.add.reduceat(size, start) - 1 if nodes else size
    others = [_without(v, drawn.permutation(nodes - 1)[:count]) for v, count in enumerate(seen)]
    member = np.concatenate([np.arange(nodes), *others]).astype(hops.set_member.dtype)
    return HopArrays(np.concatenate([size[start], size[is_far]]), member, hops.seq_length, seq_set)


def _without(node: int, numbers: np.ndarray) -> np.ndarray:
    """Turn the numbers 0 … n - 2 into those of all nodes but this one."""
    return numbers + (numbers >= node)
