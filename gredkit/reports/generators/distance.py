from pathlib import Path

from gredkit.registry import REPORTS
from gredkit.reports.by_hop import influence_by_hop, knock_out_by_hop
from gredkit.reports.cells import csv_text
from gredkit.reports.study import StudyData


@REPORTS.register("distance")
def distance(study: StudyData, folder: Path) -> list[Path]:
    """distance.csv: influence by hop and range; knock_out.csv: the score with a hop hidden; none without models."""
    frames = {}
    if not study.influence.empty:
        frames["distance.csv"] = influence_by_hop(study.influence)
    if not study.knock_out.empty:
        frames["knock_out.csv"] = knock_out_by_hop(study.knock_out)
    for name, frame in frames.items():
        (folder / name).write_text(csv_text(frame), encoding="utf-8")
    return [folder / name for name in frames]
