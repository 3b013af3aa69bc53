"""Which part does the work? What each change costs, compared with the full model."""

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gredkit.registry import FIGURES
from gredkit.reports.drawing.dots import WIDTH, fate, in_its_row, rows_height, side_by_side
from gredkit.reports.drawing.many import few_variants, noted
from gredkit.reports.drawing.panels import (
    NOTHING,
    all_wrapped,
    by,
    first_in_row,
    in_columns,
    legend,
    message,
    no_scores,
    panels,
    wrapped,
)
from gredkit.reports.drawing.style import COLOURS, INK, PALE, QUIET, themed
from gredkit.reports.drawing.trials import compared, has_base, has_scores, score_name, scored
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.statistics import comparisons
from gredkit.reports.study import StudyData

BETTER, WORSE = COLOURS[0], COLOURS[1]
LETTERS = {1: 36, 2: 36, 3: 22}  # of a label, by the number of panels side by side
ROOM = 1.12  # times the farthest mark


@FIGURES.register("parts")
class Parts(StudyFigure):
    """Difference of each variant from the full model, for studies whose first variant changes nothing."""

    title = "Which part does the work?"
    caption = (
        "One row per change of the full model, the most harmful on top (on average over the datasets, each by its own "
        "scale); one panel per dataset. The marker is the mean gain of the test score over paired seeds, so left of "
        "the line is worse, also where a smaller score is better; the bar is its interval, corrected for all rows of "
        "all panels. A full marker: the difference holds, as in the table. A part whose bar crosses the line has not "
        "been shown to matter here."
    )
    order = 15

    def draw(self, study: StudyData) -> Figure | None:
        trials = compared(study.results)
        if not has_scores(trials) or not has_base(trials) or trials["variant"].nunique() < 3:
            return None
        few, said = few_variants(trials)
        return noted(parts(few), said)


@themed
def parts(results: pd.DataFrame) -> Figure:
    """Mean difference and interval of each variant from the first one, one panel per dataset, sorted by effect."""
    results = compared(results)
    if scored(results).empty:
        return no_scores(results)
    found = comparisons(results)
    if found.empty:
        return message("no other variant to compare with yet")
    base, names = str(results["variant"].iloc[0]), _by_effect(found)
    datasets = by(results, "dataset")
    fates = len(scored(results)) < len(results)
    figure, axes_of = panels(len(datasets), rows_height(names, fates), side_by_side(len(datasets), names, fates))
    for axes, (dataset, rows) in zip(axes_of, datasets, strict=True):
        axes.set_title(wrapped(dataset))
        _panel(axes, rows, found[found["dataset"] == dataset].set_index("variant"), names)
        name = f"{score_name(rows)[:-2]}: gain over {base}"
        axes.set_xlabel(wrapped(name, LETTERS.get(in_columns(axes), 16), 3))
    legend(figure, _handles(found))
    return figure


def _by_effect(found: pd.DataFrame) -> list[str]:
    """The variants, from the one that loses most to the one that gains most; without a score first."""
    largest = found.groupby("dataset")["difference"].transform(lambda values: values.abs().max())
    effects = (found["difference"] / largest.where(largest > 0, 1.0)).groupby(found["variant"], sort=False).mean()
    return [str(name) for name in effects.sort_values(kind="stable", na_position="first").index]


def _panel(axes: Axes, rows: pd.DataFrame, found: pd.DataFrame, names: list[str]) -> None:
    labels = all_wrapped(names, WIDTH, 2) if first_in_row(axes) else [""] * len(names)
    axes.axvline(0, color=INK, lw=0.8, zorder=1.5)
    for place, name in enumerate(names):
        some = rows[rows["variant"] == name]
        if name not in found.index or pd.isna(found.loc[name, "difference"]):
            in_its_row(axes, place, fate(some))
            continue
        labels[place] = "\n".join(filter(None, [labels[place], fate(some)]))
        difference, low, high, holds = found.loc[name, ["difference", "low", "high", "holds"]]
        colour = QUIET if not holds else BETTER if difference > 0 else WORSE
        if np.isfinite(low):
            axes.plot([low, high], [place, place], color=colour, lw=1.4, solid_capstyle="butt", zorder=2)
        axes.plot(
            difference,
            place,
            ls="",
            marker="o",
            ms=4.5,
            color=colour,
            mfc=colour if holds else "white",
            mew=1.0,
            zorder=3,
        )
    axes.set_yticks(range(len(names)), labels)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="y", color=PALE)
    if found["difference"].isna().all():
        axes.set_xticks([])
        axes.text(0.5, 0.5, NOTHING, transform=axes.transAxes, ha="center", va="center", color=QUIET)
        return
    ends = found[["difference", "low", "high"]].astype(float)
    axes.set_xlim(min(np.nanmin(ends) * ROOM, 0) - 1e-9, max(np.nanmax(ends) * ROOM, 0) + 1e-9)
    axes.locator_params(axis="x", nbins=4)


def _handles(found: pd.DataFrame) -> list[Artist]:
    """What a legend shows of the marks that are there."""
    holds = found["holds"].astype(bool)
    kinds = [
        ("worse, and it holds", WORSE, WORSE, (holds & (found["difference"] < 0)).any()),
        ("better, and it holds", BETTER, BETTER, (holds & (found["difference"] > 0)).any()),
        ("not shown to differ", QUIET, "white", (~holds).any()),
    ]
    return [
        Line2D([], [], color=colour, marker="o", ms=4.5, mfc=fill, mew=1.0, lw=1.4, label=label)
        for label, colour, fill, is_there in kinds
        if is_there
    ]
