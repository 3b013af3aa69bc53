import numpy as np
import pytest

from gredkit.data.shares import consecutive_splits, sizes_of, stratified_splits
from gredkit.errors import UserError


def test_consecutive_parts_follow_one_another():
    splits = consecutive_splits(5, 0, 2)
    assert {split: list(part) for split, part in splits.items()} == {
        "train": [0, 1, 2, 3, 4],
        "validation": [],
        "test": [5, 6],
    }


@pytest.mark.parametrize(
    ("graphs", "shares", "sizes"),
    [(10, (0.6, 0.2), (6, 2, 2)), (96, (0.6, 0.2), (58, 19, 19)), (4892, (0.8, 0.1), (3914, 489, 489))],
)
def test_shares_become_sizes(graphs, shares, sizes):
    assert sizes_of(graphs, *shares) == sizes


@pytest.mark.parametrize("shares", [(0, 0.5), (0.5, 0), (0.8, 0.2), (0.9, 0.3), (-0.1, 0.5)])
def test_every_part_needs_a_share(shares):
    with pytest.raises(UserError, match="shares of all graphs"):
        sizes_of(100, *shares)


def test_every_stratum_is_shared_out_alike():
    strata = np.random.default_rng(0).choice(3, 200, p=[0.7, 0.2, 0.1])
    splits = stratified_splits(strata, 0.5, 0.3, seed=1)
    assert sorted(splits["train"] + splits["validation"] + splits["test"]) == list(range(200))
    for split, share in zip(splits, (0.5, 0.3, 0.2), strict=True):
        count = np.bincount(strata[splits[split]], minlength=3)
        assert (abs(count - share * np.bincount(strata)) <= 1).all()
    assert splits == stratified_splits(strata, 0.5, 0.3, seed=1)
    assert splits != stratified_splits(strata, 0.5, 0.3, seed=2)
