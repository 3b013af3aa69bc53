import pytest
import torch
from helpers.own_files import EXAMPLES

from gredkit.data.datasets.lrgb import ATOM, BOND
from gredkit.data.ogb import ogb_graph
from gredkit.data.own.molecule import parse_smiles

MOLECULES = [line.split(",")[1] for line in (EXAMPLES / "solubility.csv").read_text().splitlines()[1:]]
RARE = ["*", "[H][H]", "[Na+].[Cl-]", "[CH3]", "F/C=C/F", "[NH4+]", "[Pt@SP1](F)(Cl)(Br)I", "[U+6]", "FS(F)(F)(F)(F)F"]


@pytest.mark.parametrize("smiles", MOLECULES + RARE)
def test_every_value_is_in_the_vocabulary_of_peptides(smiles):
    graph = ogb_graph(parse_smiles(smiles))
    for table, sizes in ((graph.x, ATOM), (graph.edge_attr, BOND)):
        assert (table >= 0).all()
        assert (table < torch.tensor(sizes)).all()


def test_the_example_of_the_benchmark():
    """The chiral carbon and the double bond that its own documentation works out."""
    graph = ogb_graph(parse_smiles("Cl[C@H](/C=C/C)Br"))
    assert graph.x[1].tolist() == [5, 2, 4, 5, 1, 0, 2, 0, 0]
    double = (torch.tensor([2, 3]) == graph.edge_index.T).all(1)
    assert graph.edge_attr[double].tolist() == [[1, 2, 0]]


def test_others_are_the_last_category():
    (atom,) = ogb_graph(parse_smiles("*")).x.tolist()
    assert atom[0] == 118
    assert ogb_graph(parse_smiles("[Na+].[Cl-]")).x[:, 6].tolist() == [5, 2]  # s is not among them
    assert ogb_graph(parse_smiles("c1ccccc1")).edge_attr.unique(dim=0).tolist() == [[3, 0, 1]]
    assert ogb_graph(parse_smiles("N->[Fe]")).edge_attr[0, 0] == 4
