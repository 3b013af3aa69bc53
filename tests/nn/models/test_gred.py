from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from gredkit import GRED, GraphSpec, add_hops, count_parameters
from gredkit.errors import UserError
from gredkit.nn.encoders.lru import LRU
from gredkit.nn.features.categorical import Categorical
from gredkit.nn.incidence import Incidence
from gredkit.nn.models.gred import edges_to, mean_of_edges
from gredkit.nn.positional.lap_pe import LapPE
from gredkit.registry import AGGREGATORS, ENCODERS, FEATURES, POSITIONAL

SPEC = GraphSpec(nodes=(5, 3), outputs=2, edges=(4,))
COLUMNS = {"categorical": (5, 3), "embedding": (5,), "dense": 4}


def batch(columns=(5, 3), K=2):
    generator = torch.Generator().manual_seed(0)
    edges = [torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.empty(2, 0, dtype=torch.long)]
    graphs = []
    for nodes, edge_index in zip((4, 1), edges, strict=True):
        if isinstance(columns, int):
            x = torch.randn(nodes, columns, generator=generator)
        else:
            x = torch.stack([torch.randint(size, (nodes,), generator=generator) for size in columns], 1)
        bond = torch.randint(4, (edge_index.shape[1],), generator=generator)
        graphs.append(add_hops(Data(x=x, edge_index=edge_index, edge_attr=bond), K))
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize("name", FEATURES)
def test_every_feature_encoder_feeds_a_model(name):
    columns = COLUMNS.get(name, (5, 3))
    model = GRED(GraphSpec(columns, outputs=2), dim=8, layers=1, features=name)
    out = model(batch(columns))
    out.sum().backward()
    assert out.shape == (2, 2)
    assert all(p.grad is not None for p in model.parameters())


def test_the_usual_feature_encoder_follows_the_columns():
    assert isinstance(GRED(GraphSpec(nodes=4, outputs=2)).features, FEATURES["dense"])
    assert isinstance(GRED(SPEC).features, FEATURES["categorical"])


def test_features_of_the_wrong_kind_are_a_mistake():
    with pytest.raises(UserError, match="use the 'dense' feature encoder"):
        GRED(GraphSpec(nodes=4, outputs=2), features="categorical")
    with pytest.raises(UserError, match="use 'categorical'"):
        GRED(SPEC, features="dense")
    with pytest.raises(UserError, match="use 'categorical'"):
        GRED(SPEC, features="embedding")
    with pytest.raises(UserError, match="these graphs carry none"):
        GRED(GraphSpec(nodes=(5,), outputs=2), edge_features="categorical")
    with pytest.raises(UserError, match="readout is one of sum, mean, max, node"):
        GRED(SPEC, readout="median")
    with pytest.raises(UserError, match="'node' does not give one answer for each graph"):
        GRED(SPEC, readout="node")
    with pytest.raises(UserError, match="'sum' does not give one answer for each node"):
        GRED(replace(SPEC, level="node"), readout="sum")


def test_a_symbol_may_be_a_number_or_a_one_hot_row():
    embedding = FEATURES["embedding"]((5,), 8)
    x = torch.tensor([3, 0, 4])
    assert torch.equal(embedding(x), embedding(x[:, None]))
    assert torch.equal(embedding(x), embedding(torch.eye(5)[x]))
    assert torch.equal(embedding(x), embedding.embed.weight[x])


def test_edge_features_add_the_mean_over_a_nodes_edges():
    edges = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    mean = mean_of_edges(edges, Incidence.by_column(torch.tensor([2, 2, 0]), 4))
    assert torch.equal(mean, torch.tensor([[5.0, 6.0], [0.0, 0.0], [2.0, 3.0], [0.0, 0.0]]))
    torch.manual_seed(0)
    model = GRED(SPEC, dim=8, edge_features=partial(Categorical, gelu="tanh"))
    b = batch()
    expected = model.features(b.x) + mean_of_edges(model.edge_features(b.edge_attr), edges_to(b, 5))
    assert torch.equal(model.encode_features(b), expected)


EVERY_PART = {
    **{f"features {name}": (COLUMNS.get(name, (5, 3)), {"features": name}) for name in FEATURES},
    **{f"positional {name}": ((5, 3), {"positional": name}) for name in POSITIONAL},
    **{f"aggregator {name}": ((5, 3), {"aggregator": name}) for name in AGGREGATORS},
    **{f"encoder {name}": ((5, 3), {"encoder": name}) for name in ENCODERS},
    "edge features": ((5, 3), {"edge_features": "categorical"}),
}


@pytest.mark.parametrize("part", EVERY_PART)
@pytest.mark.parametrize(("gelu", "form"), [("tanh", "tanh"), ("erf", "none")])
def test_the_gelu_of_the_model_is_that_of_all_its_parts(part, gelu, form):
    columns, parts = EVERY_PART[part]
    model = GRED(GraphSpec(columns, outputs=2, edges=(4,)), dim=24, gelu=gelu, **parts)
    assert {module.approximate for module in model.modules() if isinstance(module, nn.GELU)} == {form}
    assert model.head[1].approximate == form


