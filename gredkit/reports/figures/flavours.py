"""Which variant is best? The scores of all variants, with every seed visible."""

import pandas as pd
from matplotlib.figure import Figure

from gredkit.registry import FIGURES
from gredkit.reports.drawing.dots import dot_handles, rows_height, score_dots, side_by_side
from gredkit.reports.drawing.heat_maps import why_no_map
from gredkit.reports.drawing.lines import PUBLISHED, References, reference_handles, reference_looks
from gredkit.reports.drawing.many import few_variants, noted
from gredkit.reports.drawing.panels import by, legend, no_scores, panels, wrapped
from gredkit.reports.drawing.style import ONE_COLUMN, looks, themed
from gredkit.reports.drawing.trials import axis_columns, compared, has_scores, k_column, scored
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.published import references_of
from gredkit.reports.study import StudyData


@FIGURES.register("flavours")
class Flavours(StudyFigure):
    """Test score of every variant, for studies that vary more than K."""

    title = "Test score of each variant"
    caption = (
        "One panel per dataset, the base on top: the marker is the mean over seeds, the bar one standard deviation, "
        "and each small dot one seed. Bars that overlap do not mean that there is no difference: what is decided is in "
        "the figure of differences."
    )
    order = 20

    def caption_of(self, study: StudyData) -> str:
        return f"{self.caption} {PUBLISHED}" if any(references_of(study.results).values()) else self.caption

    def draw(self, study: StudyData) -> Figure | None:
        return self._drawn(study, is_narrow=False)

    def draw_narrow(self, study: StudyData) -> Figure | None:
        return self._drawn(study, is_narrow=True)

    def _drawn(self, study: StudyData, is_narrow: bool) -> Figure | None:
        trials = compared(study.results)
        if not has_scores(trials) or axis_columns(trials) == [k_column(trials)]:
            return None
        few, said = few_variants(trials)
        return noted(flavours(few, references_of(study.results), is_narrow), f"{said} {why_no_map(trials)}".strip())


@themed
def flavours(results: pd.DataFrame, references: References | None = None, is_narrow: bool = False) -> Figure:
    """Test score of each variant, one panel per dataset: mean, standard deviation and single seeds; the base on top."""
    references = references or {}
    results = compared(results)
    if scored(results).empty:
        return no_scores(results)
    order = looks(results["variant"])
    datasets = by(results, "dataset")
    published = reference_looks(references, [name for name, _ in datasets])
    names, fates = list(order), len(scored(results)) < len(results)
    side = 1 if is_narrow else side_by_side(len(datasets), names, fates)
    figure, axes_of = panels(len(datasets), rows_height(names, fates), side)
    if is_narrow:
        figure.set_figwidth(ONE_COLUMN)
    for axes, (dataset, rows) in zip(axes_of, datasets, strict=True):
        axes.set_title(wrapped(dataset))
        for label, value in references.get(dataset, ()):
            axes.axvline(value, color=published[label][0], ls=published[label][1], lw=0.9, zorder=1.5, label=label)
        score_dots(axes, rows, results["variant"], order)
    several = bool(scored(results).duplicated(["dataset", "variant"]).any())
    legend(figure, [*dot_handles(several), *reference_handles(references, [name for name, _ in datasets])])
    return figure
