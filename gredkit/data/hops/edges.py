"""Hop sets whose members are nodes and edges: those inside a hop, and those from it to the next hop."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch_geometric.data import Data

from gredkit.data.hops.index import HopArrays, HopData, attach_hops, check_K, hop_arrays, links
from gredkit.data.structures import Arrays, Structure

KINDS = 3  # members that an edge (a, b) can be: inside a hop, from a to b, from b to a


class EdgeHopData(HopData):
    """A `HopData` whose sets also have edges as members.

    hop_link_index [2, E]: the edges, each once. Member u < N of hop_set_member is a node, and N + 3 e, N + 3 e + 1 and
    N + 3 e + 2 are edge e (a, b) inside a hop, from a to b, and from b to a. hop_own_place [N] and hop_link_place [E]
    are the numbers of the nodes and of the edges inside a hop, which shift when graphs are batched.
    """

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key in ("hop_set_member", "hop_own_place", "hop_link_place"):
            return self.hop_seq_length.numel() + KINDS * self.hop_link_index.shape[1]
        return super().__inc__(key, value, *args, **kwargs)


@dataclass(frozen=True)
class HopsWithEdges(Structure):
    """The hop sets up to distance K with the edges inside each hop and to the next hop, both ends within K."""

    K: int | None
    key: ClassVar[str] = "hops_with_edges"

    def __post_init__(self) -> None:
        check_K(self.K)

    def compute(self, graph: Data) -> Arrays:
        num_nodes, pairs = links(graph)
        sets = with_edges(hop_arrays(graph, self.K), pairs, num_nodes)
        return {**sets._asdict(), "link": pairs.astype(np.int32).reshape(-1, 2)}

    def attach(self, graph: Data, arrays: Arrays) -> EdgeHopData:
        hops = attach_hops(graph, HopArrays(**{name: arrays[name] for name in HopArrays._fields}), self.K, EdgeHopData)
        link, num_nodes = arrays["link"], len(arrays["seq_length"])
        hops._store._mapping.update(
            hop_link_index=torch.from_numpy(link).T.long(),
            hop_own_place=torch.arange(num_nodes),
            hop_link_place=num_nodes + KINDS * torch.arange(len(link)),
        )
        return hops

    def settings(self) -> dict[str, Any]:
        return {"K": self.K}


def with_edges(hops: HopArrays, pairs: np.ndarray, num_nodes: int) -> HopArrays:
    """The sets with their edges, one for each pair of a set and the set that follows it. Set v is hop 0 of node v."""
    from gredkit.data.hops.edge_search import members_with_edges  # numba is slow to import, and needed only here

    sets, rows = len(hops.set_size), np.arange(len(hops.seq_set))
    end = hops.seq_length.cumsum()
    before = np.append(hops.seq_set[1:], sets)  # the set of the next hop; `sets` where there is none
    before[end - 1] = sets
    pair, first, number = np.unique(hops.seq_set * np.int64(sets + 1) + before, return_index=True, return_inverse=True)
    own = number.reshape(-1)[end - hops.seq_length]  # at hop 0
    first[own] = np.arange(num_nodes) - len(rows)  # these come first, the others as they occur
    order = np.argsort(first)
    new = np.empty_like(order)
    new[order] = np.arange(len(order))
    here, there = pair[order] // (sets + 1), pair[order] % (sets + 1)
    size, member = members_with_edges(
        *(here, there, hops.set_size, hops.set_member),
        *(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), num_nodes),
    )
    return HopArrays(size, member, hops.seq_length, new[number.reshape(-1)].astype(hops.seq_set.dtype))