def test_a_part_may_have_a_gelu_of_its_own():
    parts = {"features": partial(Categorical, gelu="erf"), "positional": partial(LapPE, gelu="tanh", width=4)}
    model = GRED(SPEC, dim=8, gelu="tanh", **parts)
    assert (model.features.gelu.approximate, model.positional.mlp[1].approximate) == ("none", "tanh")
    model = GRED(SPEC, dim=8, **parts)
    assert (model.features.gelu.approximate, model.positional.mlp[1].approximate) == ("none", "tanh")
    assert model.layers[0].gelu.approximate == "none"


def test_encoding_each_symbol_once_is_encoding_all_items():
    torch.manual_seed(0)
    encoder, x = Categorical((6,), 8), torch.tensor([[4], [1], [4], [0], [1], [4]])
    found, expected = encoder(x), encoder.dense(encoder.gelu(encoder.embeds[0](x[:, 0])))
    torch.testing.assert_close(found, expected)
    into = torch.randn_like(found)
    torch.testing.assert_close(*(torch.autograd.grad(y, list(encoder.parameters()), into) for y in (found, expected)))
    with pytest.raises(IndexError):
        encoder(torch.tensor([[6]]))


@pytest.mark.parametrize("edges", [(4,), (4, 2), 3])
def test_a_batch_without_edges_has_no_edge_features_and_works(edges):
    columns = edges if isinstance(edges, int) else len(edges)
    lonely = Data(
        x=torch.zeros(2, 2, dtype=torch.long),
        edge_index=torch.empty(2, 0, dtype=torch.long),
        edge_attr=torch.empty(0, columns) if isinstance(edges, int) else torch.empty(0, columns, dtype=torch.long),
    )
    model = GRED(replace(SPEC, edges=edges), dim=8, edge_features="dense" if isinstance(edges, int) else "categorical")
    assert model(Batch.from_data_list([add_hops(lonely, 2)])).isfinite().all()


def test_readouts():
    torch.manual_seed(0)
    models = {readout: GRED(SPEC, dim=8, layers=1, readout=readout) for readout in ("sum", "mean", "max")}
    models["node"] = GRED(replace(SPEC, level="node"), dim=8, layers=1)
    h, b = torch.randn(5, 8), batch()
    assert torch.allclose(models["sum"].pool(h, b), torch.stack([h[:4].sum(0), h[4]]))
    assert torch.allclose(models["mean"].pool(h, b), torch.stack([h[:4].mean(0), h[4]]))
    assert torch.equal(models["max"].pool(h, b), torch.stack([h[:4].amax(0), h[4]]))
    assert torch.equal(models["node"].pool(h, b), h)
    assert models["node"](b).shape == (5, 2)
    alone = b.get_example(0)
    assert torch.allclose(models["sum"](alone), models["sum"](b)[:1], atol=1e-6)


def test_head_has_one_or_two_layers():
    assert isinstance(GRED(SPEC, dim=8, head_layers=1).head, torch.nn.Linear)
    assert len(GRED(SPEC, dim=8, head_layers=2).head) == 3


def test_a_graph_without_a_hop_index_is_a_mistake():
    with pytest.raises(ValueError, match=r"call gredkit\.add_hops on it first"):
        GRED(SPEC)(Data(x=torch.zeros(2, 2, dtype=torch.long), edge_index=torch.empty(2, 0, dtype=torch.long)))


def test_repr_says_what_it_is_and_how_large():
    model = GRED(SPEC, dim=8, layers=1, encoder=partial(LRU, mode="scan"))
    assert f"parameters={count_parameters(model):,}" in repr(model)
    assert "mode='scan'" in repr(model)
    assert "empty_hops='constant'" in repr(model)


def test_count_parameters_of_the_papers_zinc_model():
    spec = GraphSpec(nodes=(28,), outputs=1, edges=(4,))
    model = GRED(spec, dim=72, layers=11, edge_features="categorical")
    d = 72
    layer = 2 * 2 * d + 2 * (d * d + d) + 4 * d * d + 3 * d + 2 * (d * d + d)  # norms, MLP2, LRU, GLU
    rest = (28 + 4) * d + 2 * (d * d + d) + (d * d + d) + (d + 1)
    assert count_parameters(model) == 11 * layer + rest
    model.head.requires_grad_(False)
    assert count_parameters(model) == 11 * layer + rest - (d * d + d) - (d + 1)


def test_the_same_seed_gives_the_same_model():
    def weights():
        torch.manual_seed(3)
        return torch.cat([p.flatten() for p in GRED(SPEC, dim=8).parameters()])

    assert torch.equal(weights(), weights())


def test_initialisation_is_the_published_one():
    torch.manual_seed(0)
    model = GRED(GraphSpec(nodes=(500,), outputs=1), dim=256, layers=1)
    layer = model.layers[0]
    assert layer.mlp.up.weight.var().item() == pytest.approx(1 / 256, rel=0.03)
    assert layer.mlp.up.weight.abs().max() <= 2 / 0.8796 / 16 + 1e-6  # cut off at two standard deviations
    assert layer.mlp.up.bias.abs().max() == 0
    assert layer.encoder.in_re.var().item() == pytest.approx(0.5 / 256, rel=0.03)
    assert layer.encoder.out_im.var().item() == pytest.approx(1 / 256, rel=0.03)
    assert model.features.embeds[0].weight.var().item() == pytest.approx(1 / 256, rel=0.03)
