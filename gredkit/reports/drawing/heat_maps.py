"""Two axes that are crossed: one heat map per dataset."""

from collections.abc import Hashable

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gredkit.reports.drawing.panels import by, first_in_row, legend, panels, wrapped
from gredkit.reports.drawing.style import INK, PALE
from gredkit.reports.drawing.trials import (
    axis_columns,
    axis_name,
    changes_together,
    larger_is_better,
    mean_and_deviation,
    plain,
    score_name,
    scored,
    values,
    without_score,
    written,
)

DARK = 0.22  # below this luminance, white letters are easier to read than dark ones

MOST = 24  # values of an axis whose cells can be read


def why_no_map(results: pd.DataFrame) -> str:
    """Why a study of two axes has no heat map; empty if it has one, or has other axes."""
    columns = axis_columns(results)
    if len(columns) != 2 or changes_together(results, *columns):
        return ""
    one, other = columns
    if max(len(values(results[column])) for column in columns) <= MOST:
        return ""
    return f"There is no map of {axis_name(one)} and {axis_name(other)}: one of them has more than {MOST} values."


def heat_maps(results: pd.DataFrame, one: str, other: str) -> Figure:
    """One map per dataset: means in the cells, darker is better, the best one is framed."""
    across, down = sorted((one, other), key=lambda column: len(values(results[column])), reverse=True)
    wide, high = (len(values(results[column])) for column in (across, down))
    datasets = by(results, "dataset")
    per_row = next((n for n in (4, 3, 2) if 6.6 / n - 0.5 >= 0.38 * wide), 1)
    figure, panel_of = panels(len(datasets), 0.6 + max(0.28 * high, 0.6), min(per_row, len(datasets)))
    for panel, (dataset, rows) in zip(panel_of, datasets, strict=True):
        panel.set_title(f"{wrapped(dataset)}\n{score_name(rows)}")
        _map(panel, rows, down, across)
        panel.set_xlabel(axis_name(across))
        panel.set_ylabel(axis_name(down) if first_in_row(panel) else "")
    legend(figure, [
        Rectangle((0, 0), 1, 1, fc="none", ec=INK, lw=1.2, label="best mean (darker is better)"),
        *[Rectangle((0, 0), 1, 1, fc=PALE, ec="white", label="no score here")] * _gaps(results, one, other),
    ])  # fmt: skip
    return figure


def _gaps(results: pd.DataFrame, one: str, other: str) -> bool:
    """Whether some cell has no score."""
    cells = len(scored(results).drop_duplicates(["dataset", one, other]))
    return cells < results["dataset"].nunique() * len(values(results[one])) * len(values(results[other]))


def _map(panel: Axes, rows: pd.DataFrame, down: str, across: str) -> None:
    """Fill one map; a cell without a score says how its trials ended."""
    ys, xs = values(rows[down]), values(rows[across])
    means = np.full((len(ys), len(xs)), np.nan)
    texts = np.full(means.shape, "", dtype=object)
    places = [(ys.index(plain(y)), xs.index(plain(x))) for y, x in zip(rows[down], rows[across], strict=True)]
    for (i, j), cell in rows.groupby(pd.Series(places, index=rows.index, dtype=object)):
        good = scored(cell)
        if len(good):
            means[i, j] = mean_and_deviation(good["test"])[0]
        lost = f"{len(cell) - len(good)}/{len(cell)} lost" if len(good) else without_score(cell).replace(" ", "\n")
        texts[i, j] = "\n".join(filter(None, [_short(means[i, j]), lost if len(good) < len(cell) else ""]))
    larger = larger_is_better(rows)
    colours = sns.color_palette("crest" if larger else "crest_r", as_cmap=True)
    size = 7 if len(xs) <= 5 else 6
    panel.set_facecolor(PALE)
    panel.grid(False)
    sns.heatmap(means, ax=panel, cmap=colours, cbar=False, linewidths=0.8, linecolor="white", mask=np.isnan(means))
    scale = Normalize(*(np.nanmin(means), np.nanmax(means)) if np.isfinite(means).any() else (0, 1))
    if np.isfinite(means).any():
        row, column = divmod(int(np.nanargmax(means if larger else -means)), len(xs))
        panel.add_patch(Rectangle((column, row), 1, 1, fill=False, ec=INK, lw=1.4, zorder=4, clip_on=False))
    for (i, j), text in np.ndenumerate(texts):
        known = np.isfinite(means[i, j])
        ink = "white" if known and _luminance(colours(scale(means[i, j]))) < DARK else INK
        panel.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=size - (not known), color=ink)
    panel.set_xticks(np.arange(len(xs)) + 0.5, [wrapped(_tick(across, x), 10) for x in xs], rotation=0)
    panel.set_yticks(np.arange(len(ys)) + 0.5, [wrapped(_tick(down, y), 12) for y in ys], rotation=0)
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)


def _tick(column: str, value: Hashable) -> str:
    """A value at its tick; K = None is the diameter."""
    return "diam." if axis_name(column) == "K" and value is None else written(value)


def _luminance(colour: tuple[float, float, float, float]) -> float:
    """How light a colour is, from 0 to 1 (WCAG)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def _short(value: float) -> str:
    """A mean in few letters."""
    return "" if np.isnan(value) else f"{value:.3f}" if abs(value) < 10 else f"{value:.3g}"
