"""Many variants at once: groups that no test tells apart, and average ranks over datasets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import networkx as nx
import numpy as np
import pandas as pd
from scipy.stats import rankdata, studentized_range

from gredkit.reports.samples import LEVEL
from gredkit.reports.statistics import final

FEWEST_DATASETS, FEWEST_VARIANTS = 3, 3


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of the variants, 1 is best, and the difference of two that Nemenyi's test calls significant."""

    ranks: pd.Series
    datasets: int
    critical: float


def letters(names: Sequence[str], differ: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Variants that share a letter are not shown to differ; the first letter is that of the first names.

    Each letter is a maximal clique of the variants of which no two differ. After z come a1, b1, … and a2, b2, ….
    """
    apart = nx.Graph()
    apart.add_nodes_from(names)
    apart.add_edges_from(differ)
    place = {name: nth for nth, name in enumerate(names)}
    cliques = sorted(sorted(map(place.__getitem__, clique)) for clique in nx.find_cliques(nx.complement(apart)))
    signs = [f"{ascii_lowercase[nth % 26]}{nth // 26 or ''}" for nth in range(len(cliques))]
    return {
        name: "".join(s for s, clique in zip(signs, cliques, strict=True) if place[name] in clique) for name in names
    }


def mean_ranks(results: pd.DataFrame) -> Ranks | None:
    """Ranks of the mean scores, averaged over the datasets (Demšar, JMLR 2006).

    Only variants with a score on every dataset have one; None for fewer than three of them or three datasets. Equal
    means share the mean of their ranks.
    """
    trials = final(results)
    means = (
        trials.groupby(["variant", "dataset"], sort=False)["score"].mean().unstack() if len(trials) else pd.DataFrame()
    )
    means = means.dropna(axis=1, how="all").dropna()
    k, n = means.shape
    if k < FEWEST_VARIANTS or n < FEWEST_DATASETS:
        return None
    larger = trials.groupby("dataset")["larger_is_better"].first()
    signed = np.array([-means[name] if larger[name] else means[name] for name in means])
    ranks = pd.Series(rankdata(signed, axis=1).mean(0), means.index)
    critical = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    return Ranks(ranks.sort_values(kind="stable"), n, float(critical))


def cliques(found: Ranks) -> list[tuple[float, float]]:
    """First and last rank of each longest group in which no two are further apart than the critical difference."""
    values = found.ranks.to_numpy()
    ends = [(first, max(rank for rank in values if rank - first < found.critical)) for first in values]
    return [
        (first, last)
        for nth, (first, last) in enumerate(ends)
        if last > first and not any(earlier[1] >= last for earlier in ends[:nth])
    ]
