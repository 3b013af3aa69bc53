"""Molecules with categories numbered as in the Open Graph Benchmark (OGB), the format of the Peptides datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.data.own.molecule import ATOM, BOND, molecule_graph

if TYPE_CHECKING:
    from rdkit.Chem import Mol

# For each column of `molecule_graph` that OGB numbers differently: OGB's number of each RDKit category.
ATOM_NUMBERS: dict[str, Sequence[int]] = {
    "element": [118, *range(118), 118],  # hydrogen is 0; a placeholder atom is the last category
    "chirality": [0, 1, 2, 3, 4, 4, 4, 4, 4],
    "hybridisation": [5, 5, 0, 1, 2, 5, 3, 4, 5],  # sp, sp2, sp3, sp3d, sp3d2, others
}
BOND_NUMBERS: dict[str, Sequence[int]] = {
    "type": [{1: 0, 2: 1, 3: 2, 12: 3}.get(kind, 4) for kind in range(BOND["type"])],  # 12 is aromatic
    "stereo": [0, 5, 1, 2, 3, 4, 5, 5],  # none, Z, E, cis, trans, any
}


def ogb_graph(molecule: Mol) -> Data:
    """`molecule_graph` with the category numbers of the Open Graph Benchmark.

    Shape: x [atoms, 9], edge_index [2, 2 * bonds], edge_attr [2 * bonds, 3], all integers
    """
    graph = molecule_graph(molecule)
    graph.x = _renumbered(graph.x, list(ATOM), ATOM_NUMBERS)
    graph.edge_attr = _renumbered(graph.edge_attr, list(BOND), BOND_NUMBERS)
    return graph


def _renumbered(values: Tensor, columns: Sequence[str], numbers: dict[str, Sequence[int]]) -> Tensor:
    values = values.clone()
    for column, table in numbers.items():
        place = columns.index(column)
        values[:, place] = torch.tensor(table)[values[:, place]]
    return values
