from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.datasets import TUDataset

from gredkit import ranges
from gredkit.data.benchmarks import Benchmark, notes, open_benchmark
from gredkit.data.collated import CollatedGraphs
from gredkit.data.folds import SEED, read_folds, stratified_folds
from gredkit.data.objectives import objective
from gredkit.data.task import Columns, GraphSpec, Task
from gredkit.errors import UserError
from gredkit.paths import data_root
from gredkit.registry import DATASETS


@DATASETS.register("nci1")
def nci1(fold: int = 0, root: str | None = None) -> Task:
    """NCI1: predict whether a molecule acts against lung cancer, 4110 graphs, ten folds."""
    return tu("NCI1", fold, root)


@DATASETS.register("proteins")
def proteins(fold: int = 0, root: str | None = None) -> Task:
    """PROTEINS: predict whether a protein is an enzyme, 1113 graphs, ten folds."""
    return tu("PROTEINS", fold, root)


@DATASETS.register("tu")
def tu(name: str = "MUTAG", fold: int = 0, root: str | None = None) -> Task:
    """Any classification dataset of the TUDataset collection, one of ten folds.

    The folds come from `splits.json` in the dataset's folder; without that file they are drawn with equal class
    proportions. Nodes have their label as a category; without labels, their attributes; with neither, the same
    category everywhere (the degree is available as a positional encoding). Edges have their label, or their
    attributes, or nothing.

    name: the name in the TUDataset collection
    fold: which fold, from 0
    root: the data folder; by default the one that --data or $GREDKIT_DATA names
    """
    ranges.whole("fold", fold, 0)
    benchmark = _benchmark(name)
    (dataset,) = open_benchmark(benchmark, root)
    labels = dataset._data.y
    if labels is None or labels.dim() != 1 or labels.is_floating_point():
        raise UserError(f"{name} does not have a class for each graph: choose a classification dataset")
    columns, nodes, edges = _columns(dataset)
    graphs = CollatedGraphs([dataset], lambda data: columns)
    given = benchmark.folder(data_root(root)) / "splits.json"
    folds = read_folds(given, len(graphs)) if given.exists() else stratified_folds(labels.numpy())
    if not 0 <= fold < len(folds):
        raise UserError(f"{name} has folds 0 to {len(folds) - 1}, not {fold}")
    return Task(
        name=name.lower(),
        spec=GraphSpec(nodes=nodes, edges=edges, outputs=int(labels.max()) + 1),
        graphs=graphs,
        splits=folds[fold],
        objective=objective("classification"),
        notes={
            **notes(benchmark, root, graphs),
            "fold": fold,
            "folds": f"{len(folds)}, given by {given}" if given.exists() else f"{len(folds)}, stratified, seed {SEED}",
        },
    )


def _benchmark(name: str) -> Benchmark:
    return Benchmark(
        name,
        files=tuple(f"{name}_{part}.txt" for part in ("A", "graph_indicator", "graph_labels")),
        load=lambda root: [TUDataset(str(root), name, use_node_attr=True, use_edge_attr=True)],
        also=f" (and, where they exist, {name}_node_labels.txt and the like)",
    )


def _columns(dataset: TUDataset) -> tuple[Mapping[str, Tensor], Columns, Columns | None]:
    """The long tensors of all graphs, and the feature columns of nodes and edges."""
    data: Data = dataset._data
    x, nodes = _labels_or_attributes(data.x, dataset.num_node_attributes)
    edge_attr, edges = _labels_or_attributes(data.edge_attr, dataset.num_edge_attributes)
    columns: dict[str, Any] = {"x": x, "y": data.y, "edge_attr": edge_attr}
    if nodes is None:
        columns["x"], nodes = torch.zeros(data.num_nodes, 1, dtype=torch.long), (1,)
    return {key: column for key, column in columns.items() if column is not None}, nodes, edges


def _labels_or_attributes(values: Tensor | None, attributes: int) -> tuple[Tensor | None, Columns | None]:
    """The labels, or else the attributes. PyG puts attributes first, then one-hot labels (possibly several)."""
    if values is None:
        return None, None
    labels = values[:, attributes:]
    if labels.shape[1] == 0:
        return values, values.shape[1]
    if ((labels > 0).sum(1) == 1).all():
        return labels.argmax(1, keepdim=True), (labels.shape[1],)
    return labels, labels.shape[1]
