"""Draw the results: one bar per contestant, and the curves of growth."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gredkit.bench.measure import digits
from gredkit.reports.drawing.style import COLOURS, QUIET, SMALL, TWO_COLUMNS, looks, save, themed

ROW = 2.2  # inches
GROWTH = (("ms", "ms per step"), ("peak_mb", "peak memory, MB"))
AXES = {"hops": "peptides, K from {first} to {last}", "nodes": "{first} to {last} nodes per graph"}


def draw(result: Mapping[str, Any], file: Path) -> None:
    """Write the picture as PNG and as PDF."""
    save(picture(result), file.absolute().parent, file.stem)


@themed
def picture(result: Mapping[str, Any]) -> Figure:
    """Training at the top, one panel per setting; below it growth: time and memory over members and rows."""
    rows = [part for part in ("training", "growth") if part in result]
    figure = Figure(figsize=(TWO_COLUMNS, ROW * len(rows)), layout="constrained")
    parts = dict(zip(rows, figure.subfigures(len(rows), 1, squeeze=False)[:, 0], strict=True))
    if "training" in parts:
        panels = parts["training"].subplots(1, len(result["training"]), squeeze=False)[0]
        for axes, (name, row) in zip(panels, result["training"].items(), strict=True):
            _bars(axes, name, row)
        panels[0].set_ylabel("ms per graph")
    if "growth" in parts:
        panels = parts["growth"].subplots(1, len(GROWTH), squeeze=False)[0]
        for axes, (key, label) in zip(panels, GROWTH, strict=True):
            _curves(axes, result["growth"], key, label)
        panels[0].legend()
    return figure


def _bars(axes: Axes, name: str, row: Mapping[str, Any]) -> None:
    """The time of each contestant on a logarithmic scale, with quartiles."""
    contestants = row["contestants"]
    times = [one["ms_per_graph"] for one in contestants.values()]
    spread = [
        [one["ms_per_graph"] - one["quartiles"][0] for one in contestants.values()],
        [one["quartiles"][1] - one["ms_per_graph"] for one in contestants.values()],
    ]
    places = range(len(times))
    axes.bar(places, times, color=COLOURS[: len(times)], width=0.7, yerr=spread, error_kw={"elinewidth": 0.8})
    axes.set_yscale("log")
    axes.set_ylim(min(times) / 2, max(times) * 3)  # room for the numbers
    axes.set_xticks(places, [one.replace(" ", "\n") for one in contestants], fontsize=SMALL)
    axes.grid(False, axis="x")
    for place, time, high in zip(places, times, spread[1], strict=True):
        axes.annotate(digits(time), (place, time + high), (0, 2), textcoords="offset points", ha="center",
                      fontsize=SMALL)  # fmt: skip
    axes.set_title(f"{name} ({row['graphs']} graphs)")


def _curves(axes: Axes, growth: Mapping[str, Any], key: str, label: str) -> None:
    """Cost over work on logarithmic scales, with a line of slope 1 through the last point of each curve."""
    for kind, look in looks(AXES).items():
        values, points = list(growth[kind]["points"]), list(growth[kind]["points"].values())
        work = [point["members"] + point["rows"] for point in points]
        cost = [point[key] for point in points]
        named = AXES[kind].format(first=values[0], last=values[-1])
        axes.plot(work, cost, color=look.colour, marker=look.marker, linestyle=look.line, label=named)
        axes.plot(work, [cost[-1] * w / work[-1] for w in work], color=QUIET, linewidth=0.6, linestyle=":", zorder=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("members + rows (dotted: linear)")
    axes.set_ylabel(label)
