"""A dataset of many graphs stored in a few long tensors."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, overload

from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

ReadColumns = Callable[[Data], Mapping[str, Tensor]]


class Block(NamedTuple):
    """The graphs of one PyG dataset; nodes and edges of graph i are starts[i] to starts[i + 1]."""

    columns: Mapping[str, Tensor]  # x [nodes, …], edge_index [2, edges], y [nodes] or [graphs, …], edge_attr
    node_starts: list[int]
    edge_starts: list[int]


class CollatedGraphs(Sequence[Data]):
    """The graphs of several PyG datasets in a row; each graph is sliced out when it is accessed.

    The tensors of a graph are views. PyG's own datasets do the same, but keep every graph that was accessed
    in memory.

    datasets: the PyG datasets, usually one per split
    columns: turns a dataset's long tensors into `x`, `y` and (optionally) `edge_attr` and `pos` of all graphs
    level: 'graph' or 'node'; with 'node', `y` has one entry per node
    """

    def __init__(self, datasets: Iterable[InMemoryDataset], columns: ReadColumns, level: str = "graph"):
        self.level = level
        self.blocks = [_block(dataset, columns) for dataset in datasets]
        self.ends = list(accumulate(len(block.node_starts) - 1 for block in self.blocks))

    @property
    def ranges(self) -> list[range]:
        """The graphs of each dataset, as ranges of numbers."""
        return [range(start, end) for start, end in zip([0, *self.ends], self.ends, strict=False)]

    @property
    def num_nodes(self) -> int:
        """The number of nodes in all graphs together."""
        return sum(block.node_starts[-1] for block in self.blocks)

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    @overload
    def __getitem__(self, index: int) -> Data: ...
    @overload
    def __getitem__(self, index: slice) -> list[Data]: ...
    def __getitem__(self, index: int | slice) -> Data | list[Data]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} graphs, so there is no graph {index}")
        index %= len(self)
        number = bisect_right(self.ends, index)
        block = self.blocks[number]
        i = index - self.ranges[number].start
        nodes = slice(block.node_starts[i], block.node_starts[i + 1])
        edges = slice(block.edge_starts[i], block.edge_starts[i + 1])
        columns = block.columns
        graph = Data(
            x=columns["x"][nodes],
            edge_index=columns["edge_index"][:, edges],
            y=columns["y"][nodes if self.level == "node" else slice(i, i + 1)],
        )
        if "edge_attr" in columns:
            graph.edge_attr = columns["edge_attr"][edges]
        if "pos" in columns:
            graph.pos = columns["pos"][nodes]
        return graph


def _block(dataset: InMemoryDataset, columns: ReadColumns) -> Block:
    data = dataset._data
    nodes, edges = _starts(data, dataset.slices)
    edges += [edges[-1]] * (len(nodes) - len(edges))  # PyG's TU reader omits graphs without edges at the end
    return Block({"edge_index": data.edge_index, **columns(data)}, nodes, edges)


def _starts(data: Data, slices: Mapping[str, Any] | None) -> tuple[list[int], list[int]]:
    """The positions at which the nodes and the edges of each graph begin."""
    if slices is None:  # PyG stores a single graph this way
        return [0, data.num_nodes], [0, data.num_edges]
    nodes = slices["x"].tolist() if "x" in slices else list(accumulate(data._num_nodes, initial=0))
    return nodes, slices["edge_index"].tolist()
