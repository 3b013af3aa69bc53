"""The operations of a training step: on a GPU each is a launch, and a step over small graphs waits for little else.

As in training, what follows from the whole numbers of a batch is computed on the host, and the batch is copied.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from rich.table import Table
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Batch

from gredkit.bench.settings import SETTINGS, Setting, chosen
from gredkit.bench.training import training
from gredkit.nn.kernels.usable import without_kernels
from gredkit.nn.models.base import add_needs
from gredkit.registry import MODELS
from gredkit.training.evaluation import CPU
from gredkit.training.moving import pack

GRAPHS = 8  # in a batch; the number of operations hardly depends on it
OTHERS = "zinc"  # the setting of the models that are not GRED
NO_LAUNCH = (
    "empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "lift_fresh", "promote_types",
    "_unsafe_view",  # a view of what nobody else sees
)  # fmt: skip


COPY_FIRST = ("addmm", "baddbmm")  # a GPU copies the matrix that is added, unless the result takes its place


class Operations(TorchDispatchMode):
    """Counts the operations inside of it by their names, without views and allocations."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        name = function.overloadpacket.__name__
        if function.namespace == "aten" and not function.is_view and name not in NO_LAUNCH:
            self.counts[name] += 1
            if name in COPY_FIRST and arguments[0].dim() > 1 and (options or {}).get("beta", 1):
                self.counts["copy_"] += 1
        return function(*arguments, **(options or {}))


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Counts what PyTorch is asked for without compiled kernels, as on a GPU."""
    with without_kernels(), Operations() as operations:
        yield operations.counts


def run(quick: bool = False) -> dict[str, Any]:
    """GRED in all settings, then the other models in one of them, with as many layers as GPS has there."""
    found = {}
    for name in SETTINGS:
        setting = chosen(name, quick)
        found[f"gred_{name}"] = _model(setting, setting.layers, partial(_gred, setting))
    setting = chosen(OTHERS, quick)
    for name in MODELS:
        if name != "gred":
            found[name] = _model(setting, setting.gps["layers"], partial(_other, setting, name))
    return found


def _gred(setting: Setting, layers: int) -> nn.Module:
    return replace(setting, layers=layers).build()


def _other(setting: Setting, name: str, layers: int) -> nn.Module:
    """GPS with the sizes of GraphGPS, the others with their defaults; all read the edges, if they can."""
    model = MODELS[name]
    options = setting.gps if name == "gps" else {"edge_features": setting.gps.get("edge_features")}
    options = {one: value for one, value in options.items() if one in signature(model).parameters}
    return model(setting.spec, **{**options, "layers": layers})


def _model(setting: Setting, layers: int, build: Callable[[int], nn.Module]) -> dict[str, Any]:
    """The operations of a step, and how many of them one more layer adds."""
    fewer, more = (_step(setting, build(count)) for count in (layers, layers + 1))
    return {
        "per_step": fewer.total(),
        "per_layer": more.total() - fewer.total(),
        "layers": layers,
        "most": dict(fewer.most_common(8)),
        "graphs": setting.source,
    }


def _step(setting: Setting, model: nn.Module) -> Counter[str]:
    step = training(model, setting.loss)
    batch = Batch.from_data_list([add_needs(graph, model, setting.K) for graph in setting.graphs(GRAPHS)])
    parcel = pack(batch, model)  # on the host, as in training
    step(parcel.to(CPU))  # allocates gradients and the optimiser's state
    with counted() as counts:
        step(parcel.to(CPU, copies=True))
    return counts


def table(result: dict[str, Any]) -> Table:
    """One row per model."""
    title = """operations of a training step without compiled kernels, which are launches on a GPU
views and allocations do not count; the copy of the batch, forward, loss, backward and optimiser do"""
    shown = Table(title=title, title_justify="left", title_style="bold")
    for column in ("model", "layers", "operations", "one more layer", "most often"):
        shown.add_column(column, justify="left" if column == "most often" else "right")
    for name, row in result.items():
        most = ", ".join(f"{one} {count}" for one, count in list(row["most"].items())[:3])
        about = f"{name} ({row['graphs']})" if name.startswith("gred") else name
        shown.add_row(about, str(row["layers"]), str(row["per_step"]), str(row["per_layer"]), most)
    return shown
