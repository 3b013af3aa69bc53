"""The hop index of a graph: which nodes are at distance 0, 1, …, K from each node."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from gredkit import ranges
from gredkit.errors import UserError

T = TypeVar("T")
FARTHEST = 10_000  # the largest K; beyond it only None (the diameter) makes sense
DATASET = "dataset"  # as a value of K: the largest distance in the training graphs
CHUNK = 64  # graphs that a thread processes at a time
NODE_KEYS = {"x", "feat", "pos", "batch", "n_id", "tf", "adj", "adj_t"}  # from these PyG infers the number of nodes


class HopData(Data):
    """A PyG `Data` with its hop index; PyG's own collation combines them into a batch.

    hop_set_size [S], hop_set_member [M]: the distinct hop sets, one after another; set v is {v}.
    hop_seq_length [N], hop_seq_set [R]: for each node, nearest hop first, the set at hop k.
    hop_K [1]: the last hop counted, K itself or the diameter; hops beyond a node's farthest node are empty.
    hop_profile: numpy array [K + 1], the number of nodes whose hop k is not empty. It stays in main memory
    when a batch moves to a device, so that shapes are known without waiting for the device.
    """

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key == "hop_set_member":
            return self.hop_seq_length.numel()
        if key == "hop_seq_set":
            return self.hop_set_size.numel()
        return super().__inc__(key, value, *args, **kwargs)


class HopArrays(NamedTuple):
    """The hop index of one graph as numpy arrays; `HopData` describes their content."""

    set_size: np.ndarray
    set_member: np.ndarray
    seq_length: np.ndarray
    seq_set: np.ndarray


def hop_arrays(data: Data, K: int | None, directed: bool = False) -> HopArrays:
    """Search the graph; self-loops and repeated edges have no effect. With `directed`, paths go along the edges."""
    from gredkit.data.hops.search import hop_sets  # numba is slow to import, and needed only here

    num_nodes = _num_nodes(data)
    source, target = _edges(data, num_nodes)
    return HopArrays(*hop_sets(source, target, num_nodes, -1 if K is None else K, _weights(num_nodes), directed))


def links(data: Data) -> tuple[int, np.ndarray]:
    """The number of nodes, and the edges as the search sees them: each pair of nodes once, the smaller number first.

    Shape: -> [links, 2], in ascending order
    """
    num_nodes = _num_nodes(data)
    ends = np.sort(np.stack(_edges(data, num_nodes), 1), 1)
    return num_nodes, np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)


def cut_arrays(arrays: HopArrays, K: int) -> HopArrays:
    """The index for a smaller K, identical to the result of a search up to that K."""
    from gredkit.data.hops.search import cut_hop_sets

    return HopArrays(*cut_hop_sets(*arrays, K))


def attach_hops(data: Data, arrays: HopArrays, K: int | None, kind: type["HopData"] = HopData) -> HopData:
    """A copy of `data` (tensors are shared) with the index; `K` is the one used in the search."""
    last = K if K is not None else max(int(arrays.seq_length.max(initial=1)) - 1, 0)
    hops = kind()
    # Write directly into PyG's mapping: setting attributes one by one takes longer than searching a small graph.
    hops._store._mapping.update(
        data.to_dict(),
        hop_set_size=torch.from_numpy(arrays.set_size),
        hop_set_member=torch.from_numpy(arrays.set_member),
        hop_seq_length=torch.from_numpy(arrays.seq_length),
        hop_seq_set=torch.from_numpy(arrays.seq_set),
        hop_K=torch.tensor([last]),
        hop_profile=profile_of(arrays.seq_length, last),
    )
    return hops


def profile_of(seq_length: np.ndarray, last: int) -> np.ndarray:
    """The number of sequences that have a place k. Shape: [nodes] -> [last + 1]"""
    ending = np.bincount(seq_length, minlength=last + 2)[1:]
    return ending[::-1].cumsum()[::-1].copy()


def add_hops(data: Data, K: int | None) -> HopData:
    """A copy of `data` (tensors are shared) with the hop index.

    Edges count as undirected; self-loops and repeated edges have no effect; an unreachable node is in no hop.

    K: the last hop; None means the diameter, the largest distance between two connected nodes
    """
    check_K(K)
    return attach_hops(data, hop_arrays(data, K), K)


def add_hops_to_all(
    graphs: Iterable[Data], K: int | None, workers: int | None = None, progress: bool = True
) -> list[HopData]:
    """`add_hops` for many graphs in parallel (`workers` threads, by default one per core), with a progress bar."""
    graphs = graphs if isinstance(graphs, Sequence) else list(graphs)
    return list(in_parallel(lambda graph: add_hops(graph, K), graphs, "hop index", workers, progress))


def in_parallel(
    work: Callable[[Data], T], graphs: Sequence[Data], title: str, workers: int | None = None, progress: bool = True
) -> Iterator[T]:
    """Apply `work` to every graph in threads; results come in order, computed at most a few chunks ahead."""
    workers = min(workers or torch.get_num_threads(), max(len(graphs), 1))
    chunks = (range(i, min(i + CHUNK, len(graphs))) for i in range(0, len(graphs), CHUNK))

    def do(chunk: range) -> list[T]:
        return [work(graphs[i]) for i in chunk]

    with (
        ThreadPoolExecutor(workers) as pool,
        tqdm(total=len(graphs), desc=title, unit="graph", disable=None if progress else True) as bar,
    ):
        running = deque(pool.submit(do, chunk) for chunk in islice(chunks, 2 * workers))
        while running:
            part = running.popleft().result()
            running.extend(pool.submit(do, chunk) for chunk in islice(chunks, 1))
            bar.update(len(part))
            yield from part


def check_K(K: int | None) -> None:
    if K is not None and (not isinstance(K, int) or isinstance(K, bool) or not 0 <= K <= FARTHEST):
        raise UserError(
            f"K counts hops and cannot be {ranges.said(K)}: use 0, 1, 2, … up to {FARTHEST:,}, or None for the diameter"
        )


def _num_nodes(data: Data) -> int:
    # From edges alone PyG would guess (with a warning) and miss isolated nodes at the end.
    told = any(key in NODE_KEYS or "node" in key for key in data.to_dict())
    if not told or data.num_nodes is None:
        raise UserError("the graph does not say how many nodes it has: give it x or num_nodes")
    return data.num_nodes


def _edges(data: Data, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    if data.edge_index is None or (isinstance(data.edge_index, Tensor) and data.edge_index.numel() == 0):
        none = np.empty(0, np.int64)
        return none, none
    check_edges(data.edge_index)
    edges = np.ascontiguousarray(data.edge_index.cpu().numpy(), np.int64)
    if edges.min() < 0 or edges.max() >= num_nodes:
        raise UserError(
            f"edge_index names node {edges.max() if edges.min() >= 0 else edges.min()}, "
            f"but the graph has {num_nodes} nodes, numbered from 0"
        )
    return edges[0], edges[1]


def check_edges(edge_index: Any) -> None:
    """Raise unless `edge_index` is a tensor with two rows of whole numbers: start and end of each edge."""
    if not isinstance(edge_index, Tensor):
        raise UserError(f"edge_index is {type(edge_index).__name__}: give a tensor with two rows of node numbers")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        shape = " x ".join(map(str, edge_index.shape))
        raise UserError(f"edge_index is {shape}: give two rows, the start and the end of each edge")
    if edge_index.is_floating_point() or edge_index.is_complex() or edge_index.dtype == torch.bool:
        raise UserError(f"edge_index holds {edge_index.dtype}: give whole numbers, as torch.long")


def _weights(num_nodes: int) -> np.ndarray:
    """The same random hash weights for every graph."""
    size = 1 << max(num_nodes - 1, 1023).bit_length()
    return _random_weights(size)[:num_nodes]


@cache
def _random_weights(size: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2**64, size, dtype=np.uint64)
