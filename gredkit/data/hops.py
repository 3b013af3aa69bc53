"""The hop index of a graph: which nodes stand at distance 0, 1, …, K of each node."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from os import cpu_count
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data
from tqdm import tqdm

from gredkit.errors import UserError

NODE_KEYS = {"x", "feat", "pos", "batch", "n_id", "tf", "adj", "adj_t"}  # from these PyG knows the number of nodes


class HopData(Data):
    """A PyG `Data` with its hop index; PyG's own collation makes a batch of them.

    hop_set_size [S], hop_set_member [M]: the distinct hop sets, one after another; set v is {v}.
    hop_seq_length [N], hop_seq_set [R]: for each node, nearest hop first, which set stands at hop k.
    hop_K [1]: the last hop counted, K itself or the diameter; hops beyond a node's reach are empty.
    hop_profile: numpy array [K + 1], how many nodes have a non-empty hop k. It stays on the host when a
    batch moves to a device, so that shapes are known there without waiting for the device.
    """

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key == "hop_set_member":
            return self.num_nodes
        if key == "hop_seq_set":
            return self.hop_set_size.numel()
        return super().__inc__(key, value, *args, **kwargs)


def add_hops(data: Data, K: int | None) -> HopData:
    """A copy of `data` (its tensors are shared) that carries the hop index.

    Edges are read as undirected; self-loops and repeated edges change nothing; an unreachable node is in
    no hop. `K=None` counts hops up to the diameter, the largest distance between two nodes of the same
    component.
    """
    if K is not None and K < 0:
        raise UserError(f"K counts hops and cannot be {K}: use 0, 1, 2, … or None for the diameter")
    num_nodes = _num_nodes(data)
    source, target = _edges(data, num_nodes)
    sets = _hop_sets()(source, target, num_nodes, -1 if K is None else K, _weights(num_nodes))
    set_size, set_member, seq_length, seq_set = map(torch.from_numpy, sets)

    hops = HopData.from_dict(data.to_dict())
    hops.hop_set_size, hops.hop_set_member = set_size, set_member
    hops.hop_seq_length, hops.hop_seq_set = seq_length, seq_set
    last = K if K is not None else max(int(sets[2].max(initial=1)) - 1, 0)
    hops.hop_K = torch.tensor([last])
    ending = np.bincount(sets[2], minlength=last + 2)[1:]
    hops.hop_profile = ending[::-1].cumsum()[::-1].copy()
    return hops


def add_hops_to_all(
    graphs: Iterable[Data], K: int | None, workers: int | None = None, progress: bool = True
) -> list[HopData]:
    """`add_hops` for many graphs, on all cores (`workers` of them), with a progress bar."""
    todo: Sequence[Data] = graphs if isinstance(graphs, Sequence) else list(graphs)
    workers = min(workers or cpu_count() or 1, max(len(todo), 1))
    chunks = [range(i, min(i + 64, len(todo))) for i in range(0, len(todo), 64)]
    done: list[HopData] = []
    with (
        ThreadPoolExecutor(workers) as pool,
        tqdm(total=len(todo), desc="hop index", unit="graph", disable=not progress) as bar,
    ):
        for part in pool.map(lambda chunk: [add_hops(todo[i], K) for i in chunk], chunks):
            done += part
            bar.update(len(part))
    return done


def _num_nodes(data: Data) -> int:
    # From edges alone PyG would guess, with a warning, and miss the isolated nodes at the end.
    told = any(key in NODE_KEYS or "node" in key for key in data.to_dict())
    if not told or data.num_nodes is None:
        raise UserError("the graph does not say how many nodes it has: give it x or num_nodes")
    return data.num_nodes


def _edges(data: Data, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    if data.edge_index is None or data.edge_index.numel() == 0:
        none = np.empty(0, np.int64)
        return none, none
    edges = np.ascontiguousarray(data.edge_index.cpu().numpy(), np.int64)
    if edges.min() < 0 or edges.max() >= num_nodes:
        raise UserError(
            f"edge_index names node {edges.max() if edges.min() >= 0 else edges.min()}, "
            f"but the graph has {num_nodes} nodes, numbered from 0"
        )
    return edges[0], edges[1]


@cache
def _hop_sets() -> Any:
    from gredkit.data.hop_sets import hop_sets  # numba is loaded by those who build an index

    return hop_sets


def _weights(num_nodes: int) -> np.ndarray:
    """The same random hash weights for every graph."""
    size = 1 << max(num_nodes - 1, 1023).bit_length()
    return _random_weights(size)[:num_nodes]


@cache
def _random_weights(size: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2**64, size, dtype=np.uint64)
