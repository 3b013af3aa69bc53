"""How far should a node look? The score against K."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gredkit.registry import FIGURES
from gredkit.reports.drawing.lines import (
    PUBLISHED,
    References,
    cross_lost,
    fit_scores,
    reference_handles,
    reference_looks,
    ring_best,
    score_handles,
    score_line,
)
from gredkit.reports.drawing.many import LINES, fewer, noted
from gredkit.reports.drawing.panels import by, head, in_columns, legend, message, name_scores, no_scores, panels
from gredkit.reports.drawing.spectra import Diameters
from gredkit.reports.drawing.style import INK, ONE_COLUMN, PALE, looks, themed
from gredkit.reports.drawing.trials import (
    DATASET,
    axis_columns,
    changes_together,
    compared,
    has_base,
    has_scores,
    k_column,
    last_hops,
    plain,
    score_name,
    scored,
    values,
    written,
)
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.published import references_of
from gredkit.reports.study import StudyData

SPECIAL = {None: ("diam.", "each graph's own diameter"), DATASET: (DATASET, "largest distance in training")}


@FIGURES.register("k_ablation")
class KAblation(StudyFigure):
    """Test score against K, for studies that vary it."""

    title = "Test score against K, the number of hops that a node looks"
    caption = (
        "One panel per dataset: small dots are seeds, the line joins their means, the band is one standard deviation. "
        "A peak between the ends says that looking farther stops helping; a line that rises to the diameter says that "
        "the task needs the whole graph. At 'diam.' each graph is read up to its own diameter (K = None, drawn at the "
        "median), at 'dataset' every graph up to the largest distance in the training split (K = 'dataset')."
    )
    order = 10

    def caption_of(self, study: StudyData) -> str:
        return f"{self.caption} {PUBLISHED}" if any(references_of(study.results).values()) else self.caption

    def draw(self, study: StudyData) -> Figure | None:
        return self._drawn(study, is_narrow=False)

    def draw_narrow(self, study: StudyData) -> Figure | None:
        return self._drawn(study, is_narrow=True)

    def _drawn(self, study: StudyData, is_narrow: bool) -> Figure | None:
        trials = compared(study.results)
        columns, column = axis_columns(trials), k_column(trials)
        if not has_scores(trials) or column is None or column not in columns:
            return None
        if has_base(trials) and trials.groupby("dataset")[column].nunique().max() < 3:
            return None  # one other K among other changes of a model is no curve
        if len(columns) == 2 and changes_together(trials, *columns):
            return None  # the score does not follow K alone
        trials = _along_k(trials, column)
        if not has_scores(trials):
            return None  # no two variants differ in K alone
        few, said = fewer(trials, lines_of(trials, column), "line", LINES)
        return noted(k_ablation(few, study.diameters, references_of(study.results), is_narrow), said)


@themed
def k_ablation(
    results: pd.DataFrame,
    diameters: Diameters | None = None,
    references: References | None = None,
    is_narrow: bool = False,
) -> Figure:
    """Test score against K, one panel per dataset; the values of other axes make lines of their own.

    `diameters`: median and largest diameter of the graphs of a dataset. K = None, each graph's own diameter, is drawn
    at the median, K = 'dataset' at the largest distance of the dataset; ticks and legend say which is drawn.
    `references`: published values of a dataset, with labels that name their budget.
    """
    diameters, references = diameters or {}, references or {}
    results = compared(results)
    column = k_column(results)
    if scored(results).empty:
        return no_scores(results)
    if column is None:
        return message("this study does not vary K")
    groups = lines_of(results, column)
    known = looks(groups)
    datasets = by(results, "dataset")
    published = reference_looks(references, [name for name, _ in datasets])
    figure, axes_of = panels(len(datasets), per_row=1 if is_narrow else None)
    if is_narrow:
        figure.set_figwidth(ONE_COLUMN)
    lost = marked = False
    for axes, (dataset, rows) in zip(axes_of, datasets, strict=True):
        if not head(axes, dataset, rows):
            continue
        diameter = diameters.get(dataset)
        x = _places(rows, column, diameter)
        _scale(axes, rows[column], x, diameter)  # comes first: marks that would touch are kept apart
        for name, look in known.items():
            some = rows[groups[rows.index] == name]
            score_line(axes, some, x, look, name)
        for label, value in references.get(dataset, ()):
            axes.axhline(value, color=published[label][0], ls=published[label][1], lw=0.9, zorder=1.5, label=label)
        crossed = cross_lost(axes, rows, x)
        fit_scores(axes, rows, crossed)
        ring_best(axes, rows, x)
        lost, marked = lost or crossed, marked or bool(diameter)
    name_scores(axes_of, [score_name(rows) for _, rows in datasets])
    lines = [
        Line2D([], [], color=look.colour, marker=look.marker, ls=look.line, mec="white", mew=0.5, label=name)
        for name, look in known.items()
        if len(known) > 1
    ]
    several = bool(scored(results).duplicated(["dataset", "variant"]).any())
    median = [Line2D([], [], color=INK, lw=0.8, ls=(0, (2, 2)), label="diameter: median to largest")] * marked
    drawn = [kind for kind in SPECIAL if kind in values(results[column])]
    special = [Line2D([], [], ls="", label=f"{SPECIAL[kind][0]}: {SPECIAL[kind][1]}") for kind in drawn]
    published_handles = reference_handles(references, [name for name, _ in datasets])
    legend(figure, [*lines, *score_handles(several, "best mean", lost), *median, *special, *published_handles])
    return figure


def lines_of(results: pd.DataFrame, column: str) -> pd.Series:
    """Which line a trial belongs to: the values of the axes other than K."""
    others = [name for name in axis_columns(results) if name != column]
    names = [", ".join(written(plain(value)) for value in row) for row in results[others].itertuples(index=False)]
    return pd.Series(names if others else "score", index=results.index, dtype=object)


def _along_k(results: pd.DataFrame, column: str) -> pd.DataFrame:
    """The trials of lines that vary K: an axis may apply to some variants only, or be one of several."""
    lines = lines_of(results, column)
    varied = results[column].map(plain).groupby([results["dataset"], lines]).transform("nunique", dropna=False) > 1
    return results[lines.isin(set(lines[varied]))]


def _places(rows: pd.DataFrame, column: str, diameter: tuple[float, float] | None) -> pd.Series:
    """The place of each K; a diameter that is not known is drawn right of the largest K."""
    numbers = last_hops(rows, column)
    largest = numbers.max() if numbers.notna().any() else 1.0
    unknown = max(largest + 1.0, largest * 1.25)
    own, of_dataset = (float(diameter[0]), float(diameter[1])) if diameter else (unknown, 2 * unknown - largest)
    return numbers.mask(numbers.isna() & (rows[column] == DATASET), of_dataset).fillna(own)


def _scale(axes: Axes, column: pd.Series, x: pd.Series, diameter: tuple[float, float] | None) -> None:
    """The axis of K, with ticks at the tried values; logarithmic if it reaches far."""
    ends = [*x, *([float(diameter[0])] if diameter else [])]
    low, high = min(ends), max(ends)
    if high > 16:
        axes.set_xscale("symlog", base=2, linthresh=1)
        axes.set_xlim(low / 1.25 if low > 0 else -0.25, high * 1.25)
    else:
        room = max(0.06 * (high - low), 0.25)
        axes.set_xlim(low - room, high + room)
    kinds = column.map(plain)
    labels = {place: written(plain(place)) for place in x[~kinds.isin([DATASET]) & kinds.notna()]}
    for kind, (name, _) in SPECIAL.items():
        for place in x[kinds == kind if kind else kinds.isna()].unique():
            labels[place] = f"{labels.get(place, '')}\n{name}"
    axes.set_xticks(list(labels), list(labels.values()))
    axes.minorticks_off()
    axes.grid(False, axis="x")
    if not diameter:
        axes.set_xlabel("K in hops")
        return
    axes.axvline(float(diameter[0]), color=INK, lw=0.8, ls=(0, (2, 2)), zorder=1.4)
    middle, largest = written(plain(diameter[0])), written(plain(diameter[1]))
    words = f"(diameter {middle}, max {largest})" if largest != middle else f"(diameter {middle})"
    axes.set_xlabel(f"K in hops{chr(10) if in_columns(axes) > 3 else ' '}{words}")
    if low < diameter[1] and diameter[1] > diameter[0]:
        axes.axvspan(float(diameter[0]), min(float(diameter[1]), axes.get_xlim()[1]), color=PALE, alpha=0.45, lw=0)
