"""Average ranks over datasets, with the critical difference."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gredkit.config.study import ALL
from gredkit.registry import FIGURES
from gredkit.reports.drawing.panels import message, panels, wrapped
from gredkit.reports.drawing.style import INK, QUIET, SMALL, themed
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.ranking import Ranks, cliques, mean_ranks
from gredkit.reports.study import StudyData


@FIGURES.register("ranks")
class MeanRanks(StudyFigure):
    """A critical-difference diagram, for studies with `study.compare = 'all'`, three datasets and three variants."""

    title = "Average ranks over datasets"
    caption = (
        "The mean score of each variant is ranked on each dataset, 1 is best, and the ranks are averaged. A bar joins "
        "variants that are closer than the critical difference of Nemenyi's test (5 %), whose length is shown above. "
        "It sees only the order of the means on each dataset, so that few datasets show little. Variants without a "
        "score on every dataset are left out."
    )
    order = 17

    def draw(self, study: StudyData) -> Figure | None:
        asked = "compare" in study.results and (study.results["compare"] == ALL).any()
        return ranks(study.results) if asked and mean_ranks(study.results) else None


@themed
def ranks(results: pd.DataFrame) -> Figure:
    """An axis of mean ranks; names stand below it, the better half on the left."""
    found = mean_ranks(results) if len(results.columns) and len(results) else None
    if found is None:
        return message("no three variants with scores on three datasets yet")
    groups, half = cliques(found), (len(found.ranks) + 1) // 2
    figure, (axes,) = panels(1, 0.75 + 0.1 * len(groups) + 0.17 * half)
    figure.set_figwidth(6.9)
    bars = 0.5 + 0.35 * len(groups)
    depth = bars + 0.6 * half + 0.2
    low, high = 1.0, float(len(found.ranks))
    room = 0.45 * (high - low)
    axes.set(xlim=(low - room, high + room), ylim=(depth, -2.4))
    axes.axis("off")
    axes.plot([low, high], [0, 0], color=INK, lw=0.8)
    for tick in np.arange(low, high + 1):
        axes.plot([tick, tick], [0, -0.2], color=INK, lw=0.8)
        axes.text(tick, -0.3, f"{tick:.0f}", ha="center", va="bottom")
    length = min(found.critical, high - low)
    axes.plot([low, low + length], [-1.6, -1.6], color=QUIET, lw=1.2, marker="|", ms=4)
    said = f"critical difference {found.critical:.2f}, {found.datasets} datasets"
    axes.text(low, -1.75, said, ha="left", va="bottom", fontsize=SMALL, color=QUIET)
    for nth, (first, last) in enumerate(groups):
        axes.plot([first, last], [0.35 * (nth + 1)] * 2, color=INK, lw=2.2, solid_capstyle="butt")
    _names(axes, found, half, bars, (low - 0.05 * room, high + 0.05 * room))
    return figure


def _names(axes: Axes, found: Ranks, half: int, top: float, ends: tuple[float, float]) -> None:
    """The best one on the left and the worst one on the right are nearest to the axis."""
    rows = [*range(half), *reversed(range(len(found.ranks) - half))]
    for nth, ((name, rank), row) in enumerate(zip(found.ranks.items(), rows, strict=True)):
        left, depth = nth < half, top + 0.6 * row + 0.3
        axes.plot([rank, rank, ends[not left]], [0, depth, depth], color=QUIET, lw=0.6)
        label = wrapped(str(name), 26, 1)
        text = f"{label}  {rank:.2f} " if left else f" {rank:.2f}  {label}"
        axes.text(ends[not left], depth, text, ha="right" if left else "left", va="center")
