from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from helpers.graphs import to_networkx
from rdkit import Chem, RDConfig, rdBase
from rdkit.Chem.rdMolDescriptors import CalcCrippenDescriptors

from gredkit.data.datasets.molecules import molecules, properties, read_molecules, standardised
from gredkit.data.task import Task
from gredkit.errors import UserError

LINES = Path(RDConfig.RDDataDir, "NCI", "first_5K.smi").read_text().splitlines()


@pytest.fixture(scope="module")
def read() -> list:
    with rdBase.BlockLogs():
        return read_molecules(LINES)[0]


@pytest.fixture(scope="module")
def columns(read) -> np.ndarray:
    return properties(read)


@pytest.fixture(scope="module")
def task() -> Task:
    return molecules()


def test_lines_are_left_out_for_a_reason():
    with rdBase.BlockLogs():
        kept, left_out = read_molecules(
            ["CCO\t1", "C(\t2", "", "OCC\t3", "c1ccccc1\t4", "C1=CC=CC=C1 5", "N 6", "not\t7"]
        )
    assert [Chem.MolToSmiles(molecule) for molecule in kept] == ["CCO", "c1ccccc1", "N"]
    assert left_out == {"unreadable": 3, "repeated": 2}


def test_every_line_of_the_file_is_accounted_for(task):
    assert len(task.graphs) + task.notes["unreadable"] + task.notes["repeated"] == len(LINES)
    assert len(task.graphs) > 4800


def test_atoms_and_bonds_are_those_of_the_file(task, read):
    """A graph is the molecule: elements with charges under one number each, bonds by their kekulised order."""
    atoms: Counter[tuple[str, int]] = Counter()
    numbers: dict[tuple[str, int], int] = {}
    for molecule, graph in zip(read, task.graphs, strict=True):
        order = {}
        whole = Chem.Mol(molecule)
        Chem.Kekulize(whole, clearAromaticFlags=True)
        for bond in whole.GetBonds():
            a, b = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            order[a, b] = order[b, a] = int(bond.GetBondTypeAsDouble())
        assert dict(zip(map(tuple, graph.edge_index.T.tolist()), graph.edge_attr.tolist(), strict=True)) == order
        for atom, number in zip(molecule.GetAtoms(), graph.x[:, 0].tolist(), strict=True):
            kind = atom.GetSymbol(), atom.GetFormalCharge()
            atoms[kind] += 1
            assert numbers.setdefault(kind, number) == number
    pooled = {kind for kind in atoms if atoms[kind] < 20}
    assert {kind for kind in numbers if numbers[kind] == 0} == pooled
    assert sorted(numbers[kind] for kind in atoms if kind not in pooled) == list(range(1, task.spec.nodes[0]))
    assert numbers["C", 0] == 1
    assert numbers["N", 1] != numbers["N", 0]


def test_log_p_against_its_descriptor(read, columns):
    for i in range(0, len(read), 250):
        assert columns[i, 0] == pytest.approx(CalcCrippenDescriptors(read[i])[0])


def test_accessibility_against_the_published_scores():
    table = Path(RDConfig.RDContribDir, "SA_Score", "data", "zim.100.txt").read_text().splitlines()[1:]
    rows = [row.split("\t") for row in table]
    assert len(rows) == 100
    found = properties([Chem.MolFromSmiles(smiles) for smiles, _, _ in rows])[:, 1]
    np.testing.assert_allclose(found, [float(score) for _, _, score in rows], atol=5.1e-4)


def test_rings_against_a_minimum_cycle_basis(task, columns):
    large = np.flatnonzero(columns[:, 2])
    assert len(large) > 20
    for i in [*large[::3].tolist(), *range(0, len(columns), 400)]:
        rings = nx.minimum_cycle_basis(to_networkx(task.graphs[i]))
        assert columns[i, 2] == max(0, max(map(len, rings), default=0) - 6)


def test_the_target_is_the_sum_of_its_parts(task, columns):
    parts = standardised(columns)
    np.testing.assert_allclose(parts.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(parts.std(0), 1)
    expected = parts[:, 0] - parts[:, 1] - parts[:, 2]
    np.testing.assert_allclose([float(graph.y) for graph in task.graphs], expected, rtol=1e-5, atol=1e-6)


def test_a_constant_part_is_no_part():
    np.testing.assert_array_equal(standardised(np.array([[1.0, 5.0], [3.0, 5.0]])), [[-1, 0], [1, 0]])


def test_nothing_is_printed(capfd):
    """Lines that RDKit cannot read are counted, not complained of in the terminal."""
    task = molecules(lines=2100)
    assert task.notes["unreadable"] > 0
    assert capfd.readouterr() == ("", "")
    Chem.MolFromSmiles("C(")
    assert "C(" in capfd.readouterr().err  # RDKit does complain where it is let


def test_rdkit_reads_the_file_once(monkeypatch):
    first = molecules(lines=60)
    monkeypatch.setattr(
        "gredkit.data.datasets.molecules.read_molecules", lambda lines: pytest.fail("the file is read again")
    )
    again = molecules(lines=60)
    assert again.notes == first.notes
    for one, other in zip(first.graphs, again.graphs, strict=True):
        assert one.to_dict().keys() == other.to_dict().keys()
        assert all(torch.equal(value, other[key]) for key, value in one)
    with pytest.raises(pytest.fail.Exception):
        molecules(lines=61)


def test_no_lines_are_a_sentence():
    with pytest.raises(UserError, match="lines is a whole number from 1"):
        molecules(lines=0)
