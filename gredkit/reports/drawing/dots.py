"""Scores of a few names, one below the other: every seed, mean and standard deviation."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gredkit.reports.drawing.lines import SEED
from gredkit.reports.drawing.marks import of_mean, of_trials, tell
from gredkit.reports.drawing.panels import NOTHING, all_wrapped, first_in_row, within_reason, wrapped
from gredkit.reports.drawing.style import QUIET, Look
from gredkit.reports.drawing.trials import mean_and_deviation, score_name, scored, without_score

WIDTH = 24  # letters of a name in one line


def rows_height(names: Sequence[str], fates: bool) -> float:
    """Inches that the names need, one below the other, with room for the states of lost trials."""
    lines = max(name.count("\n") + 1 for name in all_wrapped(names, WIDTH, 2)) + fates
    return max(0.55 + len(names) * max(0.17, 0.115 * lines + 0.03), 1.0)


def side_by_side(count: int, names: Sequence[str], fates: bool) -> int | None:
    """Panels in a row: fewer if long names or states need the room."""
    return min(count, 3) if count <= 6 and (fates or max(map(len, names)) > 16) else None


def score_dots(axes: Axes, rows: pd.DataFrame, names: pd.Series, order: Mapping[str, Look]) -> None:
    """One row per name, the first on top; below a name stands how many trials have no score, and why."""
    labels = all_wrapped(list(order), WIDTH, 2) if first_in_row(axes) else [""] * len(order)
    for place, (name, look) in enumerate(order.items()):
        some = rows[names[rows.index] == name]
        good = scored(some).sort_values("seed")["test"].astype(float)
        if len(good):
            mean, deviation = mean_and_deviation(good)
            above = 0.1 if len(good) > 1 else 0.0
            bar = axes.errorbar(
                mean, place - above, xerr=deviation or None, color=look.colour, fmt=look.marker, ms=look.size(5),
                mec="white", mew=0.5, elinewidth=1.4, zorder=3,
            )  # fmt: skip
            tell(bar.lines[0], [of_mean(scored(some), name)])
            if len(good) > 1:
                spread = place + 0.22 + 0.06 * np.resize([0, 1, -1], len(good))
                dots = axes.scatter(good, spread, s=6, color=look.colour, alpha=0.55, lw=0, zorder=2)
                tell(dots, of_trials(scored(some).sort_values("seed")))
        if len(some):
            labels[place] = "\n".join(filter(None, [labels[place], fate(some)]))
        else:
            in_its_row(axes, place, fate(some))
    axes.set_yticks(range(len(order)), labels)
    axes.set_ylim(len(order) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    if scored(rows).empty:
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.text(0.5, 0.5, NOTHING, transform=axes.transAxes, ha="center", va="center", color=QUIET)
        return
    axes.set_xlabel(score_name(rows))
    axes.set_xlim(within_reason(*axes.get_xlim(), rows))
    axes.locator_params(axis="x", nbins=4)


def fate(rows: pd.DataFrame) -> str:
    """What is said about trials without a score, or that a dataset does not have this name."""
    return wrapped(without_score(rows).replace(", ", ",\n"), WIDTH) if len(rows) else "not planned"


def in_its_row(axes: Axes, place: int, text: str) -> None:
    """Write into a row that has no mark."""
    axes.text(0.02, place, text, transform=axes.get_yaxis_transform(), va="center", color=QUIET, size="small")


def dot_handles(several: bool) -> list[Artist]:
    """What a legend shows of the marks."""
    if not several:
        return []
    mean = Line2D([], [], color=QUIET, marker="o", ms=5, mec="white", mew=0.5, lw=1.4, label="mean ± s.d. over seeds")
    return [mean, Line2D([], [], color=QUIET, ls="", marker="o", ms=2.5, alpha=0.7, label=SEED)]
