"""The figures of the real studies side by side: flavours, K and what the models use, eigenvalues."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from gredkit.registry import FIGURES
from gredkit.reports.generators.figures import files_of
from gredkit.reports.kept import FRAMES
from gredkit.reports.paper_claims.evidence import Studies
from gredkit.reports.parts import titled
from gredkit.reports.study import StudyData

FLAVOURS, HOPS = "real_flavors_", "real_k_"  # what the names of the studies begin with
SHOWN = (  # the name of a file, the figure, and the studies that it shows
    ("flavours", "flavours", FLAVOURS),
    ("eigenvalues", "eigenvalues", FLAVOURS),
    ("k", "k_ablation", HOPS),
    ("k_distance", "distance", HOPS),
    ("k_knock_out", "knock_out", HOPS),
)


def figures(studies: Studies, folder: Path) -> Iterator[Path]:
    """PNG and PDF of each figure that has something to show."""
    for file, name, beginning in SHOWN:
        some = [study for study_name, study in studies.items() if study_name.startswith(beginning)]
        if not some:
            continue
        shown, kind = titled(together(some)), FIGURES[name]()
        figure = kind.draw(shown)
        if figure is not None:
            yield from files_of(shown, figure, folder, file, kind)


def together(studies: list[StudyData]) -> StudyData:
    """The trials of several studies of different datasets, as one study."""
    frames = {name: [frame for study in studies if len(frame := getattr(study, name))] for name in FRAMES}
    joined = {name: pd.concat(some, ignore_index=True) for name, some in frames.items() if some}
    diameters = {dataset: pair for study in studies for dataset, pair in study.diameters.items()}
    return replace(StudyData("paper"), **joined, diameters=diameters)
