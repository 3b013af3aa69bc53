"""Turn a table with a column of SMILES into graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from gredkit.data.own.cells import mistakes
from gredkit.data.own.molecule import parse_smiles
from gredkit.data.own.tables import Problems, Sentence, Table
from gredkit.errors import UserError

if TYPE_CHECKING:
    from rdkit.Chem import Mol


def read_smiles(
    table: Table, smiles: str, kinds: Mapping[str, str], make: Callable[[Mol], Data], problems: Problems
) -> tuple[Table, list[Data]]:
    """The valid rows and their molecules as graphs; `kinds` gives the kind of the other columns."""

    def checked(table: Table, wrong: np.ndarray, sentence: Sentence) -> Table:
        if not problems.found(table, wrong, sentence):
            return table
        problems.left_out += int(wrong.sum())
        return replace(table, rows=table.rows[~wrong])

    table = checked(table, *table.too_long())
    for column, kind in {smiles: "id", **kinds}.items():
        table = checked(table, *mistakes(table.rows, column, kind))
    graphs, reasons = _graphs(table.rows[smiles], make)
    table = checked(table, np.array([graph is None for graph in graphs], bool), lambda row: reasons[row.name])
    return table, [graph for graph in graphs if graph is not None]


def _graphs(column: pd.Series, make: Callable[[Mol], Data]) -> tuple[list[Data | None], dict[int, str]]:
    """The graph of each row, and for each line without a valid molecule the reason."""
    graphs: list[Data | None] = []
    reasons: dict[int, str] = {}
    for line, smiles in column.items():
        try:
            graphs.append(make(parse_smiles(smiles)))
        except UserError as error:
            graphs.append(None)
            reasons[line] = f"{error}: correct it"
    return graphs, reasons
