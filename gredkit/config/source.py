"""What the user handed over, and in which order gin reads it for a trial."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gredkit.config import bindings, gin_files
from gredkit.config.configuration import Configuration
from gredkit.errors import UserError
from gredkit.imports import import_own
from gredkit.registry import DATASETS

INCLUDE = "include"  # in place of a binding: a variant that a gin file describes
BLOCKS = "gin"  # the folder of the blocks that a study names
# Datasets of gredkit that have no block of their own: the user says which data they read.
WITHOUT_BLOCK = frozenset({"graph_folder", "smiles_csv", "python_dataset", "subset", "tu", "lrgb"})


@dataclass(frozen=True)
class Source:
    """Gin files, bindings of the command line, and modules that register components of the user's own."""

    files: tuple[str, ...] = ()
    bindings: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def load(self, dataset: str | None = None, budget: str | None = None, point: Iterable[str] = ()) -> Configuration:
        """All that describes a trial; later lines win.

        First the blocks of the budget and the dataset, then the study's files, so that the study has the last word
        over them, then the command line, then the point of the axes.
        """
        for module in self.modules:
            import_own(module)
        blocks, chosen = _blocks(dataset, budget)
        return bindings.load_once([*blocks, *self.files], [*self.bindings, *chosen, *point])


def _blocks(dataset: str | None, budget: str | None) -> tuple[list[str], list[str]]:
    """The files of a budget and of an entry of DATASETS.

    An entry without a file is a dataset that the user has registered, or one of `WITHOUT_BLOCK`. Any other one has a
    block with its model: without it the trial would silently train another one.
    """
    files = [] if budget is None else [f"{BLOCKS}/budgets/{budget}.gin"]
    if dataset is None:
        return files, []
    if dataset.endswith(".gin"):
        return [*files, dataset], []
    block = f"{BLOCKS}/models/{dataset}.gin"
    if any((root / block).is_file() for root in gin_files.ROOTS):
        return [*files, block], []
    try:
        registered = DATASETS[dataset]
    except UserError as error:
        raise UserError(f"{error}; or write {block}") from None
    if dataset not in WITHOUT_BLOCK and registered.__module__.startswith("gredkit."):
        raise UserError(f"there is no {block}, the model for {dataset!r}: install gredkit again, or write this file")
    return files, [f"trial.dataset = {dataset!r}"]


def name_of(dataset: str) -> str:
    """The short name of an entry of DATASETS."""
    return Path(dataset).stem if dataset.endswith(".gin") else dataset


def as_text(bindings: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    """Bindings as lines of gin; `include` reads a file there."""
    return tuple(f"{name} {value!r}" if name == INCLUDE else f"{name} = {value!r}" for name, value in bindings)
