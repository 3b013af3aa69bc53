"""The frame around the marks: panels, legends, names, messages."""

import textwrap
from collections.abc import Sequence
from math import ceil

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from gredkit.reports.drawing.style import ONE_COLUMN, QUIET, TWO_COLUMNS, themed
from gredkit.reports.drawing.trials import score_name, scored, without_score

NOTHING = "no finished trials yet"


def panels(count: int, height: float = 1.6, per_row: int | None = None) -> tuple[Figure, list[Axes]]:
    """A figure one column wide for one panel, two columns wide for more, in rows of at most four."""
    columns = per_row or (count if count <= 4 else 3 if count in (5, 6, 9) else 4)
    columns = min(columns, count)
    rows = ceil(count / columns)
    width = ONE_COLUMN if count == 1 else TWO_COLUMNS
    figure = Figure(figsize=(width, rows * height + 0.3), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(count)]


def first_in_row(axes: Axes) -> bool:
    """Whether a panel is the first of its row."""
    place = axes.get_subplotspec()
    return place is None or place.is_first_col()


def in_columns(axes: Axes) -> int:
    """How many panels stand side by side."""
    place = axes.get_subplotspec()
    return place.get_gridspec().ncols if place else 1


def name_scores(panel_of: Sequence[Axes], names: Sequence[str]) -> None:
    """Label the vertical axes; if all labels of a row are equal, only the first panel has one."""
    columns = in_columns(panel_of[0])
    for i, (axes, name) in enumerate(zip(panel_of, names, strict=True)):
        row = names[i - i % columns : i - i % columns + columns]
        axes.set_ylabel(name if i % columns == 0 or len(set(row)) > 1 else "")


def wrapped(name: str, width: int = 22, lines: int = 3) -> str:
    """A long name in several lines; what does not fit is cut from the middle, because names often differ at the end."""
    found, keep = textwrap.wrap(name, width), len(name) // 2
    while len(found) > lines:
        keep -= 1
        found = textwrap.wrap(f"{name[:keep]}…{name[-keep:]}", width)
    return "\n".join(found)


def all_wrapped(names: Sequence[str], width: int, lines: int) -> list[str]:
    """Names in several lines, cut only if they stay different."""
    cut = [wrapped(name, width, lines) for name in names]
    return cut if len(set(cut)) == len(set(names)) else [wrapped(name, width, len(name) + 1) for name in names]


def legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """One legend below all panels; the figure grows by the rows that it needs."""
    if not handles:
        return
    names = all_wrapped([str(handle.get_label()) for handle in handles], 44, 2)
    longest = max(len(line) for name in names for line in name.splitlines())
    columns = max(1, min(len(names), int(figure.get_figwidth() / (longest * 0.056 + 0.4))))
    columns = ceil(len(names) / ceil(len(names) / columns))  # rows of equal length
    lines = ceil(len(names) / columns) * max(name.count("\n") + 1 for name in names)
    figure.set_figheight(figure.get_figheight() + 0.14 * lines + 0.08)
    figure.legend(
        handles, names, loc="outside lower center", ncols=columns, handlelength=2.2, columnspacing=1.4,
        handletextpad=0.5, labelspacing=0.35, borderaxespad=0.1, borderpad=0.1,
    )  # fmt: skip


def log_height(axes: Axes) -> None:
    """A logarithmic vertical axis with plain numbers: texts of this look are not read as formulas."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())


def say(axes: Axes, text: str) -> None:
    """A panel with a sentence instead of marks."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=QUIET, fontsize=7.5)


@themed
def message(text: str) -> Figure:
    """A figure that says why there is nothing to see."""
    figure, (axes,) = panels(1, 0.3 + 0.14 * text.count("\n") + 0.4)
    say(axes, text)
    return figure


def no_scores(results: pd.DataFrame) -> Figure:
    """The figure of a study without a score: how the trials of each variant ended."""
    fates = [f"{wrapped(str(name), 40, 1)}: {without_score(rows)}" for name, rows in by(results, "variant")]
    return message("\n".join([NOTHING, *fates[:12], *(["…"] if len(fates) > 12 else [])]))


def by(rows: pd.DataFrame, column: str) -> list[tuple[str, pd.DataFrame]]:
    """The trials of each variant, or of each dataset, in order of first appearance."""
    return [(str(name), group) for name, group in rows.groupby(column, sort=False, dropna=False)]


def head(axes: Axes, dataset: str, rows: pd.DataFrame) -> bool:
    """Name a panel after its dataset, and write into it if there are no scores; returns whether there are some."""
    axes.set_title(wrapped(dataset))
    if scored(rows).empty:
        say(axes, f"{NOTHING}\n{wrapped(without_score(rows))}")
        return False
    return True


def within_reason(low: float, high: float, rows: pd.DataFrame, room: float = 0.03) -> tuple[float, float]:
    """The limits of an axis of scores, within what the metric allows: no error below 0, no accuracy above 1."""
    test = scored(rows)["test"]
    if "↓" in score_name(rows):
        return (max(low, 0.0) if test.min() >= 0 else low), high
    return low, (min(high, 1.0 + room * (1.0 - min(low, 0.9))) if test.max() <= 1 else high)
