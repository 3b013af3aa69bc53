from pathlib import Path

import pandas as pd

from gredkit.registry import REPORTS
from gredkit.reports.numbers import several
from gredkit.reports.published import reference
from gredkit.reports.statistics import TASK
from gredkit.reports.study import StudyData


@REPORTS.register("figures")
def figures(study: StudyData, folder: Path) -> list[Path]:
    """Those that answer the study's question, as PNG and PDF."""
    from gredkit.reports.drawing.style import save
    from gredkit.reports.figures.of_study import figures_of_study  # matplotlib is loaded by those who draw

    published = references(study.results)
    recorded = study.curves, study.eigenvalues, study.hop_weights
    chosen = figures_of_study(study.results, *recorded, study.diameters, published)
    return [path for name, figure in chosen for path in save(figure, folder, name)]


def references(results: pd.DataFrame) -> dict[str, list[tuple[str, float]]]:
    """The paper's value on each dataset that has one, with a label that names both budgets."""
    found = {}
    for (dataset, metric), rows in results.groupby(TASK, sort=False):
        if known := reference(dataset, metric):
            here = several(int(rows["epochs"].max()), "epoch")
            found[dataset] = [(f"paper, {known.budget} (here {here})", known.mean)]
    return found
