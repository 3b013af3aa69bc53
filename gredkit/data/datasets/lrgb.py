from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.datasets import LRGBDataset

from gredkit.data.benchmarks import PYG_SPLITS, Benchmark, split_task
from gredkit.data.objectives import objective
from gredkit.data.task import GraphSpec, Task
from gredkit.errors import UserError
from gredkit.registry import DATASETS

ATOM = (119, 5, 12, 12, 10, 6, 6, 2, 2)  # OGB's vocabulary sizes for the nine columns of an atom
BOND = (5, 6, 2)
SPECS = {
    "peptides-func": GraphSpec(nodes=ATOM, edges=BOND, outputs=10),
    "peptides-struct": GraphSpec(nodes=ATOM, edges=BOND, outputs=11),
    "pascalvoc-sp": GraphSpec(nodes=14, edges=2, outputs=21, level="node"),
    "coco-sp": GraphSpec(nodes=14, edges=2, outputs=81, level="node"),
}
OBJECTIVES = {  # kind of task, and the benchmark's metric
    "peptides-func": ("labels", "average_precision"),
    "peptides-struct": ("regression", "mae"),
    "pascalvoc-sp": ("balanced_classification", "macro_f1"),
    "coco-sp": ("balanced_classification", "macro_f1"),
}


@DATASETS.register("peptides_func")
def peptides_func(root: str | None = None) -> Task:
    """Peptides-func: predict which of ten functions a peptide has, 10873 / 2331 / 2331 graphs, average precision."""
    return lrgb("peptides-func", root=root)


@DATASETS.register("peptides_struct")
def peptides_struct(root: str | None = None) -> Task:
    """Peptides-struct: predict eleven properties of a peptide's shape, 10873 / 2331 / 2331 graphs, MAE."""
    return lrgb("peptides-struct", root=root)


@DATASETS.register("lrgb")
def lrgb(name: str = "peptides-func", root: str | None = None) -> Task:
    """A dataset of the Long Range Graph Benchmark: peptides-func, peptides-struct, PascalVOC-SP or COCO-SP.

    name: the name of the dataset
    root: the data folder; by default the one that --data or $GREDKIT_DATA names
    """
    name = name.lower()
    if name == "pcqm-contact":
        raise UserError("PCQM-Contact is about links between nodes, which no model here predicts: choose another name")
    if name not in SPECS:
        raise UserError(f"there is no dataset {name!r} in the Long Range Graph Benchmark: choose {', '.join(SPECS)}")
    task, usual = OBJECTIVES[name]
    ranked = objective(task, usual)
    made = split_task(name.replace("-", "_"), _benchmark(name), root, SPECS[name], ranked, _columns)
    return replace(made, reading={"smiles": "ogb"}) if SPECS[name].nodes == ATOM else made


def _benchmark(name: str) -> Benchmark:
    suffix = "pickle" if name.endswith("-sp") else "pt"
    return Benchmark(
        name,
        files=tuple(f"{split}.{suffix}" for split in PYG_SPLITS),
        load=lambda root: [LRGBDataset(str(root), name, split=split) for split in PYG_SPLITS],
    )


def _columns(data: Data) -> Mapping[str, Tensor]:
    return {"x": data.x, "edge_attr": data.edge_attr, "y": data.y}
