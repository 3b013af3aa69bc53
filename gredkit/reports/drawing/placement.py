"""Names beside points, where they cover neither each other nor the points."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.textpath import TextPath

from gredkit.reports.drawing.style import SMALL

# Where a name may stand, best first: direction from the point, in points of the paper, and how it is aligned.
SPOTS = (
    (5, 0, "left", "center"), (-5, 0, "right", "center"), (4, 3, "left", "bottom"), (4, -3, "left", "top"),
    (-4, 3, "right", "bottom"), (-4, -3, "right", "top"), (0, 5, "center", "bottom"), (0, -5, "center", "top"),
    (10, 8, "left", "bottom"), (10, -8, "left", "top"), (-10, 8, "right", "bottom"), (-10, -8, "right", "top"),
    (0, 16, "center", "bottom"), (0, -16, "center", "top"), (18, 0, "left", "center"), (-18, 0, "right", "center"),
    (16, 16, "left", "bottom"), (16, -16, "left", "top"), (-16, 16, "right", "bottom"), (-16, -16, "right", "top"),
    (30, 8, "left", "bottom"), (30, -8, "left", "top"), (-30, 8, "right", "bottom"), (-30, -8, "right", "top"),
)  # fmt: skip
FAR = 8  # a name farther from its point than this has a thin line to it
RADIUS = 3.0  # of a point, in points of the paper


class Point(NamedTuple):
    """A mark with its deviations, in data coordinates."""

    x: float
    y: float
    dx: float
    dy: float


def place_names(axes: Axes, points: Mapping[str, Point], colours: Mapping[str, str]) -> bool:
    """Write each name beside its point; False, and nothing written, if they do not all fit.

    Names avoid the marks and each other, and the bars of deviations where they can. The layout must be settled: draw
    the figure once before.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    scale = 72 / figure.dpi  # to points of the paper

    def paper(x: float, y: float) -> np.ndarray:
        return np.asarray(axes.transData.transform((x, y))) * scale

    corner = np.asarray(axes.get_window_extent().get_points()) * scale
    taken = [np.array([*paper(p.x, p.y) - RADIUS, *paper(p.x, p.y) + RADIUS]) for p in points.values()]
    bars = [np.array([*paper(p.x - p.dx, p.y) - 0.5, *paper(p.x + p.dx, p.y) + 0.5]) for p in points.values() if p.dx]
    bars += [np.array([*paper(p.x, p.y - p.dy) - 0.5, *paper(p.x, p.y + p.dy) + 0.5]) for p in points.values() if p.dy]
    written: list[Annotation] = []
    for name, point in points.items():
        spots = [(spot, _box(paper(point.x, point.y), name, *spot)) for spot in SPOTS]
        free = [
            (spot, box)
            for spot, box in spots
            if (box[:2] >= corner[0]).all() and (box[2:] <= corner[1] + 3).all() and not _hits(box, taken)
        ]
        best = next(((spot, box) for spot, box in free if not _hits(box, bars)), free[0] if free else None)
        if best is None:
            for done in written:
                done.remove()
            return False
        (x, y, ha, va), box = best
        taken.append(box)
        written.append(
            axes.annotate(
                name, (point.x, point.y), xytext=(x, y), textcoords="offset points", ha=ha, va=va, fontsize=SMALL,
                color=colours[name], annotation_clip=False, zorder=5,
                arrowprops={"arrowstyle": "-", "lw": 0.4, "color": colours[name], "shrinkA": 0, "shrinkB": 2}
                if max(abs(x), abs(y)) > FAR else None,
                path_effects=[withStroke(linewidth=1.5, foreground="white")],
            )
        )  # fmt: skip
        written[-1].set_in_layout(False)  # panels stay where they were measured
    return True


def _box(place: np.ndarray, name: str, x: float, y: float, ha: str, va: str) -> np.ndarray:
    """The rectangle that a name takes: left, bottom, right, top."""
    wide, high = _width(name), 1.2 * SMALL
    left = place[0] + x - wide * {"left": 0, "center": 0.5, "right": 1}[ha]
    bottom = place[1] + y - high * {"bottom": 0, "center": 0.5, "top": 1}[va]
    return np.array([left, bottom, left + wide, bottom + high])


@lru_cache(1024)
def _width(name: str) -> float:
    """How wide a name is, in points of the paper."""
    return float(TextPath((0, 0), name, size=SMALL, prop=FontProperties(family="DejaVu Sans")).get_extents().width) + 2


def _hits(box: np.ndarray, others: list[np.ndarray]) -> bool:
    """Whether a rectangle shares some area with one of the others."""
    return any((box[:2] < other[2:]).all() and (other[:2] < box[2:]).all() for other in others)
