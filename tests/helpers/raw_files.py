"""Tiny raw folders of the benchmarks, in the layout that PyG reads, and the graphs that a task should make of them."""

import json
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

SIZES = (7, 1, 4)  # one graph alone is stored differently by PyG
SPLITS = ("train", "val", "test")
ATOM, BOND = (119, 5, 12, 12, 10, 6, 6, 2, 2), (5, 6, 2)
GRAPHS = 40  # of a TU dataset


class Row(tuple):
    """A type that torch.load does not trust, and warns of."""


Writer = Callable[[Path], list[Data]]


def random_edges(rng: np.random.Generator, nodes: int) -> Tensor:
    """Undirected, in both directions, sorted. Shape: -> [2, edges]"""
    above = np.triu(rng.random((nodes, nodes)) < 0.4, 1)
    above[0, 1] = True
    return torch.from_numpy(np.stack((above | above.T).nonzero()))


def categories(rng: np.random.Generator, rows: int, vocabularies: Sequence[int]) -> Tensor:
    return torch.from_numpy(np.stack([rng.integers(size, size=rows) for size in vocabularies], 1))


def reals(rng: np.random.Generator, *shape: int) -> Tensor:
    return torch.from_numpy(rng.standard_normal(shape)).float()


def in_splits(graphs: list[Data]) -> dict[str, list[Data]]:
    ends = np.cumsum(SIZES).tolist()
    return {split: graphs[end - size : end] for split, size, end in zip(SPLITS, SIZES, ends, strict=True)}


def raw_folder(root: Path, name: str) -> Path:
    folder = root / name / "raw"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_zinc(root: Path) -> list[Data]:
    rng = np.random.default_rng(0)

    def molecule() -> Data:
        nodes = int(rng.integers(2, 9))
        edges = random_edges(rng, nodes)
        bond = torch.from_numpy(1 + (edges.sum(0).numpy() % 3))[:, None]  # the same in both directions
        return Data(x=categories(rng, nodes, [28]), edge_index=edges, edge_attr=bond, y=reals(rng, 1, 1))

    graphs = [molecule() for _ in range(sum(SIZES))]
    raw = raw_folder(root, "ZINC")
    for split, part in in_splits(graphs).items():
        molecules = []
        for graph in part:
            bonds = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.long)
            bonds[graph.edge_index[0], graph.edge_index[1]] = graph.edge_attr[:, 0]
            molecules.append({"atom_type": graph.x[:, 0], "bond_type": bonds, "logP_SA_cycle_normalized": graph.y[0]})
        left_out = {"atom_type": None}  # the index chooses from the full dataset
        (raw / f"{split}.pickle").write_bytes(pickle.dumps([left_out, *molecules]))
        (raw / f"{split}.index").write_text(",".join(str(1 + i) for i in range(len(part))) + "\n")
    return graphs


def write_superpixels(root: Path, name: str, colours: int) -> list[Data]:
    rng = np.random.default_rng(1)

    def picture(label: int) -> Data:
        nodes = int(rng.integers(2, 9))
        edges = random_edges(rng, nodes)
        edges = edges[:, edges[0] < edges[1]]  # in one direction
        weight = reals(rng, edges.shape[1], 1)
        x = reals(rng, nodes, colours + 2)
        return Data(x=x, edge_index=edges, edge_attr=weight, y=torch.tensor([label]), pos=x[:, colours:].clone())

    graphs = [picture(i % 10) for i in range(sum(SIZES))]
    _write_gnn_benchmark(
        root,
        name,
        graphs,
        lambda graph: {
            "x": graph.x[:, :colours].clone(),
            "pos": graph.pos,
            "edge_index": graph.edge_index,
            "edge_attr": graph.edge_attr[:, 0],
            "y": graph.y,
        },
    )
    return graphs


def write_block_model(root: Path, name: str, symbols: int, classes: int) -> list[Data]:
    rng = np.random.default_rng(2)

    def blocks() -> Data:
        nodes = int(rng.integers(2, 9))
        label = categories(rng, nodes, [classes])[:, 0]
        return Data(x=categories(rng, nodes, [symbols]), edge_index=random_edges(rng, nodes), y=label)

    graphs = [blocks() for _ in range(sum(SIZES))]
    _write_gnn_benchmark(
        root,
        name,
        graphs,
        lambda graph: {
            "x": torch.eye(symbols)[graph.x[:, 0]],
            "edge_index": graph.edge_index,
            "y": graph.y,
        },
    )
    return graphs


def _write_gnn_benchmark(
    root: Path, name: str, graphs: list[Data], stored: Callable[[Data], dict[str, Tensor]]
) -> None:
    splits = [[stored(graph) for graph in part] for part in in_splits(graphs).values()]
    torch.save(splits, raw_folder(root, name) / f"{name}_v2.pt")


