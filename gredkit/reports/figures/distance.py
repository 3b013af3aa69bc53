"""At which distance does a model hear? Influence by hop, one line per variant."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import TICKUP
from matplotlib.patches import Patch

from gredkit.registry import FIGURES
from gredkit.reports.by_hop import relative
from gredkit.reports.drawing.many import LINES, fewer, noted
from gredkit.reports.drawing.marks import Mark, tell
from gredkit.reports.drawing.panels import by, first_in_row, legend, log_height, message, panels, wrapped
from gredkit.reports.drawing.style import QUIET, Look, looks, themed
from gredkit.reports.figures.base import DISTANCE, StudyFigure
from gredkit.reports.numbers import significant
from gredkit.reports.study import StudyData

LEAST = 1e-4  # what is smaller is not drawn
NONE = "no influence by hop yet:\nno finished trial with a stored model"


@FIGURES.register("distance")
class Distance(StudyFigure):
    """Influence by hop of trained models, for studies that store them."""

    title = "At which distance the trained models hear"
    caption = "Influence of hop k relative to hop 0, mean over seeds, and its range as a mark on the axis."
    section = DISTANCE
    order = 35

    def draw(self, study: StudyData) -> Figure | None:
        if study.influence.empty:
            return None
        few, said = few_lines(study.results, study.influence)
        return noted(distance(few), said)

    def caption_of(self, study: StudyData) -> str:
        sizes = study.influence[["graphs", "nodes"]].drop_duplicates().to_numpy(int)
        graphs, nodes = sizes.max(0) if len(sizes) else (0, 0)
        return (
            "Influence of hop k relative to hop 0: the sum of |∂h_v/∂x_u| over all nodes u at distance k from v, where "
            "h_v is the state of node v that the readout reads and x_u the encoded features of u; a mean over up to "
            f"{nodes} nodes v that the task asks about, of up to {graphs} validation graphs drawn with a fixed seed. "
            "The line is the mean over seeds, the band goes from the smallest to the largest; what is below 0.0001 is "
            "not drawn. The mark on the axis is the range, the mean distance of u from v weighted by its influence. "
            "Many nodes at a hop add up, so a flat line does not mean that each of them counts the same. distance.csv "
            "has the numbers, the range by effective resistance and, for tasks on graphs, mixed second derivatives."
        )


def few_lines(results: pd.DataFrame, rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of at most as many variants as lines can be told apart, and a sentence about the others."""
    few, said = fewer(results, results["variant"], "variant", LINES)
    return rows[rows["variant"].isin(few["variant"])], said.replace("table.csv", "the CSV file")


@themed
def distance(influence: pd.DataFrame) -> Figure:
    """Relative influence against hops, one panel per dataset, one line per variant, with the range marked below."""
    if influence.empty:
        return message(NONE)
    rows = influence.assign(relative=relative(influence))
    order = looks(rows["variant"])
    datasets = by(rows, "dataset")
    figure, axes_of = panels(len(datasets), 1.75)
    for axes, (name, some) in zip(axes_of, datasets, strict=True):
        _panel(axes, some, order)
        axes.set_title(wrapped(name))
        axes.set_xlabel("hop k")
        if first_in_row(axes):
            axes.set_ylabel("influence of hop k\nrelative to hop 0")
    several = bool((rows.groupby(["dataset", "variant"])["seed"].nunique() > 1).any())
    handles = [
        *line_handles(order),
        Line2D([], [], ls="", marker="|", ms=7, mew=1.4, color=QUIET, label="range"),
    ]
    legend(figure, [*handles, *([Patch(color=QUIET, alpha=0.3, lw=0, label="range of seeds")] if several else [])])
    return figure


def line_handles(order: Mapping[str, Look]) -> list[Line2D]:
    """What a legend shows of the variants."""
    return [
        Line2D(
            [], [], color=look.colour, marker=look.marker, ms=look.size(3.6), ls=look.line, mec="white", mew=0.4,
            label=name,
        )
        for name, look in order.items()
    ]  # fmt: skip


def _panel(axes: Axes, rows: pd.DataFrame, order: Mapping[str, Look]) -> None:
    log_height(axes)
    last = int(rows["hop"].max())
    for name, some in by(rows, "variant"):
        look = order[name]
        of_hops = some.groupby("hop")["relative"].agg(["min", "mean", "max"])
        of_hops = of_hops[of_hops["mean"] >= LEAST].clip(lower=LEAST)
        axes.fill_between(of_hops.index, of_hops["min"], of_hops["max"], color=look.colour, alpha=0.15, lw=0, zorder=1)
        every = max(last // 10, 1)
        (line,) = axes.plot(
            of_hops.index, of_hops["mean"], color=look.colour, marker=look.marker, ms=look.size(3.6), ls=look.line,
            mec="white", mew=0.4, markevery=every, zorder=3,
        )  # fmt: skip
        about = f"{name}\n{some['dataset'].iloc[0]}, hop"
        tell(
            line,
            [Mark(f"{about} {k}\ninfluence {significant(mean)}") for k, mean in of_hops["mean"].iloc[::every].items()],
        )
        ranges = some.drop_duplicates("id")["range_hops"].astype(float).dropna()
        if len(ranges):
            axes.plot(
                [ranges.mean()], [0.0], ls="", marker=TICKUP, ms=5, mew=1.8, color=look.colour,
                transform=axes.get_xaxis_transform(), clip_on=False, zorder=4,
            )  # fmt: skip
    low, high = axes.get_ylim()
    axes.set(
        xlim=(-0.03 * max(last, 1), 1.03 * max(last, 1)),
        ylim=(max(min(low, 0.09), LEAST * 0.8), np.clip(high, 1.3, None)),
    )
    axes.locator_params(axis="x", integer=True, nbins=8)
