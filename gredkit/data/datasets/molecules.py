from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import torch
import xxhash
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.hops.cache import cached
from gredkit.data.hops.stored_arrays import FORMAT, StoredArrays
from gredkit.data.objectives import objective
from gredkit.data.splits import check_shares, seeded_split
from gredkit.data.task import GraphSpec, Task
from gredkit.errors import UserError
from gredkit.paths import hop_cache
from gredkit.registry import DATASETS

if TYPE_CHECKING:
    from rdkit.Chem import Mol

COMMON = 20  # a type with fewer atoms than this has no number of its own
POOLED = 0  # the number of all rare types
BONDS = 4  # single, double and triple are 1..3, as in ZINC
LEFT_OUT = ("unreadable", "repeated")
MoleculeParts = tuple[list[str], np.ndarray, np.ndarray]


@DATASETS.register("molecules")
def molecules(lines: int | None = None, train: float = 0.8, validation: float = 0.1, seed: int = 0) -> Task:
    """Predict the penalised logP of real molecules: the first 5000 of the NCI collection, which come with RDKit.

    The target is the one of ZINC: logP - synthetic accessibility - (atoms of the largest ring beyond six), each
    term with mean 0 and standard deviation 1 over all molecules. An atom's type is its element and charge, as
    in "N+1"; types with fewer than 20 atoms share the number 0. Bonds are single, double or triple (kekulised).
    Lines that RDKit cannot read and repeated molecules are left out.

    lines: read only so many lines of the file; None reads all
    train, validation: shares of the molecules; the rest is for the test
    seed: determines the split
    """
    if lines is not None:
        ranges.whole("lines", lines)
    check_shares(train, validation)
    ranges.seed(seed)
    found = _described(_file()[:lines])
    if not found:
        raise UserError(f"there is no molecule in the first {lines} lines: choose a larger number, or None for all")
    made = [(one["kinds"].astype(str).tolist(), one["ends"].T, one["bonds"]) for one in found]
    target = standardised(np.concatenate([one["properties"] for one in found])) @ [1, -1, -1]
    count = Counter(kind for kinds, _, _ in made for kind in kinds)
    common = sorted((kind for kind in count if count[kind] >= COMMON), key=lambda kind: (-count[kind], kind))
    graphs = [_graph(structure, common) for structure in made]
    for graph, y in zip(graphs, target.tolist(), strict=True):
        graph.y = torch.tensor([[y]], dtype=torch.float)
    return Task(
        name="molecules",
        spec=GraphSpec(nodes=(len(common) + 1,), edges=(BONDS,), outputs=1),
        graphs=graphs,
        splits=seeded_split(len(made), seed, train=train, validation=validation),
        objective=objective("regression"),
        notes=dict(zip(LEFT_OUT, found[0]["left_out"].tolist(), strict=True)),
        reading={"smiles": "atom_types", "types": common},
    )


def _described(lines: list[str]) -> StoredArrays:
    """Structures and properties of the molecules of a SMILES file; cached, because RDKit takes seconds."""
    from rdkit import __version__, rdBase

    def describe() -> Iterator[Mapping[str, np.ndarray]]:
        with rdBase.BlockLogs():
            read, left_out = read_molecules(lines)
            values, counts = properties(read), list(left_out.values())
            for molecule, row in zip(read, values, strict=True):
                kinds, ends, bonds = _structure(molecule)
                yield {"kinds": np.array(kinds, "S8"), "ends": ends.T, "bonds": bonds, "properties": row[None],
                       "left_out": np.array(counts, np.int64)}  # fmt: skip
                counts = []  # only the first molecule stores the counts

    text = "\n".join([__version__, Path(__file__).read_text(), *lines])
    name = xxhash.xxh3_64_hexdigest(text.encode())
    return cached(hop_cache() / f"molecules-{name}-v{FORMAT}", describe, rdkit=__version__)


def typed_graph(molecule: Mol, types: Sequence[str]) -> Data:
    """A molecule whose atoms are numbered by type, from 1; a type that is not in `types` has number 0."""
    return _graph(_structure(molecule), types)


def _graph(structure: MoleculeParts, types: Sequence[str]) -> Data:
    kinds, ends, bonds = structure
    number = {kind: i for i, kind in enumerate(types, POOLED + 1)}
    return Data(
        x=torch.tensor([[number.get(kind, POOLED)] for kind in kinds]),
        edge_index=torch.from_numpy(np.concatenate([ends, ends[::-1]], 1)),
        edge_attr=torch.from_numpy(np.concatenate([bonds, bonds])),
    )


def read_molecules(lines: list[str]) -> tuple[list[Mol], dict[str, int]]:
    """The molecules of a SMILES file, and for each reason how many lines were left out."""
    from rdkit import Chem

    read: dict[str, Mol] = {}
    left_out = dict.fromkeys(LEFT_OUT, 0)
    for line in lines:
        molecule = Chem.MolFromSmiles(line.split()[0]) if line.strip() else None
        if molecule is None or not molecule.GetNumAtoms():
            left_out["unreadable"] += 1
            continue
        name = Chem.MolToSmiles(molecule)
        left_out["repeated"] += name in read
        read.setdefault(name, molecule)
    return list(read.values()), left_out


def properties(read: list[Mol]) -> np.ndarray:
    """logP, synthetic accessibility, and atoms of the largest ring beyond six. Shape: -> [molecules, 3]"""
    from rdkit.Chem.Crippen import MolLogP  # type: ignore[attr-defined]

    accessibility = _sascorer().calculateScore
    rings = [molecule.GetRingInfo().AtomRings() for molecule in read]
    beyond = [max(0, max(map(len, ring), default=0) - 6) for ring in rings]
    return np.stack([[MolLogP(m) for m in read], [accessibility(m) for m in read], beyond], 1)


def standardised(columns: np.ndarray) -> np.ndarray:
    """Each column with mean 0 and standard deviation 1; a constant column becomes 0."""
    deviation = columns.std(0)
    return (columns - columns.mean(0)) / np.where(deviation > 0, deviation, 1)


def _structure(molecule: Mol) -> MoleculeParts:
    """Shape: -> atom types [atoms], ends of the bonds [2, bonds], bond types [bonds]"""
    from rdkit import Chem

    orders = {Chem.BondType.DOUBLE: 2, Chem.BondType.TRIPLE: 3}
    molecule = Chem.Mol(molecule)  # a copy, because kekulising changes it
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    charges = ((atom.GetSymbol(), atom.GetFormalCharge()) for atom in molecule.GetAtoms())
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), orders.get(b.GetBondType(), 1)) for b in molecule.GetBonds()]
    ends = np.array(bonds, np.int64).reshape(-1, 3).T
    return [f"{symbol}{charge:+d}" if charge else symbol for symbol, charge in charges], ends[:2], ends[2]


def _file() -> list[str]:
    from rdkit import RDConfig

    return _shipped(RDConfig.RDDataDir, "NCI", "first_5K.smi").read_text().splitlines()


def _sascorer() -> ModuleType:
    from rdkit import RDConfig

    # A script that comes with RDKit but is not part of its package.
    spec = spec_from_file_location("sascorer", _shipped(RDConfig.RDContribDir, "SA_Score", "sascorer.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _shipped(*parts: str) -> Path:
    path = Path(*parts)
    if not path.exists():
        raise UserError(f"this installation of RDKit lacks {path.name}: install the wheel with 'pip install rdkit'")
    return path
