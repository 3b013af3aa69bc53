"""What a score costs: time, memory, parameters."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FixedLocator, MaxNLocator, NullLocator

from gredkit.registry import FIGURES
from gredkit.reports.drawing.many import few_variants, noted
from gredkit.reports.drawing.marks import Mark, of_mean, tell
from gredkit.reports.drawing.panels import NOTHING, by, legend, no_scores, panels, say, within_reason, wrapped
from gredkit.reports.drawing.placement import Point, place_names
from gredkit.reports.drawing.style import QUIET, SMALL, Look, looks, themed
from gredkit.reports.drawing.trials import (
    compared,
    has_scores,
    mean_and_deviation,
    score_name,
    scored,
    without_score,
)
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.numbers import significant
from gredkit.reports.study import StudyData
from gredkit.reports.timing import ALONE, why_no_times, with_kernels

COSTS = {"seconds_per_epoch": "seconds per epoch ↓", "peak_mb": "peak memory (MB) ↓", "parameters": "parameters ↓"}


@FIGURES.register("cost")
class Cost(StudyFigure):
    """Test score against training time, peak memory and number of parameters."""

    title = "Test score against cost"
    caption = (
        "One row per dataset, one point per variant, with one standard deviation as a thin cross. The best place is "
        "the corner with a better score at a lower cost."
    )
    order = 80

    def draw(self, study: StudyData) -> Figure | None:
        if not has_scores(study.results):
            return None
        few, said = few_variants(study.results)
        return noted(cost(few), said)

    def caption_of(self, study: StudyData) -> str:
        trials = scored(compared(study.results))
        return f"{self.caption} {why_no_times(trials) or with_kernels(trials)}".rstrip()


@themed
def cost(results: pd.DataFrame) -> Figure:
    """Test score against time, memory and parameters, one row per dataset: means, s.d. as thin crosses.

    Time and memory are left out unless every trial ran alone on its machine.
    """
    results = compared(results)
    if scored(results).empty:
        return no_scores(results)
    left_out = ALONE if why_no_times(scored(results)) else ()
    costs = [column for column in COSTS if column not in left_out]
    order = looks(results["variant"])
    datasets = by(results, "dataset")
    figure, axes_of = panels(len(datasets) * len(costs), 1.5 if len(datasets) <= 4 else 1.25, len(costs))
    marks = []
    for i, axes in enumerate(axes_of):
        dataset, rows = datasets[i // len(costs)]
        column = costs[i % len(costs)]
        if column == costs[0]:
            axes.set_title(wrapped(dataset, 30), loc="left")
            axes.set_ylabel(score_name(rows) if len(scored(rows)) else "")
        if column == costs[-1] and (absent := _absent(rows)):
            axes.set_title(f"no score: {wrapped(absent, 56, 2)}", loc="right", fontsize=SMALL, color=QUIET)
        marks.append((axes, _points(axes, rows, column, order, column == costs[0])))
        axes.set_xlabel(COSTS[column] if marks[-1][1] else "")
        axes.tick_params(labelleft=column == costs[0])
    figure.draw_without_rendering()  # settles where things are
    fits = max(map(len, order)) <= 24
    for axes, points in marks:
        fits = fits and place_names(axes, points, {name: look.colour for name, look in order.items()})
    if not fits:
        for axes in axes_of:
            for text in [text for text in axes.texts if text.get_text() in order]:
                text.remove()
        legend(figure, [Line2D([], [], ls="", marker=look.marker, color=look.colour, mec="white", mew=0.5,
                               ms=look.size(5), label=name) for name, look in order.items()])  # fmt: skip
    return figure


def _absent(rows: pd.DataFrame) -> str:
    """The variants of a dataset that have no point, and why."""
    if scored(rows).empty:
        return f"{without_score(rows)}, of all variants"
    lost = [(name, without_score(some)) for name, some in by(rows, "variant") if scored(some).empty]
    return "; ".join(f"{name} ({fate})" for name, fate in lost)


def _points(axes: Axes, rows: pd.DataFrame, column: str, order: dict[str, Look], is_first: bool) -> dict[str, Point]:
    """Draw one mark per variant; returns where they are."""
    points: dict[str, Point] = {}
    good = scored(rows)
    good = good[pd.to_numeric(good[column], errors="coerce").astype(float) > 0] if column in good else good.iloc[:0]
    for name, some in by(good, "variant"):
        (x, dx), (y, dy) = mean_and_deviation(some[column]), mean_and_deviation(some["test"])
        look = order[name]
        axes.errorbar(x, y, xerr=dx or None, yerr=dy or None, color=look.colour, fmt="none", elinewidth=0.6, alpha=0.6)
        (point,) = axes.plot(
            [x], [y], ls="", marker=look.marker, ms=look.size(5), color=look.colour, mec="white", mew=0.5, zorder=3,
            clip_on=False,
        )  # fmt: skip
        mean = of_mean(some, name).text
        tell(point, [Mark(f"{mean}\n{significant(x)} {COSTS[column].removesuffix(' ↓')}")])
        points[name] = Point(x, y, dx, dy)
    if not points:
        words = NOTHING if is_first else ""
        say(axes, words if scored(rows).empty else "not measured")
        return points
    _logarithmic(axes, {point.x for point in points.values()})
    low, high = axes.get_ylim()
    axes.set_ylim(within_reason(low - 0.08 * (high - low), high + 0.08 * (high - low), rows))
    return points


def _logarithmic(axes: Axes, costs: set[float]) -> None:
    """A logarithmic axis with room for names, and plain round numbers at its ticks."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    if len(costs) == 1:
        low = high = min(costs)  # around one value matplotlib would show decades
    room = max((high / low) ** 0.22, 1.5 if low == high else 1.12)
    low, high = low / room, high * room
    axes.set_xlim(low, high)
    round_numbers = [b * 10.0**e for e in range(-6, 13) for b in (1, 2, 5)]
    ticks = [tick for tick in round_numbers if low <= tick <= high]
    if len(ticks) < 3:
        ticks = [tick for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]
    if len(ticks) > 5:
        ticks = [tick for tick in ticks if np.isclose(np.log10(tick) % 1, 0)]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(EngFormatter(sep="") if low >= 1 else "{x:g}")
