from pathlib import Path

from gredkit.registry import REPORTS
from gredkit.reports.kept import keep
from gredkit.reports.study import StudyData


@REPORTS.register("parquet")
def parquet(study: StudyData, folder: Path) -> list[Path]:
    """results.parquet: one row per trial with all its settings; curves.parquet: one row per epoch; further frames and
    study.json, from which `report --from` writes the report again."""
    return keep(study, folder)
