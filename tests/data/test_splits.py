import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gredkit.data.objectives import IGNORED
from gredkit.data.splits import (
    checked_split,
    consecutive_split,
    given_split,
    seeded_split,
    sizes_of,
    split_nodes,
)
from gredkit.errors import UserError

classes = st.lists(st.sampled_from([0, 0, 0, 1, 1, 2]), min_size=3, max_size=120)


@given(classes, st.integers(0, 1000), st.booleans(), st.sampled_from([(0.8, 0.1), (0.6, 0.2), (0.3, 0.5)]))
def test_every_graph_is_in_one_split_and_the_shares_are_kept(classes, seed, stratified, shares):
    split = seeded_split(len(classes), seed, classes if stratified else None, *shares)
    assert list(split) == ["train", "validation", "test"]
    assert sorted(i for part in split.values() for i in part) == list(range(len(classes)))
    _, validation, test = sizes_of(len(classes), *shares)
    assert (len(split["validation"]), len(split["test"])) == (max(1, validation), max(1, test))
    assert all(part == sorted(part) for part in split.values())


@given(classes, st.integers(0, 1000))
def test_each_part_has_its_share_of_every_class(classes, seed):
    split = seeded_split(len(classes), seed, classes)
    of = {part: np.bincount(np.array(classes)[members], minlength=3) for part, members in split.items()}
    all_of = np.bincount(classes, minlength=3)
    assert (abs(of["test"] - all_of * len(split["test"]) / len(classes)) < 1).all()
    left = all_of - of["test"]
    assert (abs(of["validation"] - left * len(split["validation"]) / left.sum()) < 1).all()


def test_the_seed_draws_every_graph_sooner_or_later():
    assert seeded_split(30, seed=4) == seeded_split(30, seed=4)
    assert seeded_split(30, seed=4) != seeded_split(30, seed=5)
    drawn = [seeded_split(30, seed, [0] * 20 + [1] * 10) for seed in range(100)]
    for part in ("validation", "test"):
        assert set().union(*(split[part] for split in drawn)) == set(range(30))


def test_a_given_split_is_followed():
    names = ["test", "train", "validation", "train", "test"]
    assert given_split(names) == {"train": [1, 3], "validation": [2], "test": [0, 4]}


@pytest.mark.parametrize(
    ("splits", "sentence"),
    [
        ({"train": [0], "validation": [1]}, "no graph is in the split 'test': give each of train, validation, test"),
        ({"train": [0], "val": [1], "test": [2]}, "'val' is not a split: name them train, validation, test"),
        ({"train": [0], "validation": [1], "test": [0]}, "graph 0 is in train and in test: leave it in one"),
        ({"train": [0], "validation": [1], "test": [7]}, "the split 'test' names graph 7, but there are 3"),
        ({"train": [-1], "validation": [1], "test": [2]}, "the split 'train' names graph -1, but there are 3"),
    ],
)
def test_a_wrong_split_is_a_mistake(splits, sentence):
    with pytest.raises(UserError, match=sentence):
        checked_split(splits, 3)


def test_two_graphs_cannot_be_split():
    with pytest.raises(UserError, match="2 graphs cannot be split into train, validation, test: at least 3"):
        seeded_split(2)


def _two_graphs(y):
    return [Data(x=torch.zeros(len(part), 1), y=part) for part in (y[:2], y[2:])]


MASKS = {
    "train": [torch.tensor([True, False]), torch.tensor([False, False, True])],
    "validation": [torch.tensor([False, True]), torch.tensor([False, False, False])],
    "test": [torch.tensor([False, False]), torch.tensor([True, False, False])],
}


def test_split_nodes_are_asked_in_their_split_only():
    graphs, splits = split_nodes(_two_graphs(torch.tensor([0, 1, 2, 3, 4])), MASKS, "classification")
    assert splits == {"train": [0, 1], "validation": [2], "test": [3]}  # without a node no graph is in a split
    no = IGNORED
    assert [graph.y.tolist() for graph in graphs] == [[0, no], [no, no, 4], [no, 1], [2, no, no]]


def test_split_nodes_with_several_labels():
    y = torch.tensor([[0.0, 1], [1, 0], [1, 1], [0, 0], [1, 0]])
    graphs, _ = split_nodes(_two_graphs(y), MASKS, "labels")
    assert torch.equal(graphs[0].y[0], y[0])
    assert graphs[0].y[1].isnan().all()
    assert graphs[1].y.isnan().all(1).tolist() == [True, True, False]


def test_split_nodes_need_a_loss_that_can_leave_some_out():
    with pytest.raises(UserError, match="can be split for classification and labels, not for regression"):
        split_nodes(_two_graphs(torch.rand(5)), MASKS, "regression")


def test_consecutive_parts_follow_one_another():
    splits = consecutive_split(5, 0, 2)
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
