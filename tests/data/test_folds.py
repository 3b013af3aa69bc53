from collections import Counter

import numpy as np
import pytest

from gredkit.data.folds import stratified_folds

LABELS = np.random.default_rng(0).permutation([0] * 57 + [1] * 31 + [2] * 4)


@pytest.mark.parametrize("folds", [2, 5, 10])
def test_every_fold_holds_each_graph_once(folds):
    dealt = stratified_folds(LABELS, folds)
    assert len(dealt) == folds
    for fold in dealt:
        assert sorted(fold["train"] + fold["validation"] + fold["test"]) == list(range(len(LABELS)))
    assert sorted(i for fold in dealt for i in fold["test"]) == list(range(len(LABELS)))


@pytest.mark.parametrize("folds", [2, 5, 10])
def test_classes_are_in_proportion(folds):
    for fold in stratified_folds(LABELS, folds):
        for label, count in Counter(LABELS.tolist()).items():
            tested = int((LABELS[fold["test"]] == label).sum())
            validated = int((LABELS[fold["validation"]] == label).sum())
            assert abs(tested - count / folds) < 1
            assert abs(validated - (count - tested) / 10) < 1


def test_the_seed_decides():
    assert stratified_folds(LABELS, seed=3) == stratified_folds(LABELS, seed=3)
    assert stratified_folds(LABELS, seed=3) != stratified_folds(LABELS, seed=4)
