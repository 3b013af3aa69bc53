"""What is better than the base, and how sure is that? The difference of each variant, with its interval."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from gredkit.registry import FIGURES
from gredkit.reports.claims import missing, now, often, replicates
from gredkit.reports.drawing.dots import WIDTH, fate, in_its_row, rows_height, side_by_side
from gredkit.reports.drawing.many import few_variants, noted
from gredkit.reports.drawing.marks import Mark, tell
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
from gredkit.reports.drawing.style import COLOURS, INK, ONE_COLUMN, PALE, QUIET, themed
from gredkit.reports.drawing.trials import compared, has_base, has_scores, score_name, scored
from gredkit.reports.figures.base import ANSWER, StudyFigure
from gredkit.reports.numbers import significant
from gredkit.reports.statistics import comparisons
from gredkit.reports.study import StudyData
from gredkit.reports.verdicts import Verdict

BETTER, WORSE, SAME = COLOURS[0], COLOURS[1], COLOURS[2]
LETTERS = {1: 40, 2: 36, 3: 30}  # of a label, by the number of panels side by side
ROOM = 1.12  # times the farthest mark
FARTHEST = 8.0  # an interval is cut where it reaches this many times as far as all differences
HUGE, NEAR = 20, 3  # a panel with a difference of more than 20 margins is linear within 3 of them, logarithmic beyond
BENT_ROOM, APART = 1.4, 5.0  # factors: of the farthest mark, and between two numbers of such an axis
MINUS = "\N{MINUS SIGN}"


@FIGURES.register("differences")
class Differences(StudyFigure):
    """Difference of each variant from the base, with its interval and the zone in which it does not matter."""

    title = "Difference of each variant from the base"
    caption = (
        "Right of the line is better than the base, also where a smaller score is better. Bars are 95 % intervals, "
        "which hold for all rows of all panels at once; in the grey zone a difference does not matter. Filled marks "
        "are decided: different (the bar excludes 0) or equivalent (the thick bar, a 90 % interval, lies in the zone). "
        "Hollow marks are not. Where a difference is far larger than the zone, the axis is linear near 0 and "
        "logarithmic beyond, as its label says."
    )
    section = ANSWER
    order = 5

    def draw(self, study: StudyData) -> Figure | None:
        return self._drawn(study, is_narrow=False)

    def draw_narrow(self, study: StudyData) -> Figure | None:
        return self._drawn(study, is_narrow=True)

    def _drawn(self, study: StudyData, is_narrow: bool) -> Figure | None:
        trials = compared(study.results)
        if not has_scores(trials) or trials["variant"].nunique() < 2:
            return None
        few, said = few_variants(trials)
        return noted(differences(few, comparisons(study.results), is_narrow), said)


@themed
def differences(results: pd.DataFrame, found: pd.DataFrame | None = None, is_narrow: bool = False) -> Figure:
    """Mean difference and interval of each variant from the base, one panel per dataset.

    Changes of a full model are sorted by their effect, other variants stand in the order of the study.
    found: the comparisons, if these trials are not all
    """
    results = compared(results)
    if scored(results).empty:
        return no_scores(results)
    found = comparisons(results) if found is None else found[found["variant"].isin(results["variant"].unique())]
    if found.empty:
        return message("no other variant to compare with yet")
    names = _by_effect(found) if has_base(results) else list(found["variant"].astype(str).unique())
    datasets = by(results, "dataset")
    fates = len(scored(results)) < len(results)
    side = 1 if is_narrow else side_by_side(len(datasets), names, fates)
    figure, axes_of = panels(len(datasets), rows_height(names, fates) + 0.12, side)
    if is_narrow:
        figure.set_figwidth(ONE_COLUMN)
    gains = []
    for axes, (dataset, rows) in zip(axes_of, datasets, strict=True):
        axes.set_title(wrapped(dataset))
        here = found[found["dataset"] == dataset]
        _panel(axes, rows, here.set_index("variant"), names)
        gains.append((score_name(rows)[:-2], str(here["base"].iloc[0] if len(here) else results["variant"].iloc[0])))
    for axes, label in zip(axes_of, _labels(gains, LETTERS.get(in_columns(axes_of[0]), 16)), strict=True):
        axes.set_xlabel(label + _about_scale(axes))
    legend(figure, _handles(found))
    return figure


def _labels(gains: list[tuple[str, str]], letters: int) -> list[str]:
    """What the horizontal axes show: all in one line, or all with the base in lines of its own."""
    names = [f"{score}: gain over {base}" for score, base in gains]
    if max(map(len, names)) <= letters:
        return names
    return [f"{score}:\n{wrapped(f'gain over {base}', letters, 2)}" for score, base in gains]


def _about_scale(axes: Axes) -> str:
    """Where an axis is not linear."""
    if axes.get_xscale() != "symlog":
        return ""
    near = min(abs(tick) for tick in axes.get_xticks() if tick)
    return f"\n(logarithmic beyond ±{near:g})"


def _by_effect(found: pd.DataFrame) -> list[str]:
    """The variants, from the one that loses most to the one that gains most; without a score first."""
    largest = found.groupby("dataset")["difference"].transform(lambda values: values.abs().max())
    effects = (found["difference"] / largest.where(largest > 0, 1.0)).groupby(found["variant"], sort=False).mean()
    return [str(name) for name in effects.sort_values(kind="stable", na_position="first").index]


def _panel(axes: Axes, rows: pd.DataFrame, found: pd.DataFrame, names: list[str]) -> None:
    labels = all_wrapped(names, WIDTH, 2) if first_in_row(axes) else [""] * len(names)
    reach = _limits(axes, found)
    margin = found["margin"].astype(float).max()
    if np.isfinite(margin):
        axes.axvspan(-margin, margin, color=PALE, alpha=0.75, lw=0, zorder=0.5)
    axes.axvline(0, color=INK, lw=0.8, zorder=1.5)
    for place, name in enumerate(names):
        some = rows[rows["variant"] == name]
        if name not in found.index or pd.isna(found.loc[name, "difference"]):
            in_its_row(axes, place, fate(some))
            continue
        labels[place] = "\n".join(filter(None, [labels[place], fate(some)]))
        _row(axes, place, found.loc[name].to_dict() | {"variant": name, "dataset": rows["dataset"].iloc[0]}, reach)
    axes.set_yticks(range(len(names)), labels)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="y", color=PALE)
    axes.grid(False, axis="x")
    if found["difference"].isna().all():
        axes.set_xticks([])
        axes.text(0.5, 0.5, NOTHING, transform=axes.transAxes, ha="center", va="center", color=QUIET)


def _row(axes: Axes, place: int, row: dict[str, Any], reach: tuple[float, float]) -> None:
    """One comparison: interval, equivalence interval if that decided, and the mean."""
    colour, is_filled = _colour(row["verdict"], row["difference"])
    if np.isfinite(row["low"]):
        low, high = np.clip([row["low"], row["high"]], *reach)
        axes.plot([low, high], [place, place], color=colour, lw=1.3, solid_capstyle="butt", zorder=2)
        for end, cut, sign in ((row["low"], low, "<"), (row["high"], high, ">")):
            if end != cut:  # the interval goes on
                axes.plot([cut], [place], ls="", marker=sign, ms=3.5, color=colour, mew=0, zorder=2)
    if row["verdict"] == Verdict.EQUIVALENT:
        ends = [row["equivalence_low"], row["equivalence_high"]]
        axes.plot(ends, [place, place], color=colour, lw=2.8, solid_capstyle="butt", zorder=2.1)
    (mark,) = axes.plot(
        [row["difference"]], [place], ls="", marker="o", ms=5, color=colour, mfc=colour if is_filled else "white",
        mew=1.1, zorder=3,
    )  # fmt: skip
    tell(mark, [Mark(_words(row))])


def _colour(verdict: str, difference: float) -> tuple[str, bool]:
    """The colour of a comparison, and whether its mark is filled."""
    if verdict == Verdict.DIFFERENT:
        return (BETTER if difference > 0 else WORSE), True
    return (SAME, True) if verdict == Verdict.EQUIVALENT else (QUIET, False)


def _words(row: dict[str, Any]) -> str:
    """What the page shows beside the pointer."""
    lines = [f"{row['variant']} against {row['base']}", f"{row['dataset']}, {replicates(row)}"]
    difference = f"{'+' if row['difference'] > 0 else ''}{significant(row['difference'])}"
    if np.isfinite(row["low"]):
        difference += f" (95 % interval {significant(row['low'])} to {significant(row['high'])})"
    more = f": {missing(row)}" if row["verdict"] == Verdict.OPEN and not row["flattered"] else ""
    return "\n".join([*lines, difference, *filter(None, [now(row), often(row)]), f"{row['verdict']}{more}"])


def _limits(axes: Axes, found: pd.DataFrame) -> tuple[float, float]:
    """The limits of a panel, which are returned: far enough for intervals, as long as differences can be seen."""
    far = float(np.nanmax([found["difference"].abs().max(), found["margin"].astype(float).max(), 1e-9]))
    ends = found[["difference", "low", "high"]].astype(float).fillna(0.0).to_numpy()
    margin = found["margin"].astype(float).fillna(0.0).max() if len(found) else 0.0
    low = max(min(ends.min(initial=0.0), -margin), -FARTHEST * far)
    high = min(max(ends.max(initial=0.0), margin), FARTHEST * far)
    if found["difference"].abs().max() > HUGE * margin > 0:
        _bend(axes, low, high, float(f"{NEAR * margin:.0e}"))
        return low, high
    axes.set_xlim(low * ROOM - 1e-9, high * ROOM + 1e-9)
    axes.locator_params(axis="x", nbins=5 if in_columns(axes) < 3 else 4)
    return low, high


def _bend(axes: Axes, low: float, high: float, near: float) -> None:
    """Make an axis linear within `near` and logarithmic beyond, so that huge differences leave room for small ones."""
    axes.set_xscale("symlog", linthresh=near)
    ends = [end * (BENT_ROOM if abs(end) > near else ROOM) for end in (low, high)]
    axes.set_xlim(*ends)
    numbers = [0.0, *(sign * near for sign in (-1, 1) if ends[0] <= sign * near <= ends[1])]
    numbers += [sign * tick for sign, end in ((-1, -ends[0]), (1, ends[1])) for tick in _decades(end, APART * near)]
    axes.xaxis.set_major_locator(FixedLocator(sorted(numbers)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:g}".replace("-", MINUS)))


def _decades(far: float, near: float) -> list[float]:
    """The largest round number up to `far`, and those that are 10, 100, … times smaller, as long as they are beyond
    `near`: numbers that are closer have no room.
    """
    if far < near:
        return []
    power = 10.0 ** np.floor(np.log10(far))
    largest = max(first * power for first in (1, 2, 5) if first * power <= far)
    return [tick for tick in largest / 10.0 ** np.arange(9) if tick >= near]


def _handles(found: pd.DataFrame) -> list[Artist]:
    """What a legend shows of the marks that are there."""
    kinds: dict[tuple[str, bool], str] = {}
    for verdict, difference in zip(found["verdict"], found["difference"], strict=True):
        if pd.notna(difference):
            side = "better than the base" if difference > 0 else "worse than the base"
            word = {Verdict.DIFFERENT: side, Verdict.EQUIVALENT: "equivalent"}.get(verdict, "not decided")
            kinds.setdefault(_colour(verdict, difference), word)
    handles: list[Artist] = [
        Line2D([], [], color=colour, marker="o", ms=5, mfc=colour if filled else "white", mew=1.1, lw=1.3, label=label)
        for (colour, filled), label in kinds.items()
    ]
    if found["margin"].notna().any():
        handles.append(Patch(color=PALE, lw=0, label="margin of equivalence"))
    return handles
