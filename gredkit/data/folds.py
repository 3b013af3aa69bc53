"""Folds of a cross-validation: given in a file, or dealt out."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gredkit.data.task import SPLITS
from gredkit.errors import UserError

FOLDS, SEED = 10, 0
Fold = dict[str, list[int]]


def read_folds(path: Path, graphs: int) -> list[Fold]:
    """The folds of a `splits.json` as Errica et al. (2020) published them, in which all graphs must occur.

    A list of {"test": […], "model_selection": [{"train": […], "validation": […]}]}.
    """
    try:
        given = json.loads(path.read_text())
        folds = [{**fold["model_selection"][0], "test": fold["test"]} for fold in given]
        folds = [{split: [int(i) for i in fold[split]] for split in SPLITS} for fold in folds]
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise UserError(
            f"{path} cannot be read ({type(error).__name__}): it should list folds, each with 'test' and "
            f"'model_selection', or be away, and folds are dealt out"
        ) from error
    for number, fold in enumerate(folds):
        if sorted(i for part in fold.values() for i in part) != list(range(graphs)):
            raise UserError(f"fold {number} of {path} does not hold each of the {graphs} graphs once: replace the file")
    return folds


def stratified_folds(labels: Sequence[int] | np.ndarray, folds: int = FOLDS, seed: int = SEED) -> list[Fold]:
    """Each fold tests another share of the graphs and validates a tenth of the rest, all classes in proportion."""
    labels = np.asarray(labels)
    rng = np.random.default_rng(seed)
    pile = _deal(labels, folds, rng)
    dealt = []
    for number in range(folds):
        rest = np.flatnonzero(pile != number)
        validates = _deal(labels[rest], 10, rng) == 0
        parts = {"train": rest[~validates], "validation": rest[validates], "test": np.flatnonzero(pile == number)}
        dealt.append({split: part.tolist() for split, part in parts.items()})
    return dealt


def _deal(labels: np.ndarray, piles: int, rng: np.random.Generator) -> np.ndarray:
    """Deal graphs out like cards, class after class. Shape: labels [graphs] -> the pile of each [graphs]"""
    order = np.concatenate([rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)])
    pile = np.empty(len(labels), np.int64)
    pile[order] = np.arange(len(labels)) % piles
    return pile
