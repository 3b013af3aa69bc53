"""How training went: the validation score after each epoch."""

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gredkit.registry import FIGURES
from gredkit.reports.drawing.many import few_variants, noted
from gredkit.reports.drawing.marks import Mark, tell
from gredkit.reports.drawing.panels import by, legend, log_height, message, name_scores, no_scores, panels, say, wrapped
from gredkit.reports.drawing.style import INK, ONE_COLUMN, Look, looks, themed
from gredkit.reports.drawing.trials import compared, has_scores, larger_is_better, score_name, without_score
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.numbers import several, significant
from gredkit.reports.study import StudyData
from gredkit.trials.state import TrialState

FAR = 20  # an error that falls by more than this factor is drawn on a logarithmic axis


@FIGURES.register("learning_curves")
class LearningCurves(StudyFigure):
    """Validation score of each variant after every epoch."""

    title = "Validation score after each epoch"
    caption = (
        "The line is the mean over seeds, the band one standard deviation; a cross marks where a trial diverged. A "
        "curve that still rises at the end says that the number of epochs limited the score, and not the variant."
    )
    order = 60

    def draw(self, study: StudyData) -> Figure | None:
        return self._drawn(study, is_narrow=False)

    def draw_narrow(self, study: StudyData) -> Figure | None:
        return self._drawn(study, is_narrow=True)

    def _drawn(self, study: StudyData, is_narrow: bool) -> Figure | None:
        if study.curves.empty or not has_scores(study.results):
            return None
        few, said = few_variants(study.results)
        return noted(learning_curves(few, study.curves[study.curves["id"].isin(few["id"])], is_narrow), said)


@themed
def learning_curves(results: pd.DataFrame, curves: pd.DataFrame, is_narrow: bool = False) -> Figure:
    """Validation score against the epoch, one panel per dataset: mean of each variant, with one standard deviation.

    The mean is over the seeds that still train, and its line is thin where some have ended. A cross marks where a
    trial diverged.
    """
    results = compared(results)
    known = _finite(curves)
    known = known[known["id"].isin(results["id"])]
    if known.empty:
        return message("no finished epochs yet") if len(results) == 0 else no_scores(results)
    order = looks(results["variant"])
    datasets = by(results, "dataset")
    figure, axes_of = panels(len(datasets), per_row=1 if is_narrow else None)
    if is_narrow:
        figure.set_figwidth(ONE_COLUMN)
    for axes, (dataset, rows) in zip(axes_of, datasets, strict=True):
        axes.set_title(wrapped(dataset))
        some = known[known["dataset"] == dataset]
        if some.empty:
            say(axes, f"no finished epochs yet\n{wrapped(without_score(rows))}")
            continue
        diverged = set(rows["id"][rows["state"] == TrialState.DIVERGED])
        for variant, group in by(some, "variant"):
            _curve(axes, group, order[variant], variant)
            for _, trial in group[group["id"].isin(diverged)].groupby("id"):
                last = trial.loc[trial["epoch"].idxmax()]
                axes.plot([last["epoch"]], [last["validation"]], "x", ms=4, mew=1, color=order[variant].colour)
        _fit(axes, some["validation"].astype(float), larger_is_better(rows))
    name_scores(axes_of, [score_name(rows, "validation") for _, rows in datasets])
    legend(figure, _handles(results, order))
    return figure


def _finite(curves: pd.DataFrame) -> pd.DataFrame:
    """The epochs that have a score."""
    if curves.empty:
        return pd.DataFrame(columns=["id", "variant", "dataset", "seed", "epoch", "validation"])
    return curves[np.isfinite(pd.to_numeric(curves["validation"], errors="coerce").astype(float))]


def _curve(axes: Axes, rows: pd.DataFrame, look: Look, label: str) -> None:
    """One variant: bold where all its seeds still train."""
    table = rows.groupby("epoch")["validation"].agg(["mean", "std", "count"]).astype(float)
    mean, deviation = table["mean"], table["std"].fillna(0)
    axes.fill_between(table.index, mean - deviation, mean + deviation, color=look.colour, alpha=0.13, lw=0, zorder=1)
    full = mean.where(table["count"] == table["count"].max())
    axes.plot(table.index, mean, color=look.colour, ls=look.line, lw=0.6, zorder=2)
    few = max(1, len(table) // 5)
    (line,) = axes.plot(
        table.index, full, color=look.colour, ls=look.line, marker=look.marker, ms=look.size(3.6),
        mec="white", mew=0.4, markevery=few if len(table) > 8 else 1, label=label, zorder=3,
    )  # fmt: skip
    points = full.iloc[:: few if len(table) > 8 else 1].dropna()  # those with a marker
    about = f"{label}\n{rows['dataset'].iloc[0]}, mean over {several(rows['seed'].nunique(), 'seed')}"
    tell(line, [Mark(f"{about}\n{significant(score)} after epoch {epoch}") for epoch, score in points.items()])


def _fit(axes: Axes, scores: pd.Series, larger: bool) -> None:
    """The axes: whole epochs, and errors that fall far on a logarithmic scale."""
    axes.set_xlabel("epoch")
    axes.locator_params(axis="x", integer=True, nbins=6)
    low, high = axes.get_ylim()
    if not larger and scores.min() > 0 and scores.max() / scores.min() > FAR:
        log_height(axes)
    elif not larger:
        axes.set_ylim(max(low, 0.0) if scores.min() >= 0 else low, high)
    elif scores.max() <= 1:
        axes.set_ylim(max(low, 0.0) if scores.min() >= 0 else low, min(high, 1.02))


def _handles(results: pd.DataFrame, order: dict[str, Look]) -> list[Artist]:
    """The variants, with the states of trials that did not finish."""
    handles: list[Artist] = []
    for name, rows in by(results, "variant"):
        look, fate = order[name], without_score(rows)
        handles.append(
            Line2D([], [], color=look.colour, ls=look.line, marker=look.marker, ms=look.size(4), mec="white",
                   mew=0.4, label=f"{name} ({fate})" if fate else name)
        )  # fmt: skip
    if (results["state"] == TrialState.DIVERGED).any():
        handles.append(Line2D([], [], ls="", marker="x", ms=4, mew=1, color=INK, label="diverged"))
    return handles
