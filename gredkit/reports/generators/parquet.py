from pathlib import Path

import pandas as pd

from gredkit.registry import REPORTS
from gredkit.reports.study import AXIS, NOT_SET, StudyData


@REPORTS.register("parquet")
def parquet(study: StudyData, folder: Path) -> list[Path]:
    """results.parquet: one row per trial with all its settings; curves.parquet: one row per epoch."""
    results = study.results.copy()
    for name in results.columns[results.columns.str.startswith(AXIS)]:
        results[name] = _of_one_type(results[name])
    frames = {"results.parquet": results, "curves.parquet": study.curves}
    for name, frame in frames.items():
        frame.to_parquet(folder / name, index=False)
    return [folder / name for name in frames]


def _of_one_type(column: pd.Series) -> pd.Series:
    """Numbers stay numbers; values of several types become text, because a Parquet column has one type."""
    column = column.mask(column == NOT_SET, None).infer_objects()
    return column if column.dtype != object else column.map(lambda value: None if value is None else str(value))
