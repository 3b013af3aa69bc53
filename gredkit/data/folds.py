"""Folds for cross-validation: read from a file, or drawn with equal shares of each class."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gredkit.data.task import SPLITS
from gredkit.errors import UserError

FOLDS, SEED = 10, 0
Fold = dict[str, list[int]]


def read_folds(path: Path, graphs: int) -> list[Fold]:
    """The folds in a `splits.json` in the format of Errica et al. (2020); each fold must contain every graph.

    Format: a list of {"test": […], "model_selection": [{"train": […], "validation": […]}]}.
    """
    try:
        given = json.loads(path.read_text())
        folds = [{**fold["model_selection"][0], "test": fold["test"]} for fold in given]
        folds = [{split: [int(i) for i in fold[split]] for split in SPLITS} for fold in folds]
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise UserError(
            f"{path} cannot be read ({type(error).__name__}): list folds in it, each with 'test' and "
            f"'model_selection', or delete it, and folds are drawn at random"
        ) from error
    for number, fold in enumerate(folds):
        if sorted(i for part in fold.values() for i in part) != list(range(graphs)):
            raise UserError(f"fold {number} of {path} does not have each of the {graphs} graphs once: replace the file")
    return folds


def stratified_folds(labels: Sequence[int] | np.ndarray, folds: int = FOLDS, seed: int = SEED) -> list[Fold]:
    """Folds with equal class proportions: each tests another part of the graphs and validates 1/10 of the rest."""
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
    """Distribute graphs over piles like cards, class by class. Shape: labels [graphs] -> pile of each [graphs]"""
    order = np.concatenate([rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)])
    pile = np.empty(len(labels), np.int64)
    pile[order] = np.arange(len(labels)) % piles
    return pile
