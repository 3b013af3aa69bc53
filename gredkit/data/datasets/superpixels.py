from collections.abc import Mapping

import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.data.benchmarks import gnn_benchmark, split_task
from gredkit.data.objectives import objective
from gredkit.data.task import GraphSpec, Task
from gredkit.registry import DATASETS

POSITION = 2  # columns of a superpixel's position, after those of its colour


@DATASETS.register("mnist")
def mnist(root: str | None = None) -> Task:
    """MNIST superpixels: classify digits from grey value and position of each patch, 55000 / 5000 / 10000 graphs."""
    return _superpixels("MNIST", 1, root)


@DATASETS.register("cifar10")
def cifar10(root: str | None = None) -> Task:
    """CIFAR10 superpixels: classify objects from colour and position of each patch, 45000 / 5000 / 10000 graphs."""
    return _superpixels("CIFAR10", 3, root)


def _superpixels(name: str, colours: int, root: str | None) -> Task:
    # The files connect a patch to its nearest ones in one direction only; the hop index ignores directions.
    spec = GraphSpec(nodes=colours + POSITION, edges=1, outputs=10)
    return split_task(name.lower(), gnn_benchmark(name), root, spec, objective("classification"), _columns)


def _columns(data: Data) -> Mapping[str, Tensor]:
    return {
        "x": torch.cat([data.x, data.pos], 1),
        "edge_attr": data.edge_attr.view(-1, 1),
        "y": data.y.view(-1),
        "pos": data.pos,  # for drawings; models find it in x
    }
