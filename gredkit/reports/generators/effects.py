from pathlib import Path

from gredkit.registry import REPORTS
from gredkit.reports.ablation_path import ablation_path
from gredkit.reports.cells import csv_text
from gredkit.reports.effects import effects
from gredkit.reports.study import StudyData


@REPORTS.register("effects")
def effects_and_path(study: StudyData, folder: Path) -> list[Path]:
    """effects.csv: each factor's share of the variance; path.csv: from the base to the best variant, step by step.

    Only for studies that cross factors.
    """
    files = []
    for name, frame in (("effects.csv", effects(study.results)), ("path.csv", ablation_path(study.results))):
        if len(frame):
            files.append(folder / name)
            files[-1].write_text(csv_text(frame), encoding="utf-8")
    return files
