import pandas as pd
import pytest
import torch
from helpers.own_files import EXAMPLES, let_rdkit_speak
from torch_geometric.utils import from_smiles

from gredkit.data.own.molecule import ATOM, BOND, molecule_graph, parse_smiles
from gredkit.errors import UserError

MOLECULES = pd.read_csv(EXAMPLES / "solubility.csv")["smiles"].tolist()
RARE = ["*", "[H][H]", "[Na+].[Cl-]", "[CH3]", "F/C=C/F", "[NH4+]", "[Pt@SP1](F)(Cl)(Br)I", "[U+6]", "FS(F)(F)(F)(F)F"]


@pytest.mark.parametrize("smiles", MOLECULES)
def test_columns_are_those_of_pyg(smiles):
    found, expected = molecule_graph(parse_smiles(smiles)), from_smiles(smiles)
    assert torch.equal(found.x, expected.x)

    def bonds(graph):
        return sorted(zip(graph.edge_index.T.tolist(), graph.edge_attr.tolist(), strict=True))

    assert bonds(found) == bonds(expected)


@pytest.mark.parametrize("smiles", MOLECULES + RARE)
def test_every_value_is_in_its_vocabulary(smiles):
    graph = molecule_graph(parse_smiles(smiles))
    assert graph.x.shape == (graph.num_nodes, 9)
    assert graph.edge_attr.shape == (graph.num_edges, 3)
    for table, sizes in ((graph.x, ATOM), (graph.edge_attr, BOND)):
        assert (table >= 0).all()
        assert (table < torch.tensor(list(sizes.values()))).all()


def test_what_lies_beyond_a_vocabulary_is_its_last_category():
    assert molecule_graph(parse_smiles("[U+9]")).x[0, 3] == 11
    assert molecule_graph(parse_smiles("[U-9]")).x[0, 3] == 0


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("C1CC", "it is not SMILES"),
        ("hello", "it is not SMILES"),
        ("CN(C)(C)C", "Explicit valence for atom # 1 N, 4, is greater than permitted"),
        ("c1cccc1", "Can't kekulize mol"),
        ("", "it has no atoms"),
    ],
)
def test_what_is_no_molecule_is_a_mistake_and_rdkit_is_silent(smiles, reason, capfd):
    let_rdkit_speak(capfd)
    with pytest.raises(UserError) as caught:
        parse_smiles(smiles)
    assert str(caught.value).startswith(f"'{smiles}' is not a molecule ({reason}")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
