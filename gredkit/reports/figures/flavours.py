"""Which variant is best? Scores of all variants, every seed visible."""

import pandas as pd
from matplotlib.figure import Figure

from gredkit.reports.drawing.dots import dot_handles, rows_height, score_dots, side_by_side
from gredkit.reports.drawing.lines import References, reference_handles, reference_looks
from gredkit.reports.drawing.panels import by, legend, no_scores, panels, wrapped
from gredkit.reports.drawing.style import looks, themed
from gredkit.reports.drawing.trials import compared, scored


@themed
def flavours(results: pd.DataFrame, references: References | None = None) -> Figure:
    """Test score of each variant, a panel a dataset: mean, standard deviation and single seeds; the base on top."""
    references = references or {}
    results = compared(results)
    if scored(results).empty:
        return no_scores(results)
    order = looks(results["variant"])
    datasets = by(results, "dataset")
    published = reference_looks(references, [name for name, _ in datasets])
    names, fates = list(order), len(scored(results)) < len(results)
    figure, axes_of = panels(len(datasets), rows_height(names, fates), side_by_side(len(datasets), names, fates))
    for axes, (dataset, rows) in zip(axes_of, datasets, strict=True):
        axes.set_title(wrapped(dataset))
        for label, value in references.get(dataset, ()):
            axes.axvline(value, color=published[label][0], ls=published[label][1], lw=0.9, zorder=1.5, label=label)
        score_dots(axes, rows, results["variant"], order)
    several = bool(scored(results).duplicated(["dataset", "variant"]).any())
    legend(figure, [*dot_handles(several), *reference_handles(references, [name for name, _ in datasets])])
    return figure
