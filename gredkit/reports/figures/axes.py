"""The axes of any study: one makes a line or points, two a heat map."""

import pandas as pd
from matplotlib.figure import Figure

from gredkit.registry import FIGURES
from gredkit.reports.drawing.dots import dot_handles, rows_height, score_dots, side_by_side
from gredkit.reports.drawing.heat_maps import heat_maps, why_no_map
from gredkit.reports.drawing.lines import cross_lost, fit_scores, ring_best, score_handles, score_line
from gredkit.reports.drawing.panels import by, head, legend, name_scores, no_scores, panels, wrapped
from gredkit.reports.drawing.style import looks, themed
from gredkit.reports.drawing.trials import (
    LAST,
    axis_columns,
    axis_name,
    changes_together,
    compared,
    has_base,
    has_scores,
    is_numeric,
    plain,
    score_name,
    scored,
    values,
    written,
)
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.study import StudyData

TIMES = " \N{MULTIPLICATION SIGN} "
SPREAD = 16  # if the largest number is more than this many times the smallest, the axis is logarithmic


@FIGURES.register("axes")
class TwoAxes(StudyFigure):
    """Test score along the two axes of a study: a heat map, or a line if they change together."""

    title = "Test score along the axes of the study"
    caption = (
        "In a heat map each cell is the mean over seeds of one combination. A line follows axes that change together; "
        "its marks are means over seeds. Look for the direction in which the score changes most."
    )
    order = 30

    def draw(self, study: StudyData) -> Figure | None:
        trials = compared(study.results)
        if not has_scores(trials) or len(axis_columns(trials)) != 2 or why_no_map(trials) or has_base(trials):
            return None
        return axes(study.results)


@themed
def axes(results: pd.DataFrame) -> Figure:
    """Test score along the axes of a study, one panel per dataset.

    One axis of numbers, or two that change together: a line. One axis of names: points. Two axes that are crossed: a
    heat map. More axes: points, one row per variant.
    """
    results = compared(results)
    if scored(results).empty:
        return no_scores(results)
    columns = axis_columns(results)
    if len(columns) == 1 and is_numeric(results[columns[0]]):
        return _lines(results, _scale(results[columns[0]]), axis_name(columns[0]))
    if len(columns) == 2 and not changes_together(results, *columns):
        return heat_maps(results, *columns)
    if len(columns) == 2 and _names(results, columns).str.len().max() <= 8:
        return _lines(results, _steps(_names(results, columns)), TIMES.join(map(axis_name, columns)))
    return _dots(results, _names(results, columns) if len(columns) == 1 else results["variant"].astype(str))


def _names(results: pd.DataFrame, columns: list[str]) -> pd.Series:
    """The values along the axes, as one text each."""
    texts = [TIMES.join(written(plain(value)) for value in row) for row in results[columns].itertuples(index=False)]
    return pd.Series(texts, index=results.index, dtype=object)


def _scale(column: pd.Series) -> tuple[pd.Series, dict[float, str]]:
    """The place of each number, and the ticks; None and `NOT_SET` are drawn right of the largest."""
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    known = [float(value) for value in values(column) if value not in LAST]  # type: ignore[arg-type]
    far = known[-1] + (known[-1] - known[-2] if len(known) > 1 else 1.0)
    if _logarithmic(known):
        far = known[-1] ** 2 / known[-2]
    ticks = {value: written(plain(value)) for value in known}
    others = " or ".join(str(value) for value in values(column) if value in LAST)
    return numbers.fillna(far), ticks | ({far: others} if others else {})


def _logarithmic(numbers: list[float]) -> bool:
    """Whether a logarithmic axis suits the numbers better."""
    return min(numbers) > 0 and max(numbers) / min(numbers) > SPREAD


def _steps(names: pd.Series) -> tuple[pd.Series, dict[float, str]]:
    """Names one after the other, in order of first appearance."""
    ticks = {float(place): str(name) for place, name in enumerate(dict.fromkeys(names))}
    place = {name: x for x, name in ticks.items()}
    return names.map(place).astype(float), ticks


def _lines(results: pd.DataFrame, scale: tuple[pd.Series, dict[float, str]], name: str) -> Figure:
    """One line per dataset, with a ring around the best mean."""
    x, ticks = scale
    datasets = by(results, "dataset")
    figure, panel_of = panels(len(datasets))
    lost = False
    for panel, (dataset, rows) in zip(panel_of, datasets, strict=True):
        if not head(panel, dataset, rows):
            continue
        if _logarithmic(list(ticks)):
            panel.set_xscale("log")
            panel.minorticks_off()
        score_line(panel, rows, x, looks([name])[name], name)
        panel.set_xlim(panel.get_xlim())
        crossed = cross_lost(panel, rows, x)
        fit_scores(panel, rows, crossed)
        ring_best(panel, rows, x)
        lost = lost or crossed
        here = sorted(set(x[rows.index]))
        panel.set_xticks(here, [ticks[place] for place in here])
        panel.grid(False, axis="x")
        panel.set_xlabel(name)
    name_scores(panel_of, [score_name(rows) for _, rows in datasets])
    several = bool(scored(results).duplicated(["dataset", "variant"]).any())
    legend(figure, score_handles(several, "best mean", lost))
    return figure


def _dots(results: pd.DataFrame, names: pd.Series) -> Figure:
    """One row per name, with every seed visible."""
    order = looks(names)
    datasets = by(results, "dataset")
    known, fates = list(order), len(scored(results)) < len(results)
    figure, panel_of = panels(len(datasets), rows_height(known, fates), side_by_side(len(datasets), known, fates))
    for panel, (dataset, rows) in zip(panel_of, datasets, strict=True):
        panel.set_title(wrapped(dataset))
        score_dots(panel, rows, names, order)
    legend(figure, dot_handles(bool(scored(results).duplicated(["dataset", "variant"]).any())))
    return figure
