"""Splits of embedded tasks: by how many graphs, or by what share of them."""

from collections.abc import Sequence

import numpy as np

from gredkit.data.task import SPLITS
from gredkit.errors import UserError


def consecutive_splits(*sizes: int) -> dict[str, range]:
    """The first graphs train, the next validate, the last test, so many of each."""
    ends = np.cumsum(sizes).tolist()
    return {split: range(end - size, end) for split, size, end in zip(SPLITS, sizes, ends, strict=True)}


def stratified_splits(
    strata: Sequence[int] | np.ndarray, train: float, validation: float, seed: int
) -> dict[str, list[int]]:
    """Draw a share of the graphs to train and one to validate; the rest test. Every stratum is shared out alike."""
    strata = np.asarray(strata)
    rng = np.random.default_rng(seed)
    splits: dict[str, list[int]] = {split: [] for split in SPLITS}
    for stratum in np.unique(strata):
        members = rng.permutation(np.flatnonzero(strata == stratum))
        ends = np.cumsum(sizes_of(len(members), train, validation))[:-1]
        for split, part in zip(SPLITS, np.split(members, ends), strict=True):
            splits[split] += part.tolist()
    return {split: sorted(part) for split, part in splits.items()}


def sizes_of(graphs: int, train: float, validation: float) -> tuple[int, int, int]:
    """How many graphs train, validate and test."""
    if not (train > 0 and validation > 0 and train + validation < 1):
        raise UserError(
            f"train={train} and validation={validation} are shares of all graphs: choose both above 0 and "
            f"together below 1, since the rest test"
        )
    first, second = round(train * graphs), round((train + validation) * graphs)
    return first, second - first, graphs - second
