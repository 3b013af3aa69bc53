"""The three configurations of the paper that are measured, and their graphs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from gredkit import GRED, GraphSpec
from gredkit.bench import graphs
from gredkit.paths import data_root
from gredkit.registry import DATASETS, ENCODERS


@dataclass(frozen=True)
class Setting:
    """One benchmark with the paper's hyper-parameters."""

    dataset: str  # name in the registry DATASETS
    folder: str  # of its files, under the data root
    make: Callable[[int], list[Data]]  # makes synthetic graphs of the same size, if there are no files
    spec: GraphSpec
    loss: Callable[[Tensor, Tensor], Tensor]
    K: int
    dim: int
    layers: int
    batch: int
    batches: int  # per repeat
    repeats: int
    dropout: float
    oracle_batch: int  # batch size of the dense oracle; on Peptides 2 wastes less on padding than 4
    largest: int  # nodes of the dataset's largest graph, to which the published code pads all graphs
    gps: Mapping[str, Any]  # arguments of the GPS model
    state_dim: int | None = None
    model: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_real(self) -> bool:
        """Whether the files of the dataset exist on this machine."""
        return (data_root() / self.folder / "raw").is_dir()

    @property
    def source(self) -> str:
        """The name of the dataset, or 'synthetic', for the reader of the numbers."""
        return self.dataset if self.is_real else "synthetic"

    def graphs(self, count: int) -> list[Data]:
        """`count` graphs: randomly chosen training graphs, or synthetic ones."""
        if not self.is_real:
            return self.make(count)
        task = DATASETS[self.dataset]()
        train = task.splits["train"]
        order = torch.randperm(len(train), generator=torch.Generator().manual_seed(0))[:count]
        return [task.graphs[train[i]].clone() for i in order.tolist()]  # a clone does not keep its dataset in memory

    def build(self, encoder: str = "lru") -> GRED:
        made = ENCODERS[encoder]
        if "state_dim" in signature(made).parameters:
            made = partial(made, state_dim=self.state_dim)
        return GRED(self.spec, self.dim, self.layers, encoder=made, dropout=self.dropout, **self.model)

    def small(self) -> "Setting":
        """A small version, which only tests that everything works."""
        gps = {**self.gps, "dim": 8, "layers": 1}
        small = replace(self, dim=8, state_dim=8, layers=2, batch=4, batches=1, repeats=1, gps=gps)
        return replace(small, oracle_batch=2, largest=60)


# Layers, width, message passing and readout of GPS are those of the published configurations of GraphGPS.
SETTINGS = {
    "zinc": Setting(
        "zinc", "ZINC", graphs.zinc,
        GraphSpec(nodes=(graphs.ATOMS,), outputs=1, edges=(graphs.BONDS,)),
        lambda out, y: F.l1_loss(out.flatten(), y.flatten()),
        K=4, dim=72, layers=11, batch=32, batches=4, repeats=15, dropout=0.2, oracle_batch=32, largest=38,
        gps={"dim": 64, "layers": 10, "edge_features": "categorical", "readout": "sum"},
        model={"edge_features": "categorical"},
    ),
    "peptides": Setting(
        "peptides_func", "peptides-func", graphs.peptides,
        GraphSpec(nodes=graphs.OGB_ATOM, outputs=10),
        F.binary_cross_entropy_with_logits,
        K=40, dim=88, layers=8, batch=32, batches=2, repeats=5, dropout=0.2, oracle_batch=2, largest=444,
        gps={"dim": 96, "layers": 4, "local": "gated", "readout": "mean"},
    ),
    "cifar10": Setting(
        "cifar10", "CIFAR10", graphs.cifar10,
        GraphSpec(nodes=graphs.COLOURS, outputs=10),
        F.cross_entropy,
        K=4, dim=96, layers=8, batch=16, batches=2, repeats=9, dropout=0.15, oracle_batch=16, largest=150,
        state_dim=64,
        gps={"dim": 52, "layers": 3, "local": "gated", "readout": "mean"},
        model={"features": "dense", "readout": "mean", "head_layers": 1},
    ),
}  # fmt: skip


def chosen(name: str, quick: bool) -> Setting:
    """The setting with this name; with `quick` its small version."""
    return SETTINGS[name].small() if quick else SETTINGS[name]
