"""How much of the variance of the score is due to which factor, and how much to the seeds?"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gredkit.registry import FIGURES
from gredkit.reports.drawing.dots import WIDTH, rows_height, side_by_side
from gredkit.reports.drawing.many import noted
from gredkit.reports.drawing.panels import all_wrapped, by, first_in_row, legend, message, panels, wrapped
from gredkit.reports.drawing.style import COLOURS, INK, PALE, QUIET, SMALL, themed
from gredkit.reports.effects import ALIKE, INTERACTION, MAIN, REST, SEEDS, effects
from gredkit.reports.effects_said import percent
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.study import StudyData

KINDS = {
    MAIN: (COLOURS[0], "factor"),
    INTERACTION: (COLOURS[4], "together: beyond the sum of both"),
    REST: (COLOURS[4], ""),
    SEEDS: (QUIET, "seeds"),
}
MOST = 6  # interactions
ROOM = 1.3  # times the farthest mark


@FIGURES.register("effects")
class Effects(StudyFigure):
    """Share of the variance of the score by term, for studies that cross factors."""

    title = "What explains the score?"
    caption = (
        "One bar per factor, per pair of factors and for the seeds: its share of the variance of the test score over "
        "all trials of a dataset, without what chance alone would give it; all shares of a dataset add up to 100 %. A "
        "pair's share is what the two do together beyond the sum of both. Lines are approximate 95 % bootstrap "
        "intervals over seeds, too short with few seeds. A share depends on the values that the study gives to each "
        "factor."
    )
    section = "Effects"
    order = 26

    def draw(self, study: StudyData) -> Figure | None:
        found = effects(study.results)
        return None if found.empty else effects_figure(found)


@themed
def effects_figure(found: pd.DataFrame) -> Figure:
    """One panel per dataset, one row per term: factors, the largest interactions, seeds."""
    shown = found[found["kind"] != ALIKE]
    if shown.empty:
        return message("no shares of the variance yet")
    names, left = _names(shown)
    datasets = by(shown, "dataset")
    figure, axes_of = panels(len(datasets), rows_height(names, False), side_by_side(len(datasets), names, False))
    reach = ROOM * max(min(100 * float(shown[["share", "high"]].max(axis=None)), 100.0), 20.0)
    for axes, (dataset, rows) in zip(axes_of, datasets, strict=True):
        axes.set_title(wrapped(dataset))
        _panel(axes, rows.set_index("term"), names)
        axes.set_xlim(0, reach)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel("share of the variance (%)")
    there = [KINDS[kind] for kind in dict.fromkeys(shown["kind"]) if KINDS[kind][1]]
    legend(figure, [Patch(color=colour, label=label) for colour, label in there])
    said = f"Shown are the {MOST} largest of {left + MOST} interactions; effects.csv has all." if left else ""
    return noted(figure, said)


def _names(shown: pd.DataFrame) -> tuple[list[str], int]:
    """The terms in their order, of the interactions only the largest, and how many are left out."""
    largest = shown.groupby("term", sort=False).agg(kind=("kind", "first"), share=("share", "max"))
    is_pair = largest["kind"].isin((INTERACTION, REST))
    pairs = largest[is_pair].sort_values("share", ascending=False, kind="stable").index[:MOST]
    kept = largest[~is_pair | largest.index.isin(pairs)]
    order = [name for kind in KINDS for name in kept.index[kept["kind"] == kind]]
    return order, int(is_pair.sum()) - len(pairs)


def _panel(axes: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    labels = all_wrapped(names, WIDTH, 2) if first_in_row(axes) else [""] * len(names)
    for place, name in enumerate(names):
        if name not in rows.index:
            continue
        share, low, high = np.clip(100 * rows.loc[name, ["share", "low", "high"]].astype(float), 0.0, 100.0)
        axes.barh(place, share, height=0.62, color=KINDS[rows.loc[name, "kind"]][0], zorder=2)
        if np.isfinite(low) and high > 0:
            axes.plot([low, high], [place, place], color=INK, lw=1.0, solid_capstyle="butt", zorder=3)
        far = max(share, high if np.isfinite(high) else 0.0)
        told = percent(float(rows.loc[name, "share"])).replace("less than ", "< ")
        axes.annotate(
            told, (far, place), (3, 0), textcoords="offset points", va="center", fontsize=SMALL, color=INK
        )  # fmt: skip
    axes.set_yticks(range(len(names)), labels)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_color(PALE)
    axes.grid(False, axis="y")
