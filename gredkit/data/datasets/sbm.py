from collections.abc import Mapping

from torch import Tensor
from torch_geometric.data import Data

from gredkit.data.benchmarks import gnn_benchmark, split_task
from gredkit.data.objectives import objective
from gredkit.data.task import GraphSpec, Task
from gredkit.registry import DATASETS


@DATASETS.register("pattern")
def pattern(root: str | None = None) -> Task:
    """PATTERN: find the nodes of a pattern hidden in a random graph with five blocks, 10000 / 2000 / 2000 graphs."""
    return _block_model("PATTERN", 3, 2, root)


@DATASETS.register("cluster")
def cluster(root: str | None = None) -> Task:
    """CLUSTER: find the six blocks of a random graph from one labelled node each, 10000 / 1000 / 1000 graphs."""
    return _block_model("CLUSTER", 7, 6, root)


def _block_model(name: str, symbols: int, classes: int, root: str | None) -> Task:
    spec = GraphSpec(nodes=(symbols,), outputs=classes, level="node")
    return split_task(name.lower(), gnn_benchmark(name), root, spec, objective("balanced_classification"), _columns)


def _columns(data: Data) -> Mapping[str, Tensor]:
    """Turn the one-hot symbols of the files into numbers, which every encoder of categories accepts."""
    return {"x": data.x.argmax(1, keepdim=True), "y": data.y.view(-1).long()}
