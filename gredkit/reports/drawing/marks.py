"""What stands behind each mark of a figure: the page shows it beside the pointer."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakKeyDictionary

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from gredkit.reports.drawing.trials import mean_and_deviation, score_name
from gredkit.reports.numbers import mean_and_spread, several, significant

A = TypeVar("A", bound=Artist)


@dataclass(frozen=True)
class Mark:
    """One mark of an artist: what it is in words, and the MLflow run that it shows, if it shows one."""

    text: str
    run: str = ""


_TOLD: WeakKeyDictionary[Artist, tuple[Mark, ...]] = WeakKeyDictionary()


def tell(artist: A, marks: Iterable[Mark]) -> A:
    """Remember one mark for each point of an artist, in the order of its points."""
    _TOLD[artist] = tuple(marks)
    return artist


def told(figure: Figure) -> Iterator[tuple[Artist, Sequence[Mark]]]:
    """The artists of a figure that have marks."""
    for artist in figure.findobj(lambda artist: artist in _TOLD):
        yield artist, _TOLD[artist]


def of_trials(rows: pd.DataFrame) -> Iterator[Mark]:
    """One mark per trial: variant, dataset, seed and test score."""
    name = score_name(rows)[:-2]  # without its arrow
    runs = rows["run"].fillna("") if "run" in rows else [""] * len(rows)
    cells = zip(rows["variant"], rows["dataset"], rows["seed"], rows["test"], runs, strict=True)
    for variant, dataset, seed, score, run in cells:
        yield Mark(f"{variant}\n{dataset}, seed {seed}\n{name} {significant(float(score))}", str(run))


def of_mean(rows: pd.DataFrame, variant: object) -> Mark:
    """The mean of trials that ended with a score."""
    mean, deviation = mean_and_deviation(rows["test"].astype(float))
    digits = max(0, len(significant(mean).partition(".")[2]))
    spread = deviation if len(rows) > 1 else float("nan")
    about = f"{rows['dataset'].iloc[0]}, mean over {several(len(rows), 'seed')}"
    return Mark(f"{variant}\n{about}\n{score_name(rows)[:-2]} {mean_and_spread(mean, spread, digits)}")
