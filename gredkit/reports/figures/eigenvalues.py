"""Where the learned eigenvalues lie: the complex plane, before and after training."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from gredkit.registry import FIGURES
from gredkit.reports.drawing.panels import first_in_row, legend, message, panels, wrapped
from gredkit.reports.drawing.spectra import SEEDS, Diameters, chosen, shown_layers
from gredkit.reports.drawing.style import COLOURS, INK, ONE_COLUMN, QUIET, TWO_COLUMNS, themed
from gredkit.reports.drawing.trials import compared, has_scores
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.study import StudyData
from gredkit.trials.state import TrialState

NONE = "no eigenvalues yet:\nno finished trial with an encoder that has them"


@FIGURES.register("eigenvalues")
class Eigenvalues(StudyFigure):
    """Eigenvalues of the encoders that have them, in the complex plane, before and after training."""

    title = "Learned eigenvalues in the complex plane"
    caption = (
        "One panel per layer: hollow circles are the start, filled ones the end of training. The closer to the unit "
        "circle, the farther hops are still heard; the angle is how fast their sign turns from hop to hop."
    )
    order = 40

    def draw(self, study: StudyData) -> Figure | None:
        if study.eigenvalues.empty or not has_scores(study.results):
            return None
        return eigenvalues(study.results, study.eigenvalues, study.diameters)


@themed
def eigenvalues(
    results: pd.DataFrame,
    eigenvalues: pd.DataFrame,
    diameters: Diameters | None = None,
    variant: str | None = None,
) -> Figure:
    """Eigenvalues in the complex plane with the unit circle, one panel per layer; up to ten seeds together.

    For each dataset and encoder one variant is shown: the given one, or the one that looks farthest. Of one spectrum
    up to twelve layers are shown, of up to four spectra four layers each, of more the first and the last layer.
    """
    spectra = chosen(results, eigenvalues, diameters or {}, variant)
    if not spectra:
        return message(NONE)
    most = 12 if len(spectra) == 1 else 4 if len(spectra) <= 4 else 2
    grid, columns = _grid([shown_layers(spectrum.rows, most) for spectrum in spectra])
    columns = min(columns, len(grid))
    width = ONE_COLUMN if columns < 3 else TWO_COLUMNS
    figure, axes_of = panels(len(grid), width / columns if columns > 1 else 2.7, columns)
    figure.set_size_inches(width, figure.get_figheight() + 0.2)
    figure.set_layout_engine("compressed")  # panels of a fixed shape stand close
    for i, (axes, (place, layer)) in enumerate(zip(axes_of, grid, strict=True)):
        _, title, rows, _ = spectra[place]
        drawn = sorted(rows["seed"].unique())[:SEEDS]
        some = rows[(rows["layer"] == layer) & rows["seed"].isin(drawn)]
        if some.empty:
            axes.remove()
            continue
        _plane(axes, some)
        axes.set_title(
            f"{wrapped(title, int(13 * width / columns), 2)}\nlayer {layer + 1} of {rows['layer'].max() + 1}"
        )
        axes.set_ylabel("Im λ" if first_in_row(axes) else "")
        axes.tick_params(labelleft=first_in_row(axes))
        axes.set_xlabel("Re λ" if i + columns >= len(grid) else "")
        axes.tick_params(labelbottom=i + columns >= len(grid))
    counts = [(_seeds(results, rows), min(rows["seed"].nunique(), SEEDS)) for _, _, rows, _ in spectra]
    seeds, seen = max(counts, key=lambda count: (count[0] - count[1], count[0]))  # where most are missed
    many = f" ({seen} of {seeds} seeds)" if seen < seeds else f" ({seeds} seeds)" if seeds > 1 else ""
    legend(figure, [
        Line2D([], [], ls="", marker="o", ms=3, mfc="none", mec=QUIET, mew=0.6, label=f"at the start{many}"),
        Line2D([], [], ls="", marker="o", ms=3, color=COLOURS[0], label=f"after training{many}"),
        Line2D([], [], color=INK, lw=0.7, label="|λ| = 1"),
    ])  # fmt: skip
    return figure


def _seeds(results: pd.DataFrame, rows: pd.DataFrame) -> int:
    """How many seeds a variant has; the eigenvalues of some may be unreadable."""
    same = compared(results)[["dataset", "variant", "seed", "state"]]
    same = same[same["state"] == TrialState.FINISHED].merge(rows[["dataset", "variant"]].drop_duplicates())
    return max(same["seed"].nunique(), rows["seed"].nunique())


def _grid(layers: list[list[int]]) -> tuple[list[tuple[int, int]], int]:
    """Spectrum and layer of each panel, and how many stand in a row: spectra side by side if they are few."""
    if 1 < len(layers) <= 4:
        every = sorted({layer for some in layers for layer in some})
        return [(place, layer) for layer in every for place in range(len(layers))], len(layers)
    most = max(map(len, layers))
    return [(place, layer) for place, some in enumerate(layers) for layer in some], most if most in (1, 3) else 4


def _plane(axes: Axes, rows: pd.DataFrame) -> None:
    """One layer: hollow where each eigenvalue began, filled where it ended, and a thin line for the way."""
    start, end = (rows[rows["moment"] == moment] for moment in ("start", "end"))
    axes.add_patch(Circle((0, 0), 1, fill=False, ec=INK, lw=0.7, zorder=1.5))
    axes.axhline(0, color=QUIET, lw=0.4, zorder=1)
    axes.axvline(0, color=QUIET, lw=0.4, zorder=1)
    if len(start) == len(end) and start["id"].tolist() == end["id"].tolist():
        ways = np.stack([start[["real", "imag"]].to_numpy(float), end[["real", "imag"]].to_numpy(float)], axis=1)
        axes.add_collection(LineCollection(list(ways), colors=QUIET, linewidths=0.4, alpha=0.4, zorder=2))
    axes.scatter(
        start["real"], start["imag"], s=6, facecolors="none", edgecolors=QUIET, lw=0.5, zorder=2, label="start"
    )
    axes.scatter(end["real"], end["imag"], s=5, color=COLOURS[0], alpha=0.75, lw=0, zorder=3, label="end")
    edge = max(1.1, 1.05 * float(rows[["real", "imag"]].abs().to_numpy(float).max()))
    axes.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
    axes.set_xticks([-1, 0, 1])
    axes.set_yticks([-1, 0, 1])
    axes.grid(False)
