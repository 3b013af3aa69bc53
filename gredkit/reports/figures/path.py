"""Which changes lead from the first variant to the best one?"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gredkit.registry import FIGURES
from gredkit.reports.ablation_path import ablation_path
from gredkit.reports.drawing.dots import WIDTH, rows_height
from gredkit.reports.drawing.panels import by, legend, message, panels, within_reason, wrapped
from gredkit.reports.drawing.style import COLOURS, QUIET, themed
from gredkit.reports.drawing.trials import compared, score_name
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.study import StudyData
from gredkit.reports.verdicts import Verdict

SEVERAL = 3  # panels side by side


@FIGURES.register("path")
class Path(StudyFigure):
    """The score on the way from the first to the best variant, for studies that cross factors."""

    title = "From the first variant to the best one"
    caption = (
        "From top to bottom one factor is changed at a time, each time the one whose change gives the best mean score; "
        "the marker is the mean test score after the change. The line is the 95 % interval of its gain, drawn from the "
        "score before it, simultaneous for all steps; a full marker is a step that is decided. The path was "
        "chosen by these scores, so that gains are more likely too large than too small."
    )
    section = "Effects"
    order = 27

    def draw(self, study: StudyData) -> Figure | None:
        found = ablation_path(study.results)
        if found.empty or found["step"].max() < 2:
            return None
        return path(study.results, found)


@themed
def path(results: pd.DataFrame, found: pd.DataFrame) -> Figure:
    """One panel per dataset, the first variant on top, one row per step."""
    if found.empty:
        return message("no path yet")
    trials = compared(results)
    datasets = by(found, "dataset")
    labels = {dataset: _labels(rows, trials[trials["dataset"] == dataset]) for dataset, rows in datasets}
    tallest = max((names for names in labels.values()), key=lambda names: rows_height(names, False))
    figure, axes_of = panels(len(datasets), rows_height(tallest, False), min(SEVERAL - 1, len(datasets)))
    for axes, (dataset, rows) in zip(axes_of, datasets, strict=True):
        here = trials[trials["dataset"] == dataset]
        axes.set_title(wrapped(dataset))
        _panel(axes, rows, labels[dataset], larger=score_name(here).endswith("↑"))
        axes.set_xlabel(score_name(here))
        axes.set_xlim(within_reason(*axes.get_xlim(), here))
    full = Line2D([], [], color=COLOURS[0], marker="o", ms=4.5, lw=1.4, label="mean, interval of the step")
    empty = Line2D([], [], color=QUIET, marker="o", ms=4.5, lw=1.4, mfc="white", label="not decided")
    legend(figure, [full, *([empty] if any(not Verdict(verdict).is_decided for verdict in found["verdict"]) else [])])
    return figure


def _labels(rows: pd.DataFrame, trials: pd.DataFrame) -> list[str]:
    steps = [f"{row['factor']}: {row['before']} → {row['after']}" for row in rows.to_dict("records")]
    return [wrapped(name, WIDTH, 2) for name in (str(trials["variant"].iloc[0]), *steps)]


def _panel(axes: Axes, rows: pd.DataFrame, labels: list[str], larger: bool) -> None:
    start = float(rows["previous"].iloc[0])
    axes.plot(start, 0, ls="", marker="o", ms=4.5, color=COLOURS[0], zorder=3)
    sign = 1 if larger else -1
    for place, row in enumerate(rows.to_dict("records"), 1):
        is_decided = Verdict(row["verdict"]).is_decided
        colour = COLOURS[0] if is_decided else QUIET
        axes.plot([row["previous"]] * 2, [place - 1, place], color=QUIET, lw=0.5, zorder=1.5)
        axes.plot([row["previous"], row["mean"]], [place, place], color=QUIET, lw=0.5, zorder=1.5)
        if np.isfinite(row["low"]):
            ends = [row["previous"] + sign * row[end] for end in ("low", "high")]
            axes.plot(ends, [place, place], color=colour, lw=1.4, solid_capstyle="butt", zorder=2)
        fill = colour if is_decided else "white"
        axes.plot(row["mean"], place, ls="", marker="o", ms=4.5, color=colour, mfc=fill, mew=1.0, zorder=3)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="y")
    axes.margins(x=0.08)
    axes.locator_params(axis="x", nbins=4)
