"""What does a model really use? How the score changes when a hop is hidden."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gredkit.registry import FIGURES
from gredkit.reports.by_hop import knock_out_by_hop
from gredkit.reports.drawing.many import noted
from gredkit.reports.drawing.marks import Mark, tell
from gredkit.reports.drawing.panels import by, legend, message, name_scores, panels, wrapped
from gredkit.reports.drawing.style import INK, QUIET, Look, looks, themed
from gredkit.reports.drawing.trials import score_name
from gredkit.reports.figures.base import DISTANCE, StudyFigure
from gredkit.reports.figures.distance import few_lines, line_handles
from gredkit.reports.numbers import several, significant
from gredkit.reports.study import StudyData

FEATURES = "features"  # what is hidden from any model; from models that read sequences also the sets of nodes
NONE = "no score with hidden hops yet:\nno finished trial with a stored model"


@FIGURES.register("knock_out")
class KnockOut(StudyFigure):
    """Score of trained models when one hop is hidden, for studies that store them."""

    title = "What hiding a hop does to the score"
    caption = (
        "Change of the validation score of a sample when no node may use what is at distance k from it: for each node "
        "the graph is read once more with the mean of all encoded features in place of those at distance k, and the "
        "answer is made from these states of the nodes. A hop that is not used changes nothing. Lines are means over "
        "seeds, bands one standard deviation of these changes. Edges and positional encodings stay visible: this asks "
        "what a model uses of the features. knock_out.csv has the scores, and those when every layer of a model that "
        "reads sequences reads an empty set at place k (hidden: sets)."
    )
    section = DISTANCE
    order = 36

    def caption_of(self, study: StudyData) -> str:
        return " ".join([self.caption, *sample_sizes(study.knock_out)])

    def draw(self, study: StudyData) -> Figure | None:
        rows = study.knock_out
        if rows[(rows["hidden"] == FEATURES) & rows["score"].notna()].empty:
            return None
        few, said = few_lines(study.results, rows)
        return noted(knock_out(study.results, few), said)


def sample_sizes(rows: pd.DataFrame) -> list[str]:
    """A sentence about how large the samples are, so that nobody reads much into small changes; none if not known."""
    known = rows[(rows["hidden"] == FEATURES) & rows["graphs"].notna()]
    sizes = {
        str(
            dataset
        ): f"{several(int(some['graphs'].max()), 'graph')} with {several(int(some['answers'].max()), 'answer')}"
        for dataset, some in known.groupby("dataset", sort=False)
    }
    if not sizes:
        return []
    said = set(sizes.values())
    told = said.pop() if len(said) == 1 else ", ".join(f"{size} ({dataset})" for dataset, size in sizes.items())
    return [f"Each score is of a sample of {told}."]


@themed
def knock_out(results: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    """Change of the score against the hidden hop, one panel per dataset, one line per variant."""
    if rows.empty:
        return message(NONE)
    of_hops = knock_out_by_hop(rows[rows["hidden"] == FEATURES])
    order = looks(of_hops["variant"])
    datasets = by(of_hops, "dataset")
    figure, axes_of = panels(len(datasets), 1.75)
    for axes, (name, some) in zip(axes_of, datasets, strict=True):
        _panel(axes, some, order)
        axes.set_title(wrapped(name))
        axes.set_xlabel("hidden hop k")
    scores = [score_name(results[results["dataset"] == name], "validation") for name, _ in datasets]
    name_scores(axes_of, [f"change of\n{score}" for score in scores])
    several = [Patch(color=QUIET, alpha=0.3, lw=0, label="± s.d. over seeds")] if of_hops["seeds"].max() > 1 else []
    legend(figure, [*line_handles(order), *several])
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, order: Mapping[str, Look]) -> None:
    axes.axhline(0.0, color=INK, lw=0.8, zorder=1.5)
    for name, some in by(rows, "variant"):
        look = order[name]
        hidden = some[some["hop"].notna()].astype({"hop": int})
        spread = hidden["change_sd"].fillna(0.0)
        low, high = hidden["change"] - spread, hidden["change"] + spread
        axes.fill_between(hidden["hop"], low, high, color=look.colour, alpha=0.15, lw=0, zorder=1)
        (line,) = axes.plot(
            hidden["hop"], hidden["change"], color=look.colour, marker=look.marker, ms=look.size(3.6), ls=look.line,
            mec="white", mew=0.4, zorder=3,
        )  # fmt: skip
        about = f"{name}\n{some['dataset'].iloc[0]}, without hop"
        changes = zip(hidden["hop"], hidden["change"], strict=True)
        tell(
            line,
            [Mark(f"{about} {k}\nscore {'+' if change > 0 else ''}{significant(change)}") for k, change in changes],
        )
    last = max(int(rows["hop"].max()), 1) if rows["hop"].notna().any() else 1
    axes.set_xlim(-0.03 * last, 1.03 * last)
    axes.locator_params(axis="x", integer=True, nbins=8)
