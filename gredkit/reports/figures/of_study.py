"""Which figures a study deserves."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from gredkit.reports.drawing.heat_maps import too_many
from gredkit.reports.drawing.lines import References
from gredkit.reports.drawing.many import LINES, fewer, noted
from gredkit.reports.drawing.trials import axis_columns, compared, k_column, scored
from gredkit.reports.figures.axes import axes, changes_together
from gredkit.reports.figures.cost import cost
from gredkit.reports.figures.eigenvalues import eigenvalues as eigenvalue_planes
from gredkit.reports.figures.flavours import flavours
from gredkit.reports.figures.hop_filter import hop_filter
from gredkit.reports.figures.k_ablation import Diameters, k_ablation, lines_of
from gredkit.reports.figures.learning_curves import learning_curves


def figures_of_study(
    results: pd.DataFrame,
    curves: pd.DataFrame,
    eigenvalues: pd.DataFrame,
    hop_weights: pd.DataFrame,
    diameters: Diameters | None = None,
    references: References | None = None,
) -> Iterator[tuple[str, Figure]]:
    """Name and figure, one after the other: first those of the question that the study asks."""
    compare = compared(results)
    columns, k = axis_columns(compare), k_column(compare)
    if scored(compare).empty:
        yield "scores", flavours(results)  # says so
        return
    few, said = fewer(compare, compare["variant"], "variant")
    together = len(columns) == 2 and changes_together(compare, *columns)
    if k in columns and not together:
        some, said_of_lines = fewer(compare, lines_of(compare, k), "line", LINES)
        yield "k_ablation", noted(k_ablation(some, diameters, references), said_of_lines)
    if columns != [k]:
        no_map = too_many(compare, *columns) if len(columns) == 2 and not together else ""
        yield "flavours", noted(flavours(few, references), f"{said} {no_map}".strip())
        if len(columns) == 2 and not no_map:
            yield "axes", axes(results)
    if len(eigenvalues):
        yield "eigenvalues", eigenvalue_planes(results, eigenvalues, diameters)
    if len(eigenvalues) or len(hop_weights):
        yield "hop_filter", hop_filter(results, hop_weights, eigenvalues, diameters)
    if len(curves):
        yield "learning_curves", noted(learning_curves(few, curves[curves["id"].isin(few["id"])]), said)
    yield "cost", noted(cost(few), said)
