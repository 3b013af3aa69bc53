"""What `python -m gredkit.explain` writes about one model: tables and figures of the distances at which it hears."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from gredkit.data.task import Task
from gredkit.inference.distance.measured import measure
from gredkit.inference.distance.one_node import look_at
from gredkit.inference.distance.record import Measured, Sample
from gredkit.inference.trained import TrainedModel
from gredkit.inference.trained_on import metric_of
from gredkit.nn.models.base import add_needs
from gredkit.reports.by_hop import influence_by_hop, knock_out_by_hop
from gredkit.reports.cells import csv_text
from gredkit.reports.drawing.explained import draw_filter, draw_node
from gredkit.reports.drawing.style import save_for_screen
from gredkit.reports.figures.distance import distance
from gredkit.reports.figures.knock_out import FEATURES, knock_out
from gredkit.reports.study import INFLUENCE, KNOCK_OUT
from gredkit.system.writing import writing


def explain(trained: TrainedModel, task: Task, sample: Sample, folder: Path) -> list[Path]:
    """influence, knock_out and, for linear encoders, filter: each as CSV, SVG and PNG."""
    about = trained.about
    metric = metric_of(task, about)
    found = measure(trained.model, task, about.K, sample, metric)
    trial = ("", about.composition.model.name, task.name, 0)
    results = pd.DataFrame(
        [{"dataset": task.name, "metric": metric.name, "larger_is_better": metric.larger_is_better, "test": None}]
    )
    written = _notes(found, folder)
    influence = _influence(found, trial)
    written += _write(folder, "influence", influence_by_hop(influence), distance(influence))
    hidden = pd.DataFrame([(*trial, *row) for row in found.knock_out_rows], columns=list(KNOCK_OUT))
    if len(hidden):
        is_drawn = hidden["hidden"].eq(FEATURES).any()
        figure = knock_out(results, hidden) if is_drawn else None
        written += _write(folder, "knock_out", knock_out_by_hop(hidden), figure)
    weights = filters(trained, len(found.influence))
    if len(weights):
        written += _write(folder, "filter", weights, draw_filter(weights))
    return written


def explain_node(trained: TrainedModel, task: Task, graph: int, node: int, folder: Path) -> list[Path]:
    """node.csv: one row per node; node_by_hop.csv: one row per hop; both in one figure."""
    data = add_needs(task.graphs[graph], trained.model, trained.about.K)
    one = look_at(trained.model, data, node, task.spec.level)
    nodes = pd.DataFrame({"node": range(len(one.hop)), "hop": one.hop, "influence": one.influence})
    if one.resistance is not None:
        nodes["resistance"] = np.where(np.isfinite(one.resistance), one.resistance, np.nan)
    nodes["share"] = nodes["influence"] / max(nodes["influence"].sum(), np.finfo(float).tiny)
    reached = nodes[nodes["hop"] >= 0]
    hops = reached.groupby("hop").agg(nodes=("node", "size"), influence=("influence", "sum"), share=("share", "sum"))
    hops["change_when_hidden"] = pd.Series(one.hidden).reindex(hops.index)
    for layer, by_hop in one.layers.items():
        hops[f"added_in_layer_{layer + 1}"] = pd.Series(by_hop).reindex(hops.index)
    hops = hops.reset_index()
    title = f"{task.name}, graph {graph}, node {node}"
    written = _write(folder, "node", nodes, draw_node(data, node, nodes, hops, title))
    return [*written, *_write(folder, "node_by_hop", hops, None)]


def filters(trained: TrainedModel, hops: int) -> pd.DataFrame:
    """‖M_k‖ / √d by layer and hop, for layers whose encoder is linear: for an LRU M_k = Re[W_out Λ^k W_in]."""
    rows = []
    for number, layer in enumerate(getattr(trained.model, "layers", ())):
        of_layer = getattr(layer, "hop_weights", None)
        weights = of_layer(hops) if callable(of_layer) else None
        for hop, weight in enumerate([] if weights is None else weights.tolist()):
            rows.append((number + 1, hop, weight))
    return pd.DataFrame(rows, columns=["layer", "hop", "weight"])


def _influence(found: Measured, trial: tuple[object, ...]) -> pd.DataFrame:
    mixed = [*found.mixed, *[None] * (len(found.influence) - len(found.mixed))]
    sizes = found.range_hops, found.range_resistance, found.graphs, found.nodes
    rows = [
        (*trial, hop, *row, *sizes) for hop, row in enumerate(zip(found.influence, found.pairs, mixed, strict=False))
    ]
    return pd.DataFrame(rows, columns=list(INFLUENCE))


def _notes(found: Measured, folder: Path) -> list[Path]:
    """notes.txt says what could not be measured, if there is such a thing."""
    with writing(folder, "choose another folder with --out"):
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "notes.txt"
        file.unlink(missing_ok=True)
        if not found.notes:
            return []
        file.write_text("".join(f"{note}\n" for note in found.notes), encoding="utf-8")
    return [file]


def _write(folder: Path, name: str, frame: pd.DataFrame, figure: Figure | None) -> list[Path]:
    with writing(folder, "choose another folder with --out"):
        file = folder / f"{name}.csv"
        file.write_text(csv_text(frame), encoding="utf-8")
    return [file, *([] if figure is None else save_for_screen(figure, folder, name))]
