"""All pairs of variants: which ones differ, and by how much?"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from gredkit.config.study import ALL
from gredkit.registry import FIGURES
from gredkit.reports.drawing.many import few_variants, noted
from gredkit.reports.drawing.panels import by, legend, message, no_scores, panels, say, wrapped
from gredkit.reports.drawing.style import COLOURS, INK, PALE, QUIET, SMALL, themed
from gredkit.reports.drawing.trials import compared, has_scores, score_name, scored
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.numbers import significant
from gredkit.reports.ranking import letters
from gredkit.reports.statistics import all_pairs
from gredkit.reports.study import StudyData
from gredkit.reports.verdicts import Verdict

BETTER, WORSE = COLOURS[0], COLOURS[1]
ROOM = 40  # letters of numbers that a row has room for
LIGHT = 0.3  # opacity of a cell, on which its number is read


@FIGURES.register("pairs")
class Pairs(StudyFigure):
    """Every pair of variants, for studies that ask for it with `study.compare = 'all'`."""

    title = "All pairs"
    caption = (
        "One panel per dataset, the best mean on top. A cell is the gain of the row's variant over the column's, so "
        "positive is better, also where a smaller score is better. Coloured: they differ, after Holm's correction for "
        "all pairs of all panels; grey: they are equivalent; white: open. Variants that share a letter are not shown "
        "to differ."
    )
    order = 16

    def draw(self, study: StudyData) -> Figure | None:
        asked = "compare" in study.results and (study.results["compare"] == ALL).any()
        if not asked or not has_scores(study.results):
            return None
        few, said = few_variants(study.results)
        return noted(pairs(few, all_pairs(study.results)), said)


@themed
def pairs(results: pd.DataFrame, found: pd.DataFrame | None = None) -> Figure:
    """One matrix per dataset; `found` are the comparisons of the whole study, if the results are a part of it."""
    results = compared(results)
    if scored(results).empty:
        return no_scores(results)
    found = all_pairs(results) if found is None else found
    datasets = by(results, "dataset")
    most = max(rows["variant"].nunique() for _, rows in datasets)
    if most < 2:
        return message("no other variant to compare with yet")
    figure, axes_of = panels(len(datasets), 0.55 + 0.2 * most, 1 if len(datasets) == 1 else 2)
    for axes, (dataset, rows) in zip(axes_of, datasets, strict=True):
        axes.set_title(wrapped(f"{dataset}, {score_name(rows)}", 40, 2))
        means = scored(rows).groupby("variant", sort=False)["test"].mean()
        names = list(means.sort_values(ascending=not rows["larger_is_better"].iloc[0], kind="stable").index)
        _matrix(axes, names, found[found["dataset"] == dataset])
    kinds = [("better", BETTER, LIGHT), ("worse", WORSE, LIGHT), ("equivalent", QUIET, LIGHT), ("open", "white", 1.0)]
    legend(figure, [Patch(fc=colour, alpha=alpha, ec=QUIET, lw=0.5, label=label) for label, colour, alpha in kinds])
    return figure


def _matrix(axes: Axes, names: list[str], found: pd.DataFrame) -> None:
    if len(names) < 2:
        say(axes, "no pair with scores yet")
        return
    known = {(row.variant, row.base): (row.difference, row.verdict) for row in found.itertuples()}
    known |= {(base, variant): (-gain, verdict) for (variant, base), (gain, verdict) in known.items()}
    differ = [pair for pair, (_, verdict) in known.items() if verdict == Verdict.DIFFERENT and set(pair) <= set(names)]
    sign = letters(names, differ)
    texts = {pair: f"{'+' if gain > 0 else ''}{significant(gain, 2)}" for pair, (gain, _) in known.items()}
    is_written = max(map(len, texts.values()), default=0) * len(names) <= ROOM
    for down, one in enumerate(names):
        for across, other in enumerate(names):
            gain, verdict = known.get((one, other), (np.nan, Verdict.UNTESTED))
            colour = {Verdict.DIFFERENT: BETTER if gain > 0 else WORSE, Verdict.EQUIVALENT: QUIET}.get(verdict)
            box = {"fc": colour, "alpha": LIGHT} if colour else {"fc": "white"}
            box |= {"hatch": "////", "ec": PALE} if one == other else {}
            axes.add_patch(Rectangle((across - 0.5, down - 0.5), 1, 1, lw=0, **box))
            if is_written and np.isfinite(gain):
                text = texts[one, other]
                axes.text(across, down, text, ha="center", va="center", fontsize=SMALL - 1.5, color=INK)
    labels = [f"{wrapped(name, 20, 1)} ({sign[name]})  {nth}" for nth, name in enumerate(names, 1)]
    axes.set_yticks(range(len(names)), labels)
    axes.set_xticks(range(len(names)), [str(nth) for nth in range(1, len(names) + 1)])
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.grid(False)
    for edge in np.arange(0.5, len(names) - 1):
        axes.axhline(edge, color=PALE, lw=0.5)
        axes.axvline(edge, color=PALE, lw=0.5)
