"""Frames as a report has them, small and made up, and what to ask of a drawn figure."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from gredkit.reports.study import INFLUENCE, KNOCK_OUT

ERRORS = {"zinc", "molecules", "peptides_struct"}  # datasets on which a smaller score is better
SEVEN = ["mnist", "cifar10", "pattern", "cluster", "zinc", "peptides_func", "peptides_struct"]
EIGHT = ["lru", "lstm", "rnn", "attention", "gru", "mean", "weighted_sum", "max"]
LONG = ["lru", *(f"encoder=lstm with matched parameters, LAYERS={i}" for i in range(6)), "attention_" * 7]


def results_frame(
    axes: Mapping[str, Mapping[str, Any]],
    datasets: Sequence[str] = ("digits", "zinc"),
    seeds: int = 3,
    states: Mapping[tuple[str, int], str] | None = None,
) -> pd.DataFrame:
    """Trials of all variants (with their axes), datasets and seeds; `states` of some that did not finish."""
    chance = np.random.default_rng(0)
    rows = []
    for dataset in datasets:
        for place, variant in enumerate(axes):
            for seed in range(seeds):
                state = (states or {}).get((variant, seed), "finished")
                test = 0.5 + 0.03 * place + 0.01 * float(chance.standard_normal())
                rows.append(
                    {
                        "id": f"{variant}/{dataset}/{seed}", "variant": variant, "dataset": dataset, "seed": seed,
                        "role": "final", "state": state, "metric": "mae" if dataset in ERRORS else "accuracy",
                        "larger_is_better": dataset not in ERRORS, "parameters": 100_000 + 5_000 * place,
                        "test": test if state == "finished" else None, "validation": test, "epoch": 4, "seconds": 9.0,
                        "seconds_per_epoch": 1.0 + place + 0.1 * seed, "peak_mb": 500.0 + 60 * place, "epochs": 6,
                        "jobs": 1, "other_load": 0.02, "kernels": "no: unknown parts" if place else "yes",
                        **{f"axis:{name}": value for name, value in axes[variant].items()},
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def flavour_axes(names: Sequence[str] = ("lru", "lstm", "rnn", "attention")) -> dict[str, dict[str, Any]]:
    """The axes of a study of encoders."""
    return {name: {"variant.encoder": name} for name in names}


def k_axes(values: Sequence[int | str | None] = (1, 2, 4, 8, None)) -> dict[str, dict[str, Any]]:
    """The axes of a study of K."""
    return {f"K={value}": {"K": value} for value in values}


def curves_frame(results: pd.DataFrame, epochs: int = 6) -> pd.DataFrame:
    """Validation scores that approach what the trial reached; trials that failed have none, diverged ones half."""
    last = {"finished": epochs, "diverged": epochs // 2}
    rows = [
        {
            "id": trial.id, "variant": trial.variant, "dataset": trial.dataset, "seed": trial.seed, "epoch": epoch,
            "train_loss": 1.0, "validation_loss": 1.0, "validation": trial.validation - 0.3 * 0.5**epoch,
        }
        for trial in results.itertuples()
        for epoch in range(last.get(trial.state, 0))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def eigenvalues_frame(results: pd.DataFrame, layers: int = 2, states: int = 5) -> pd.DataFrame:
    """Eigenvalues on rings: |λ| = 0.9 at the start, 0.8 + 0.05 · layer at the end."""
    rows = [
        {
            "id": trial.id, "variant": trial.variant, "dataset": trial.dataset, "seed": trial.seed, "layer": layer,
            "moment": moment, "real": size * np.cos(1 + i), "imag": size * np.sin(1 + i),
        }
        for trial in results.itertuples()
        if trial.state == "finished"
        for layer in range(layers)
        for moment, size in (("start", 0.9), ("end", 0.8 + 0.05 * layer))
        for i in range(states)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def hop_weights_frame(results: pd.DataFrame, layers: int = 2, hops: int = 60) -> pd.DataFrame:
    """Weights that fall by hop: 0.7^k at the start; 0.9^k (1 + seed / 10), times layer + 1, at the end."""
    rows = [
        {
            "id": trial.id, "variant": trial.variant, "dataset": trial.dataset, "seed": trial.seed, "layer": layer,
            "moment": moment, "hop": hop, "weight": scale * decay**hop,
        }
        for trial in results.itertuples()
        if trial.state == "finished"
        for layer in range(layers)
        for moment, scale, decay in (("start", 1.0, 0.7), ("end", (1 + trial.seed / 10) * (layer + 1), 0.9))
        for hop in range(hops + 1)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def influence_frame(results: pd.DataFrame, hops: int = 12) -> pd.DataFrame:
    """Influence that falls by hop: 0.5^k (1 + seed / 10), of the second variant 0.8^k …, of the third 0.87^k …."""
    names = results["variant"].unique() if len(results) else []
    decay = {name: 1 - 0.5 / (1 + place) ** 1.3 for place, name in enumerate(names)}
    rows = [
        {
            "id": trial.id, "variant": trial.variant, "dataset": trial.dataset, "seed": trial.seed, "hop": hop,
            "influence": 3.0 * decay[trial.variant] ** hop * (1 + trial.seed / 10 * (hop > 0)), "pairs": 9,
            "mixed": None, "range_hops": 2.0, "range_resistance": 1.5, "graphs": 32, "nodes": 64,
        }
        for trial in results.itertuples()
        if trial.state == "finished"
        for hop in range(hops + 1)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(INFLUENCE))


def knock_out_frame(results: pd.DataFrame, hops: int = 12) -> pd.DataFrame:
    """A score of 0.9 (1 + seed / 10) that a hidden hop lowers by 0.3 / (1 + k)."""
    rows = [
        {
            "id": trial.id, "variant": trial.variant, "dataset": trial.dataset, "seed": trial.seed, "hidden": hidden,
            "hop": hop, "score": 0.9 * (1 + trial.seed / 10) - (0.0 if hop is None else 0.3 / (1 + hop)),
            "graphs": 32, "answers": 64,
        }
        for trial in results.itertuples()
        if trial.state == "finished"
        for hidden in ("features", "sets")
        for hop in (None, *range(hops + 1))
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(KNOCK_OUT))


def texts(figure: Figure) -> list[str]:
    """All words of a figure."""
    return [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text().strip()]


def legend_names(figure: Figure) -> list[str]:
    """What the legend names."""
    return [text.get_text().replace("\n", " ") for legend in figure.legends for text in legend.get_texts()]


def titled(figure: Figure, dataset: str) -> Axes:
    """The panel of a dataset."""
    return next(axes for axes in figure.axes if axes.get_title().partition("\n")[0] == dataset)


def clouds(axes: Axes) -> list[PathCollection]:
    """The scattered points of a panel."""
    return [points for points in axes.collections if isinstance(points, PathCollection)]


def flaws(figure: Figure) -> list[str]:
    """Words that stick out of the paper, and words that cover others."""
    boxes, edge = _boxes(figure), figure.bbox
    out = [
        f"{text!r} sticks out"
        for text, box in boxes
        if box.x0 < edge.x0 - 1 or box.y0 < edge.y0 - 1 or box.x1 > edge.x1 + 1 or box.y1 > edge.y1 + 1
    ]
    return out + [
        f"{one!r} covers {other!r}"
        for i, (one, a) in enumerate(boxes)
        for other, b in boxes[i + 1 :]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]


def _boxes(figure: Figure) -> list[tuple[str, Any]]:
    """The words that are seen, and where they stand."""
    figure.draw_without_rendering()
    words: list[Text] = [text for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        words += [*axes.texts, axes.xaxis.label, axes.yaxis.label, axes.title]
        words += [text for text in axes.get_children() if isinstance(text, Text) and text not in words]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())  # ticks beyond the limits are not drawn
            words += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    seen = [text for text in dict.fromkeys(words) if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), _ink(text)) for text in seen]


def _ink(text: Text) -> Bbox:
    """Where a text has letters: an empty first line has none."""
    box = Text.get_window_extent(text)
    empty = len(text.get_text()) - len(text.get_text().lstrip("\n"))
    return Bbox.from_extents(box.x0, box.y0, box.x1, box.y1 - box.height * empty / (text.get_text().count("\n") + 1))