def write_peptides(root: Path, name: str, row: type[tuple] = tuple) -> list[Data]:
    rng = np.random.default_rng(3)

    def peptide() -> Data:
        nodes = int(rng.integers(2, 9))
        edges = random_edges(rng, nodes)
        y = torch.from_numpy(rng.integers(2, size=(1, 10))).float() if name.endswith("func") else reals(rng, 1, 11)
        bond = categories(rng, edges.shape[1], BOND)
        return Data(x=categories(rng, nodes, ATOM), edge_index=edges, edge_attr=bond, y=y)

    graphs = [peptide() for _ in range(sum(SIZES))]
    for split, part in in_splits(graphs).items():
        stored = [row((g.x, g.edge_attr, g.edge_index, g.y)) for g in part]
        torch.save(stored, raw_folder(root, name) / f"{split}.pt")
    return graphs


def write_segments(root: Path, name: str) -> list[Data]:
    """PascalVOC-SP."""
    rng = np.random.default_rng(4)

    def picture() -> Data:
        nodes = int(rng.integers(2, 9))
        edges = random_edges(rng, nodes)
        label = categories(rng, nodes, [21])[:, 0]
        return Data(x=reals(rng, nodes, 14), edge_index=edges, edge_attr=reals(rng, edges.shape[1], 2), y=label)

    graphs = [picture() for _ in range(sum(SIZES))]
    for split, part in in_splits(graphs).items():
        stored = [(g.x, g.edge_attr, g.edge_index, g.y) for g in part]
        (raw_folder(root, name) / f"{split}.pickle").write_bytes(pickle.dumps(stored))
    return graphs


def tu_graphs(node_labels: int | None = None, edge_labels: int | None = None) -> list[Data]:
    """Twice as many graphs of class 0 as of class 1; the last one has no edges."""
    rng = np.random.default_rng(5)

    def graph(i: int) -> Data:
        nodes = int(rng.integers(2, 9))
        edges = torch.empty(2, 0, dtype=torch.long) if i == GRAPHS - 1 else random_edges(rng, nodes)
        x = categories(rng, nodes, [node_labels]) if node_labels else torch.zeros(nodes, 1, dtype=torch.long)
        made = Data(x=x, edge_index=edges, y=torch.tensor([int(i % 3 == 2)]))
        if edge_labels:
            made.edge_attr = categories(rng, edges.shape[1], [edge_labels])
        return made

    graphs = [graph(i) for i in range(GRAPHS)]
    for values, labels in ((graphs[0].x, node_labels), (graphs[0].edge_attr, edge_labels)):
        if labels:
            values[:2, 0] = torch.tensor([0, labels - 1])  # the vocabulary follows from what occurs
    return graphs


def write_tu(root: Path, name: str, node_labels: int | None = None, edge_labels: int | None = None) -> list[Data]:
    """With labels that start at 3, and classes that are 1 and 5, as they may."""
    graphs = tu_graphs(node_labels, edge_labels)
    first = np.cumsum([0] + [graph.num_nodes for graph in graphs]).tolist()
    edges = torch.cat([graph.edge_index + 1 + start for graph, start in zip(graphs, first, strict=False)], 1)
    write_tu_file(root, name, "A", edges.t())
    number = torch.arange(1, GRAPHS + 1).repeat_interleave(torch.tensor(first).diff())
    write_tu_file(root, name, "graph_indicator", number)
    write_tu_file(root, name, "graph_labels", torch.cat([1 + 4 * graph.y for graph in graphs]))
    if node_labels:
        write_tu_file(root, name, "node_labels", torch.cat([3 + graph.x for graph in graphs]))
    if edge_labels:
        write_tu_file(root, name, "edge_labels", torch.cat([3 + graph.edge_attr for graph in graphs]))
    return graphs


def write_tu_file(root: Path, name: str, part: str, values: Tensor) -> None:
    rows = values.view(len(values), -1).tolist()
    text = "".join(", ".join(map(str, row)) + "\n" for row in rows)
    (raw_folder(root, name) / f"{name}_{part}.txt").write_text(text)


def write_splits(root: Path, name: str, folds: list[dict[str, list[int]]]) -> Path:
    """As Errica et al. published them."""
    path = root / name / "splits.json"
    path.write_text(
        json.dumps(
            [
                {
                    "test": fold["test"],
                    "model_selection": [{"train": fold["train"], "validation": fold["validation"]}],
                }
                for fold in folds
            ]
        )
    )
    return path


WRITERS: dict[str, Writer] = {
    "zinc": write_zinc,
    "mnist": partial(write_superpixels, name="MNIST", colours=1),
    "cifar10": partial(write_superpixels, name="CIFAR10", colours=3),
    "pattern": partial(write_block_model, name="PATTERN", symbols=3, classes=2),
    "cluster": partial(write_block_model, name="CLUSTER", symbols=7, classes=6),
    "peptides_func": partial(write_peptides, name="peptides-func"),
    "peptides_struct": partial(write_peptides, name="peptides-struct"),
    "nci1": partial(write_tu, name="NCI1", node_labels=37),
    "proteins": partial(write_tu, name="PROTEINS", node_labels=3),
    "lrgb": partial(write_segments, name="pascalvoc-sp"),
    "tu": partial(write_tu, name="MUTAG", node_labels=7, edge_labels=4),
}
