"""Statistics of a dataset: counts, degrees, diameters, labels, hop sets."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from gredkit.data.hops.index import HopData
from gredkit.data.objectives import IGNORED
from gredkit.data.task import Task

Rows = Iterator[tuple[str, str]]


def describe(task: Task, graphs: Sequence[HopData], full: Sequence[HopData]) -> Rows:
    """Label and value of each line; `graphs` have the chosen hop index, `full` the one up to the diameter."""
    sizes = {split: len(indices) for split, indices in task.splits.items()}
    yield "graphs", f"{len(graphs):,} ({', '.join(f'{split} {size:,}' for split, size in sizes.items())})"
    yield from _structure(full)
    yield from _features(task)
    yield from _labels(task)
    yield from _hops(graphs)
    for name, note in task.notes.items():
        yield name, str(note)


def _structure(graphs: Sequence[HopData]) -> Rows:
    nodes = np.array([graph.num_nodes for graph in graphs])
    degrees = [_degrees(graph) for graph in graphs]
    edges = np.array([degree.sum() // 2 for degree in degrees])
    yield "nodes", f"{nodes.sum():,}; per graph: {_spread(nodes)}"
    yield "edges, undirected", f"{edges.sum():,}; per graph: {_spread(edges)}"
    yield "degree", _spread(np.concatenate(degrees))
    reach = [graph.hop_seq_length.numpy() - 1 for graph in graphs]
    yield "diameter", _spread(np.array([r.max(initial=0) for r in reach]))
    yield "eccentricity of a node", _spread(np.concatenate(reach))
    apart = sum(_is_disconnected(graph) for graph in graphs)
    yield "disconnected graphs", f"{apart:,}"


def _degrees(graph: HopData) -> np.ndarray:
    """The number of distinct neighbours of each node: the sizes of the sets at hop 1."""
    length = graph.hop_seq_length.numpy()
    start = np.concatenate([[0], length.cumsum()[:-1]])
    degree = np.zeros(len(length), np.int64)
    connected = length > 1
    degree[connected] = graph.hop_set_size.numpy()[graph.hop_seq_set.numpy()[start[connected] + 1]]
    return degree


def _is_disconnected(graph: HopData) -> bool:
    """Whether the first node does not reach all others."""
    if not graph.num_nodes:
        return False
    first = graph.hop_seq_set[: int(graph.hop_seq_length[0])].long()
    return int(graph.hop_set_size[first].sum()) < graph.num_nodes


def _features(task: Task) -> Rows:
    for kind, columns in (("node features", task.spec.nodes), ("edge features", task.spec.edges)):
        if isinstance(columns, int):
            yield kind, f"{columns} dense columns"
        elif columns:
            yield kind, f"{len(columns)} categorical, vocabulary {', '.join(map(str, columns))}"
        else:
            yield kind, "none"


def _labels(task: Task) -> Rows:
    metric = task.objective.metric
    direction = "larger" if metric.larger_is_better else "smaller"
    yield "metric", f"{metric.name}, {direction} is better; one prediction per {task.spec.level}"
    y = torch.cat([graph.y for graph in task.graphs])
    if not y.is_floating_point():
        yield "classes", _classes(y[y != IGNORED])
    elif ((y == 0) | (y == 1) | y.isnan()).all():
        share = y.view(len(y), -1).nanmean(0)
        yield "labels", ", ".join(f"{value:.1%}" for value in share.tolist()) + " positive"
    else:
        columns = y.view(len(y), -1).double()
        shown = [f"{m:.3f} ± {s:.3f}" for m, s in zip(columns.mean(0), columns.std(0), strict=True)]
        yield "targets", ", ".join(shown)


def _classes(labels: Tensor) -> str:
    counts = torch.bincount(labels)
    return f"{len(counts)}: " + ", ".join(f"{count / counts.sum():.1%}" for count in counts.tolist())


def _hops(graphs: Sequence[HopData]) -> Rows:
    rows = sum(graph.hop_seq_set.numel() for graph in graphs)
    sets = sum(graph.hop_set_size.numel() for graph in graphs)
    members = sum(graph.hop_set_member.numel() for graph in graphs)
    yield "hop rows (node, hop)", f"{rows:,}; per node: {rows / max(sum(g.num_nodes for g in graphs), 1):.1f}"
    yield (
        "distinct hop sets",
        f"{sets:,}; {rows / max(sets, 1):.2f} rows per set; {members / max(sets, 1):.1f} nodes per set",
    )


def _spread(values: np.ndarray) -> str:
    if not len(values):
        return "none"
    return f"mean {values.mean():.1f}, median {np.median(values):.0f}, {values.min()} to {values.max()}"
