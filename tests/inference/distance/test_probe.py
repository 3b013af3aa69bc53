"""What goes into a model and what its readout reads, seen from outside."""

import pytest
import torch
from nn.models.test_models_all import batch_of, built
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import SimpleConv, global_mean_pool

from gredkit.errors import UserError
from gredkit.inference.distance.probe import leaf, look
from gredkit.registry import MODELS

GRAPHS = "house", "path", "two components"


class Plain(nn.Module):
    """No GraphModel: reads numbers, has neither `features` nor `pool`."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = SimpleConv(), nn.Linear(2, 1)

    def forward(self, batch):
        return self.head(global_mean_pool(self.conv(batch.x, batch.edge_index), batch.batch))


def plain_batch(dtype=torch.float):
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    return Batch.from_data_list([Data(x=torch.arange(6).view(3, 2).to(dtype), edge_index=edges) for _ in range(2)])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("level", ["graph", "node"])
def test_looking_changes_nothing(name, level):
    model = built(name, level=level)
    batch = batch_of(model, *GRAPHS)
    with torch.no_grad():
        before = model(batch)
        seen = look(model, batch)
        torch.testing.assert_close(seen.out, before)
        assert len(seen.x) == len(seen.h) == batch.num_nodes
        assert "pool" not in vars(model)
        assert not any(module._forward_hooks for module in model.modules())
        torch.testing.assert_close(look(model, batch, states=seen.states).out, before)


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_made_from_the_states_and_these_from_the_features(name):
    model = built(name)
    batch = batch_of(model, *GRAPHS)
    seen = look(model, batch, leaf)
    (slope,) = torch.autograd.grad(seen.h.sum(), seen.x)
    assert slope.abs().sum() > 0
    with torch.no_grad():
        moved = look(model, batch, states=[1.1 * h + 1 for h in seen.states])
        reads_states = not torch.allclose(moved.out, seen.out, atol=1e-5)
        assert reads_states == (name != "graphormer")  # it answers from its graph token
        assert not torch.equal(look(model, batch, lambda x: x + 1).h, seen.h)


def test_a_model_that_never_pools_shows_the_last_rows_of_its_nodes():
    model, batch = Plain(), plain_batch()
    seen = look(model, batch, leaf)
    torch.testing.assert_close(seen.h, model.conv(batch.x, batch.edge_index))
    torch.testing.assert_close(look(model, batch, states=[torch.zeros(6, 2)]).out, model.head.bias.expand(2, 1))


def test_categories_without_a_part_that_encodes_them_have_no_derivative():
    with pytest.raises(UserError, match="keep the module that encodes its nodes as `features`"):
        look(Plain(), plain_batch(torch.long))
