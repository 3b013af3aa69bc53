"""Molecules as graphs: atoms are nodes, bonds are edges, with the columns of the Open Graph Benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch_geometric.data import Data

from gredkit.errors import UserError

if TYPE_CHECKING:
    from rdkit.Chem import Atom, Bond, Mol

# The vocabulary size of each column; larger values share the last category.
ATOM = {
    "element": 120,  # atomic number; 0 is a placeholder such as *
    "chirality": 9,
    "degree": 12,
    "charge": 12,  # from -5
    "hydrogens": 10,
    "radicals": 6,
    "hybridisation": 9,
    "aromatic": 2,
    "in_ring": 2,
}
BOND = {"type": 22, "stereo": 8, "conjugated": 2}


def parse_smiles(smiles: str) -> Mol:
    """The molecule that a SMILES string describes; a `UserError` says why it is invalid."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():  # RDKit's own message becomes part of ours
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None:
            raw = Chem.MolFromSmiles(smiles, sanitize=False)
            problems = [] if raw is None else Chem.DetectChemistryProblems(raw)
            reason = problems[0].Message() if problems else "it is not SMILES"
            raise UserError(f"'{smiles}' is not a molecule ({reason.strip().rstrip('.')})")
    if molecule.GetNumAtoms() == 0:
        raise UserError(f"'{smiles}' is not a molecule (it has no atoms)")
    return molecule


def molecule_graph(molecule: Mol) -> Data:
    """The graph of a molecule: atoms in RDKit's order, each bond in both directions.

    Shape: x [atoms, 9], edge_index [2, 2 * bonds], edge_attr [2 * bonds, 3], all integers
    """
    x = [_clipped(_atom(atom), ATOM) for atom in molecule.GetAtoms()]
    ends, edges = [], []
    for bond in molecule.GetBonds():
        begin, end = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        ends += [(begin, end), (end, begin)]
        edges += [_clipped(_bond(bond), BOND)] * 2
    return Data(
        x=torch.tensor(x, dtype=torch.long).view(-1, len(ATOM)),
        edge_index=torch.tensor(ends, dtype=torch.long).view(-1, 2).T.contiguous(),
        edge_attr=torch.tensor(edges, dtype=torch.long).view(-1, len(BOND)),
    )


def _atom(atom: Atom) -> list[int]:
    return [
        atom.GetAtomicNum(),
        int(atom.GetChiralTag()),
        atom.GetTotalDegree(),
        atom.GetFormalCharge() + 5,
        atom.GetTotalNumHs(),
        atom.GetNumRadicalElectrons(),
        int(atom.GetHybridization()),
        int(atom.GetIsAromatic()),
        int(atom.IsInRing()),
    ]


def _bond(bond: Bond) -> list[int]:
    return [int(bond.GetBondType()), int(bond.GetStereo()), int(bond.GetIsConjugated())]


def _clipped(values: list[int], sizes: dict[str, int]) -> list[int]:
    return [min(max(value, 0), size - 1) for value, size in zip(values, sizes.values(), strict=True)]
