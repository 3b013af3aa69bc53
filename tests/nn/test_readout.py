import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch_geometric.data import Batch, Data

from gredkit.errors import UserError
from gredkit.nn.readout import READOUTS, checked_readout, read_out

OF_GRAPHS = [name for name in READOUTS if name != "node"]
SIZES = st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any)


def batch_of(sizes):
    return Batch.from_data_list([Data(num_nodes=size) for size in sizes])


def one_by_one(h, sizes, readout):
    """Graph by graph, in plain PyTorch."""
    reduce = {"sum": lambda part: part.sum(0), "mean": lambda part: part.mean(0), "max": lambda part: part.amax(0)}
    parts = h.split(sizes)
    return torch.stack([reduce[readout](part) if len(part) else h.new_zeros(h.shape[1]) for part in parts])


@pytest.mark.parametrize("readout", OF_GRAPHS)
@given(sizes=SIZES, seed=st.integers(0, 1000))
def test_value_and_gradient_graph_by_graph(readout, sizes, seed):
    torch.manual_seed(seed)
    h = torch.randn(sum(sizes), 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(len(sizes), 3, dtype=torch.float64)
    found, expected = read_out(h, batch_of(sizes), readout), one_by_one(h, sizes, readout)
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)
    gradients = [torch.autograd.grad(one, h, weight)[0] for one in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("readout", OF_GRAPHS)
def test_gradients_by_finite_differences(readout):
    h = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda h: read_out(h, batch_of([2, 0, 3, 1]), readout), (h,))


@pytest.mark.parametrize("readout", OF_GRAPHS)
@settings(max_examples=30, deadline=None)
@given(sizes=SIZES, seed=st.integers(0, 1000))
def test_the_order_of_nodes_in_a_graph_does_not_matter(readout, sizes, seed):
    torch.manual_seed(seed)
    h = torch.randn(sum(sizes), 3, dtype=torch.float64)
    mixed = torch.cat([part[torch.randperm(len(part))] for part in h.split(sizes)])
    torch.testing.assert_close(read_out(mixed, batch_of(sizes), readout), read_out(h, batch_of(sizes), readout))


@pytest.mark.parametrize("readout", READOUTS)
def test_a_graph_is_read_alike_alone_and_in_a_batch(readout):
    sizes = [3, 1, 4]
    h = torch.randn(8, 5, dtype=torch.float64)
    together = read_out(h, batch_of(sizes), readout)
    alone = [read_out(part, Data(num_nodes=len(part)), readout) for part in h.split(sizes)]
    torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=0)


def test_the_first_of_equal_nodes_receives_the_gradient_of_a_maximum():
    h = torch.tensor([[1.0], [2.0], [2.0], [-3.0]], requires_grad=True)
    read_out(h, batch_of([3, 1]), "max").sum().backward()
    assert h.grad.flatten().tolist() == [0.0, 1.0, 0.0, 1.0]


def test_rows_of_nodes_stay_as_they_are():
    h = torch.randn(4, 2)
    assert read_out(h, batch_of([1, 3]), "node") is h


def test_the_usual_readout_and_mistakes():
    assert (checked_readout(None, "graph"), checked_readout(None, "node")) == ("sum", "node")
    assert [checked_readout(name, "graph") for name in OF_GRAPHS] == OF_GRAPHS
    with pytest.raises(UserError, match="readout is one of sum, mean, max, node, not 'median'"):
        checked_readout("median", "graph")
    with pytest.raises(UserError, match="'node' does not give one answer for each graph"):
        checked_readout("node", "graph")
    with pytest.raises(UserError, match="'max' does not give one answer for each node"):
        checked_readout("max", "node")
