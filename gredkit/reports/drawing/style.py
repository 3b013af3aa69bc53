"""The one look of all figures: sizes, fonts, colours, and how they are written to files."""

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec
from weakref import WeakSet

import matplotlib
import seaborn as sns
from matplotlib.figure import Figure

from gredkit.reports.figures.base import SECTION
from gredkit.system.writing import write_figure

P = ParamSpec("P")

ONE_COLUMN, TWO_COLUMNS = 3.3, 6.9  # inches, of a two-column paper
INK, QUIET, PALE = "#27272a", "#71717a", "#e4e4e7"
SMALL = 6.5  # points, for what stands beside the marks

# Colours that colour-blind readers tell apart, the strongest first; markers and lines differ too.
COLOURS = tuple(sns.color_palette("colorblind").as_hex()[i] for i in (0, 3, 2, 4, 1, 9, 5, 7))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)), (0, (3, 1, 1, 1, 1, 1)))

THEME: Any = {
    **sns.axes_style("ticks"),
    **sns.plotting_context("paper"),
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters on every machine
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.titlepad": 4,
    "axes.labelsize": 7.5,
    "axes.labelpad": 2.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": PALE,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.pad": 2,
    "ytick.major.pad": 2,
    "patch.linewidth": 0.6,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    "figure.constrained_layout.w_pad": 0.03,
    "figure.constrained_layout.h_pad": 0.03,
    "pdf.fonttype": 42,  # text stays text
    "text.parse_math": False,  # a name with two $ is a name
}

_THEMED: WeakSet[Figure] = WeakSet()


class Look(NamedTuple):
    """How one variant appears in every figure."""

    colour: str
    marker: str
    line: Any

    def size(self, points: float) -> float:
        """The size of the marker in points: slender ones are larger, so that all weigh the same."""
        return points * {"*": 1.7, "P": 1.3, "X": 1.3}.get(self.marker, 1.0)


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name, by its place; no two of the first forty are alike."""
    return {
        name: Look(COLOURS[i % 8], MARKERS[(i + i // 8) % 8], LINES[(i + i // 8) % 5])
        for i, name in enumerate(dict.fromkeys(names))
    }


def themed(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """The function, drawing in this look no matter how the user has set up matplotlib."""

    @wraps(draw)
    def within(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with matplotlib.rc_context(THEME):
            figure = draw(*args, **kwargs)
        _THEMED.add(figure)
        return figure

    return within


def is_themed(figure: Figure) -> bool:
    """Whether a figure was drawn in this look, so that a page may exchange its colours in the dark."""
    return figure in _THEMED


def save_for_screen(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG (200 dpi); the same figure always gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.svg", folder / f"{name}.png"]
    with matplotlib.rc_context({**THEME, "svg.hashsalt": name}):
        write_figure(figure, files[0], metadata={"Date": None, "Creator": None})
        write_figure(figure, files[1], dpi=200, metadata={"Software": None})
    return files


def save(
    figure: Figure, folder: Path, name: str, title: str = "", caption: str = "", section: str = ""
) -> tuple[Path, Path]:
    """Write a figure as PNG (300 dpi) and PDF; the same figure always gives the same bytes.

    Both files carry their title and caption, as PNG and PDF name them: that is where the page reads them. The PNG also
    carries the section of the page to which it belongs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    png, pdf = folder / f"{name}.png", folder / f"{name}.pdf"
    with matplotlib.rc_context(THEME):
        if figure.get_layout_engine() is not None:
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # each drawing would move the panels a little more
        about = {"Title": title, "Description": caption, **({SECTION: section} if section else {})}
        write_figure(figure, png, dpi=300, metadata={**about, "Software": None})
        unsaid = dict.fromkeys(("CreationDate", "ModDate", "Creator", "Producer"))
        write_figure(figure, pdf, metadata={"Title": title, "Subject": caption, **unsaid})
    return png, pdf
