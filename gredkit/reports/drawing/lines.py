"""Scores along a scale: single seeds, mean, band, and where trials ended without a score."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from gredkit.reports.drawing.marks import Mark, of_mean, of_trials, tell
from gredkit.reports.drawing.panels import within_reason
from gredkit.reports.drawing.style import COLOURS, INK, LINES, QUIET, SMALL, Look
from gredkit.reports.drawing.trials import larger_is_better, mean_and_deviation, scored

PUBLISHED = "Dashed lines are published values, with another training budget."
References = Mapping[str, Sequence[tuple[str, float]]]
SEED, BAND, LOST = "single seed", "mean ± s.d. over seeds", "without a score (of how many)"


def score_line(axes: Axes, rows: pd.DataFrame, x: pd.Series, look: Look, label: str) -> None:
    """Mean test score of each variant at its x, with a band of one standard deviation and each seed as a faint point.

    The line is broken where a variant has no score.
    """
    good = scored(rows)
    if good.empty:
        return
    dots = axes.scatter(x[good.index], good["test"].astype(float), s=7, color=look.colour, alpha=0.4, lw=0, zorder=2)
    tell(dots, of_trials(good))
    places: list[float] = []
    means: list[float] = []
    deviations: list[float] = []
    marks: list[Mark] = []
    for (place, variant), some in rows.groupby([x[rows.index], rows["variant"]], sort=True):
        found = scored(some)["test"]
        mean, deviation = mean_and_deviation(found) if len(found) else (np.nan, 0.0)
        marks += [of_mean(scored(some), variant)] if len(found) else []
        places.append(float(place))
        means.append(mean)
        deviations.append(deviation)
    if any(deviations):
        low, high = np.subtract(means, deviations), np.add(means, deviations)
        axes.fill_between(places, low, high, color=look.colour, alpha=0.16, lw=0, zorder=1)
    (line,) = axes.plot(
        places, means, color=look.colour, marker=look.marker, ms=look.size(4), ls=look.line, mec="white", mew=0.5,
        label=label, zorder=3,
    )  # fmt: skip
    tell(line, marks)


def ring_best(axes: Axes, rows: pd.DataFrame, x: pd.Series) -> float | None:
    """Draw a ring around the best mean of a panel (the first of equals); returns its x."""
    good = scored(rows)
    if good.empty:
        return None
    means = good["test"].astype(float).groupby([x[good.index], good["variant"]]).mean()
    best = means.idxmax() if larger_is_better(rows) else means.idxmin()
    axes.plot([best[0]], [means[best]], "o", ms=8.5, mfc="none", mec=INK, mew=0.9, zorder=4, clip_on=False)
    return float(best[0])


def cross_lost(axes: Axes, rows: pd.DataFrame, x: pd.Series) -> bool:
    """Draw a cross where trials have no score, with how many of how many; returns whether there are any.

    The scale of x must be final, because numbers that would touch are drawn one above the other.
    """
    lost = rows.drop(scored(rows).index)
    across = axes.get_xaxis_transform()
    before, raised = -1.0, False
    for place, some in lost.groupby(x[lost.index]):
        here = float((axes.transData + axes.transAxes.inverted()).transform((place, 0))[0])
        raised, before = here - before < 0.13 and not raised, here
        axes.plot([place], [0.05], "x", ms=4, mew=1, color=INK, transform=across, zorder=4, clip_on=False)
        axes.annotate(
            f"{len(some)}/{int((x[rows.index] == place).sum())}", (place, 0.05), xycoords=across,
            xytext=(0, 10 if raised else 3.5), textcoords="offset points", ha="center", va="bottom", fontsize=SMALL,
            color=INK, path_effects=[withStroke(linewidth=1.5, foreground="white")], zorder=5,
        )  # fmt: skip
    return not lost.empty


def fit_scores(axes: Axes, rows: pd.DataFrame, foot: bool = False) -> None:
    """Limits of the vertical axis, with room at the bottom for crosses."""
    low, high = axes.get_ylim()
    low -= 0.24 * (high - low) * foot
    axes.set_ylim(within_reason(low, high, rows) if not foot else (low, within_reason(low, high, rows)[1]))


def reference_looks(references: References, datasets: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """Colour and line of each published value, by its label."""
    labels = dict.fromkeys(label for dataset in datasets for label, _ in references.get(dataset, ()))
    return {label: (QUIET if i < 4 else COLOURS[6], LINES[(i + 1) % 5]) for i, label in enumerate(labels)}


def reference_handles(references: References, datasets: Sequence[str]) -> list[Artist]:
    """What a legend shows of the published values."""
    known = reference_looks(references, datasets)
    return [Line2D([], [], color=colour, ls=line, lw=0.9, label=label) for label, (colour, line) in known.items()]


def score_handles(seeds: bool, best: str = "", lost: bool = False) -> list[Artist]:
    """What a legend shows of the marks: `seeds` if some x has several."""
    handles: list[Artist] = []
    if seeds:
        handles += [Line2D([], [], ls="", marker="o", ms=2.6, alpha=0.6, color=QUIET, label=SEED)]
        handles += [Patch(alpha=0.3, lw=0, color=QUIET, label=BAND)]
    if best:
        handles += [Line2D([], [], ls="", marker="o", ms=7, mfc="none", mec=INK, mew=0.9, label=best)]
    if lost:
        handles += [Line2D([], [], ls="", marker="x", ms=4, mew=1, color=INK, label=LOST)]
    return handles
