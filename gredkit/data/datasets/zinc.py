from collections.abc import Mapping

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.datasets import ZINC

from gredkit.data.benchmarks import PYG_SPLITS, Benchmark, split_task
from gredkit.data.objectives import objective
from gredkit.data.task import GraphSpec, Task
from gredkit.registry import DATASETS

ATOMS, BONDS = 28, 4  # vocabulary sizes

BENCHMARK = Benchmark(
    "ZINC",
    files=tuple(f"{split}.{kind}" for kind in ("pickle", "index") for split in PYG_SPLITS),
    load=lambda root: [ZINC(str(root / "ZINC"), subset=True, split=split) for split in PYG_SPLITS],
    processed="subset/processed",
)


@DATASETS.register("zinc")
def zinc(root: str | None = None) -> Task:
    """ZINC-12K: predict the penalised logP of a molecule, 10000 / 1000 / 1000 graphs, mean absolute error."""
    spec = GraphSpec(nodes=(ATOMS,), edges=(BONDS,), outputs=1)
    return split_task("zinc", BENCHMARK, root, spec, objective("regression"), _columns)


def _columns(data: Data) -> Mapping[str, Tensor]:
    return {"x": data.x, "edge_attr": data.edge_attr.view(-1, 1), "y": data.y.view(-1, 1)}
