from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gredkit.errors import UserError
from gredkit.imports import of_the_user
from gredkit.registry import FIGURES, REPORTS
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.study import StudyData

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@REPORTS.register("figures")
def figures(study: StudyData, folder: Path) -> list[Path]:
    """Every registered figure that has something to show of the study, as PNG and PDF."""
    from gredkit.reports.drawing.style import save  # matplotlib is loaded only where something is drawn

    return [
        path
        for name, kind, figure in drawn(study)
        for path in save(figure, folder, name, kind.title, kind.caption_of(study))
    ]


def drawn(study: StudyData) -> Iterator[tuple[str, StudyFigure, Figure]]:
    """Name, kind and figure, one after the other in their order."""
    kinds = {name: _made(name) for name in FIGURES}
    for name in sorted(kinds, key=lambda name: (kinds[name].order, name)):
        figure = _draw(name, kinds[name], study)
        if figure is not None:
            yield name, kinds[name], figure


def _made(name: str) -> StudyFigure:
    kind = FIGURES[name]
    if not isinstance(kind, type) or not issubclass(kind, StudyFigure):
        raise UserError(f"the figure {name!r} is not a class derived from {StudyFigure.__module__}.StudyFigure")
    with of_the_user(f"the figure {name!r} cannot be made"):
        return kind()


def _draw(name: str, kind: StudyFigure, study: StudyData) -> Figure | None:
    from matplotlib.figure import Figure

    if type(kind).__module__.startswith("gredkit."):
        return kind.draw(study)
    with of_the_user(f"the figure {name!r} cannot be drawn"):
        figure = kind.draw(study)
    if figure is not None and not isinstance(figure, Figure):
        raise UserError(
            f"the figure {name!r} returned a {type(figure).__name__}: let draw() return a matplotlib Figure, or None"
        )
    return figure
