from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gredkit.errors import UserError
from gredkit.imports import of_the_user
from gredkit.registry import FIGURES, REPORTS
from gredkit.reports.again import is_server, run_address
from gredkit.reports.figures.base import NARROW, StudyFigure
from gredkit.reports.parts import titled, with_parts
from gredkit.reports.study import StudyData

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@REPORTS.register("figures")
def figures(study: StudyData, folder: Path) -> list[Path]:
    """Every registered figure that has something to show of the study, as PNG and PDF."""
    shown = titled(study)
    return [path for name, kind, figure in drawn(shown) for path in files_of(shown, figure, folder, name, kind)]


def files_of(study: StudyData, figure: Figure, folder: Path, name: str, kind: StudyFigure) -> tuple[Path, Path]:
    """PNG and PDF of a figure. Beside them, for the page alone, its SVG, with links to runs if they are on a server."""
    from gredkit.reports.drawing.inline import inline_svg  # matplotlib is loaded only where something is drawn
    from gredkit.reports.drawing.style import save

    def address(run: str) -> str:
        return run_address(study, run) if is_server(study) else ""

    files = save(figure, folder, name, with_parts(kind.title, study.results), kind.caption_of(study), kind.place)
    for drawing, kind_of_screen in ((figure, ""), (_draw(name, kind.draw_narrow, study), NARROW)):
        file = f"{name}{kind_of_screen}"
        if drawing is not None and (svg := inline_svg(drawing, file.replace(".", "-"), address)):
            (folder / f"{file}.svg").write_text(svg, encoding="utf-8")
    return files


def drawn(study: StudyData) -> Iterator[tuple[str, StudyFigure, Figure]]:
    """Name, kind and figure, one after the other in their order."""
    kinds = {name: _made(name) for name in FIGURES}
    for name in sorted(kinds, key=lambda name: (kinds[name].order, name)):
        figure = _draw(name, kinds[name].draw, study)
        if figure is not None:
            yield name, kinds[name], figure


def _made(name: str) -> StudyFigure:
    kind = FIGURES[name]
    if not isinstance(kind, type) or not issubclass(kind, StudyFigure):
        raise UserError(f"the figure {name!r} is not a class derived from {StudyFigure.__module__}.StudyFigure")
    with of_the_user(f"the figure {name!r} cannot be made"):
        return kind()


def _draw(name: str, draw: Callable[[StudyData], Figure | None], study: StudyData) -> Figure | None:
    from matplotlib.figure import Figure

    if draw.__module__.startswith("gredkit."):
        return draw(study)
    with of_the_user(f"the figure {name!r} cannot be drawn"):
        figure = draw(study)
    if figure is not None and not isinstance(figure, Figure):
        raise UserError(
            f"the figure {name!r} returned a {type(figure).__name__}: let draw() return a matplotlib Figure, or None"
        )
    return figure
