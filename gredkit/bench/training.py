"""A training step of GRED on its hop index, against the dense oracle with the same parameters."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch, Data

from gredkit import GRED, GraphSpec, add_hops
from gredkit.bench import graphs
from gredkit.bench.measure import interleave, milliseconds, show
from gredkit.bench.oracle import DenseBatch, DenseGRED, dense_batch
from gredkit.nn.encoders.lru import LRU

AGREEMENT = 1e-3  # of the largest output: far more than rounding, far less than another function


@dataclass(frozen=True)
class Setting:
    """One benchmark with the paper's hyper-parameters, on synthetic graphs of its size."""

    make: Callable[[int], list[Data]]
    spec: GraphSpec
    loss: Callable[[Tensor, Tensor], Tensor]
    K: int
    dim: int
    layers: int
    batch: int
    repeats: int
    dropout: float
    oracle_batch: int  # it takes as many steps as the graphs need; on Peptides 2 wastes less on padding than 4
    state_dim: int | None = None
    model: dict[str, Any] = field(default_factory=dict)

    def build(self) -> GRED:
        encoder = partial(LRU, state_dim=self.state_dim)
        return GRED(self.spec, self.dim, self.layers, encoder=encoder, dropout=self.dropout, **self.model)

    def small(self) -> "Setting":
        """A run that only shows that everything works."""
        return replace(self, dim=8, state_dim=8, layers=2, batch=4, oracle_batch=2, repeats=1)


SETTINGS = {
    "zinc": Setting(
        graphs.zinc,
        GraphSpec(nodes=(graphs.ATOMS,), outputs=1, edges=(graphs.BONDS,)),
        lambda out, y: F.l1_loss(out.flatten(), y),
        K=4, dim=72, layers=11, batch=32, repeats=15, dropout=0.2, oracle_batch=32,
        model={"edge_features": "categorical"},
    ),
    "peptides": Setting(
        graphs.peptides,
        GraphSpec(nodes=graphs.OGB_ATOM, outputs=10),
        F.binary_cross_entropy_with_logits,
        K=40, dim=88, layers=8, batch=32, repeats=3, dropout=0.2, oracle_batch=2,
    ),
    "cifar10": Setting(
        graphs.cifar10,
        GraphSpec(nodes=graphs.COLOURS, outputs=10),
        F.cross_entropy,
        K=4, dim=96, layers=8, batch=16, repeats=9, dropout=0.15, oracle_batch=16, state_dim=64,
        model={"features": "dense", "readout": "mean", "head_layers": 1},
    ),
}  # fmt: skip


def run(quick: bool = False) -> dict[str, Any]:
    """Every setting, its contestants in turns."""
    return {name: _setting(setting.small() if quick else setting) for name, setting in SETTINGS.items()}


def _setting(setting: Setting) -> dict[str, Any]:
    torch.manual_seed(0)
    data: list[Data] = [add_hops(graph, setting.K) for graph in setting.make(setting.batch)]
    batch = Batch.from_data_list(data)
    parts = [data[i : i + setting.oracle_batch] for i in range(0, len(data), setting.oracle_batch)]
    padded = [(Batch.from_data_list(part), dense_batch(part, setting.K)) for part in parts]
    model = setting.build()
    oracle = DenseGRED(deepcopy(model))
    _require_agreement(model, oracle, *padded[0])

    contestants = {
        "gredkit": steps(model, [(batch, None)], setting.loss),
        "oracle": steps(oracle, padded, setting.loss),
    }
    timings = interleave(contestants, setting.repeats)
    timings = {name: timing.per(setting.batch) for name, timing in timings.items()}
    results = {name: milliseconds(timing, "ms_per_graph") for name, timing in timings.items()}
    results["gredkit"]["batch"], results["oracle"]["batch"] = setting.batch, setting.oracle_batch
    return {
        "speedup_vs_oracle": timings["oracle"].median / timings["gredkit"].median,
        "contestants": results,
        "nodes_per_graph": batch.num_nodes / len(data),
    }


def steps(
    model: nn.Module, batches: Sequence[tuple[Data, DenseBatch | None]], loss: Callable[[Tensor, Tensor], Tensor]
) -> Callable[[], None]:
    """A pass over the batches: forward, loss, backward and the optimiser's step for each."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, fused=True)
    model.train()

    def take() -> None:
        for batch, dense in batches:
            optimiser.zero_grad()
            out = model(batch) if dense is None else model(batch, dense)
            loss(out, batch.y).backward()
            optimiser.step()

    return take


@torch.no_grad()
def _require_agreement(model: GRED, oracle: DenseGRED, batch: Data, dense: DenseBatch) -> None:
    """A race between two different functions would say nothing."""
    ours, theirs = model.eval()(batch), oracle.eval()(batch, dense)
    difference = ((ours - theirs).abs().max() / theirs.abs().max()).item()
    if not difference <= AGREEMENT:
        raise RuntimeError(f"gredkit and the dense oracle disagree by {difference:.1e}: there is a bug in one of them")


def table(result: dict[str, Any]) -> Table:
    """One row a setting."""
    title = "training step, ms a graph: median (quartiles) @ batch"
    shown = Table(title=title, title_justify="left", title_style="bold")
    for column in ("setting", "nodes a graph", "gredkit", "dense oracle", "speed-up"):
        shown.add_column(column, justify="right")
    for name, row in result.items():
        times = [f"{show(one, 'ms_per_graph')} @ {one['batch']}" for one in row["contestants"].values()]
        shown.add_row(name, f"{row['nodes_per_graph']:.0f}", *times, f"{row['speedup_vs_oracle']:.1f} x")
    return shown
