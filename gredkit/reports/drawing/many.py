"""Studies with very many variants: figures show the first and the best variants, and say so."""

import textwrap

import pandas as pd
from matplotlib.figure import Figure

from gredkit.reports.drawing.style import QUIET, SMALL, themed
from gredkit.reports.drawing.trials import compared, larger_is_better, scored

MOST = 24  # variants that a figure can hold apart
LINES = 8  # lines through points, with bands
LETTERS = 21  # of a sentence that an inch has room for


def fewer(results: pd.DataFrame, names: pd.Series, what: str, most: int = MOST) -> tuple[pd.DataFrame, str]:
    """All trials, or those of the first and of the best names, and a sentence about the others.

    The best are those with the best mean rank over the datasets; a name without a score ranks last.
    """
    known = list(dict.fromkeys(names))
    if len(known) <= most:
        return results, ""
    by_rank = _ranks(compared(results), names).reindex(known).sort_values(kind="stable", na_position="last")
    shown = {known[0], *[name for name in by_rank.index if name != known[0]][: most - 1]}
    said = f"Shown are the first {what} and the best {most - 1} of {len(known):,}; table.csv has all."
    return results[names.isin(shown)], said


def few_variants(results: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The trials that are compared, of at most `MOST` variants, and a sentence about the others."""
    trials = compared(results)
    return fewer(trials, trials["variant"], "variant")


def _ranks(results: pd.DataFrame, names: pd.Series) -> pd.Series:
    """The mean rank of each name over the datasets, 1 for the best."""
    places = {}
    for dataset, rows in results.groupby("dataset", sort=False):
        means = scored(rows)["test"].astype(float).groupby(names).mean()
        ranks = means.rank(ascending=not larger_is_better(rows))
        places[dataset] = ranks.reindex(names[rows.index].unique()).fillna(len(ranks) + 1)
    return pd.DataFrame(places).mean(axis=1)


@themed
def noted(figure: Figure, said: str) -> Figure:
    """The figure, with sentences above it if there are any."""
    if said:
        lines = textwrap.wrap(said, int(LETTERS * figure.get_figwidth()))
        figure.set_figheight(figure.get_figheight() + 0.07 + 0.13 * len(lines))
        figure.suptitle("\n".join(lines), fontsize=SMALL, color=QUIET)
    return figure
