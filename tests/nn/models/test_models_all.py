"""What every model does, for all in the registry."""

import copy
from inspect import signature

import pytest
import torch
from helpers.graphs import graph
from torch import nn
from torch_geometric.data import Batch, Data

from gredkit import GraphSpec, add_hops
from gredkit.config.bindings import load
from gredkit.data.objectives import objective
from gredkit.data.structures import Structure
from gredkit.data.task import SPLITS, Task
from gredkit.inference.about import SavedModel
from gredkit.inference.saved import load_folder, save
from gredkit.nn.composition import PARTS, wanted_parts
from gredkit.nn.models.base import needs_of
from gredkit.nn.parameters import count_parameters
from gredkit.registry import AGGREGATORS, ENCODERS, MODELS, SEQUENCES

COLOURS, BONDS, K = 4, 3, 3
STEPS = 80
GRAPHS = {
    "house": (5, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]),
    "single node": (1, []),
    "two components": (6, [(0, 2), (2, 4), (1, 3), (3, 5), (5, 1)]),
    "path": (7, [(v, v + 1) for v in range(6)]),
    "no edges": (3, []),
}
# Parameters of the second and last layer that cannot have an influence: what it would do to the edges comes too late.
IDLE = {
    "gatedgcn": ("layers.1.edge_norm.weight", "layers.1.edge_norm.bias"),
    "grit": tuple(f"layers.1.pair_{part}.{leaf}" for part in ("out", "norm") for leaf in ("weight", "bias")),
}


def plain(name: str) -> Data:
    """A graph with both directions of each edge, features of nodes and of edges."""
    nodes, edges = GRAPHS[name]
    data = graph(nodes, [*edges, *((v, u) for u, v in edges)])
    data.x = torch.arange(nodes)[:, None] % COLOURS
    data.edge_attr = (data.edge_index.sum(0) % BONDS)[:, None]
    data.y = torch.tensor([[1.0]])
    return data


def prepared(model: nn.Module, data: Data) -> Data:
    data = copy.copy(data)
    for structure in needs_of(model, K):
        data = structure.add_to(data)
    return data


def built(name: str, *bindings: str, level: str = "graph", edges: bool = False) -> nn.Module:
    """A small model in evaluation, as gin composes it."""
    spec = GraphSpec(nodes=(COLOURS,), outputs=2, edges=(BONDS,) if edges else None, level=level)
    told = [f"variant.model = '{name}'", "LAYERS = 2", "DIM = 16", *bindings]
    told += ["variant.edge_features = 'categorical'"] if edges else []
    torch.manual_seed(0)
    return load([], told).composition(spec).build(spec).eval()


def batch_of(model: nn.Module, *names: str) -> Batch:
    return Batch.from_data_list([prepared(model, plain(name)) for name in names])


EVERY = pytest.mark.parametrize("name", MODELS)


@EVERY
@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("level", ["graph", "node"])
def test_one_finite_answer_for_each_graph_or_node(name, level, edges):
    model = built(name, level=level, edges=edges)
    batch = batch_of(model, *GRAPHS)
    out = model(batch)
    assert out.shape == (len(GRAPHS) if level == "graph" else batch.num_nodes, 2)
    assert out.isfinite().all()


@EVERY
@pytest.mark.parametrize("edges", [False, True])
def test_the_other_graphs_of_a_batch_do_not_matter(name, edges):
    model = built(name, edges=edges)
    apart = torch.cat([model(batch_of(model, one)) for one in GRAPHS])
    torch.testing.assert_close(model(batch_of(model, *GRAPHS)), apart, rtol=1e-4, atol=1e-5)


@EVERY
@pytest.mark.parametrize("level", ["graph", "node"])
def test_the_order_of_nodes_does_not_matter(name, level):
    model, data = built(name, level=level, edges=True), plain("house")
    order = torch.tensor([3, 0, 4, 1, 2])  # node v becomes order[v]
    turned = copy.copy(data)
    turned.edge_index = order[data.edge_index]
    turned.x = torch.empty_like(data.x).index_copy(0, order, data.x)
    ours, theirs = (model(Batch.from_data_list([prepared(model, one)])) for one in (data, turned))
    torch.testing.assert_close(theirs[order] if level == "node" else theirs, ours, rtol=1e-4, atol=1e-5)


def shuffled(data: Data, seed: int) -> tuple[Data, torch.Tensor]:
    """The same graph with other numbers of its nodes and its edges in another order; node v becomes order[v]."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(data.num_nodes, generator=generator)
    edges = torch.randperm(data.num_edges, generator=generator)
    turned = copy.copy(data)
    turned.edge_index, turned.edge_attr = order[data.edge_index][:, edges], data.edge_attr[edges]
    turned.x = torch.empty_like(data.x).index_copy(0, order, data.x)
    return turned, order


@EVERY
@pytest.mark.parametrize("positional", ["none", "rwse"])
@pytest.mark.parametrize("level", ["graph", "node"])
def test_the_order_of_nodes_and_edges_does_not_matter_in_a_batch_of_disconnected_graphs(name, level, positional):
    """Isolated nodes, two components, several graphs, and features of edges that move with them."""
    told = [f"variant.positional = '{positional}'", "positional.rwse.width = 4"]
    model = built(name, *told, level=level, edges=True)
    graphs = [*map(plain, GRAPHS), with_isolated_nodes()]
    turned, orders = zip(*(shuffled(data, seed) for seed, data in enumerate(graphs)), strict=True)
    assert any(not torch.equal(a.edge_index, b.edge_index) for a, b in zip(graphs, turned, strict=True))
    ours, theirs = (model(Batch.from_data_list([prepared(model, one) for one in some])) for some in (graphs, turned))
    if level == "node":
        first = torch.tensor([0, *(data.num_nodes for data in graphs)]).cumsum(0)
        theirs = theirs[torch.cat([order + start for order, start in zip(orders, first, strict=False)])]
    torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-5)


def with_isolated_nodes() -> Data:
    """A triangle, an edge and two nodes without neighbours, at places in between."""
    data = graph(7, [(0, 2), (2, 5), (5, 0), (2, 0), (5, 2), (0, 5), (1, 6), (6, 1)])
    data.x = torch.tensor([0, 1, 2, 3, 3, 1, 0])[:, None]
    data.edge_attr = (data.edge_index.prod(0) % BONDS)[:, None]
    data.y = torch.tensor([[1.0]])
    return data


@EVERY
def test_edges_are_read_and_their_features_by_models_that_ask_for_them(name):
    model, data = built(name, edges=True), plain("house")
    other_bonds, other_edges = copy.copy(data), copy.copy(data)
    other_bonds.edge_attr = (data.edge_attr + 1) % BONDS
    other_edges.edge_index = data.edge_index[:, data.edge_index.sum(0) != 1]
    other_edges.edge_attr = data.edge_attr[data.edge_index.sum(0) != 1]
    ours, bonds, edges = (
        model(Batch.from_data_list([prepared(model, one)])) for one in (data, other_bonds, other_edges)
    )
    assert not torch.allclose(edges, ours, atol=1e-4)
    assert torch.allclose(bonds, ours, atol=1e-4) != ("edge_features" in wanted_parts(MODELS[name]))


@EVERY
@pytest.mark.parametrize("positional", ["lap_pe", "rwse", "degree"])
def test_a_positional_encoding_is_among_what_it_needs_and_reaches_the_answer(name, positional):
    model = built(name, f"variant.positional = '{positional}'", f"positional.{positional}.width = 4")
    encoding: nn.Module = model.positional  # type: ignore[assignment]
    assert encoding in needs_of(model, K)
    assert all(isinstance(structure, Structure) for structure in needs_of(model, K))
    model(batch_of(model, *GRAPHS)).sum().backward()
    assert any(parameter.grad.abs().sum() > 0 for parameter in encoding.parameters())


@EVERY
def test_the_graphs_of_a_dataset_stay_as_they_are(name):
    model, data = built(name, "variant.positional = 'degree'", "positional.degree.width = 4"), plain("house")
    before = set(data.to_dict())
    prepared(model, data)
    assert set(data.to_dict()) == before


@EVERY
def test_it_fits_what_it_must_be_able_to_fit(name):
    """The mean of the neighbours' colours, at each node, in a few dozen steps."""
    shares = [share for share in signature(MODELS[name]).parameters if share.endswith("dropout")]
    model = built(name, *(f"models.{name}.{share} = 0.0" for share in shares), level="node").train()
    batch = batch_of(model, "house", "path", "two components")
    source, target = batch.edge_index
    colours = nn.functional.one_hot(batch.x[:, 0], COLOURS).float()
    sums = torch.zeros_like(colours).index_add(0, target, colours[source])
    wanted = (sums / sums.sum(1, keepdim=True))[:, :2]
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = nn.functional.mse_loss(model(batch), wanted)
        loss.backward()
        optimiser.step()
    assert loss < 0.05 * wanted.var(0).mean(), loss


@EVERY
def test_every_parameter_gets_a_finite_gradient(name):
    model = built(name, edges=True).train()
    model(batch_of(model, *GRAPHS)).square().sum().backward()
    grads = {path: parameter.grad for path, parameter in model.named_parameters()}
    assert {path for path, grad in grads.items() if grad is None} == set(IDLE.get(name, ()))
    assert all(grad.isfinite().all() for grad in grads.values() if grad is not None)


@EVERY
@pytest.mark.parametrize("which", ["single node", "no edges"])
def test_it_can_be_trained_on_almost_nothing(name, which):
    """One node has no variance, and no edge has no mean: neither may spoil the statistics of a batch norm."""
    model = built(name, edges=True).train()
    batch = batch_of(model, which)
    assert model(batch).isfinite().all()
    assert model.eval()(batch).isfinite().all()


@EVERY
def test_double_precision_computes_the_same(name):
    model = built(name, edges=True)
    batch = batch_of(model, *GRAPHS)
    single, double = model(batch), model.double()(batch)
    assert double.dtype == torch.float64
    torch.testing.assert_close(double, single.double(), rtol=1e-4, atol=1e-5)


@EVERY
def test_it_is_stored_and_answers_as_before(name, tmp_path):
    spec = GraphSpec(nodes=(COLOURS,), outputs=2, edges=(BONDS,))
    torch.manual_seed(1)
    told = [f"variant.model = '{name}'", "LAYERS = 2", "DIM = 16", "variant.edge_features = 'categorical'"]
    composition = load([], told).composition(spec)
    model = composition.build(spec)
    batch = batch_of(model, *GRAPHS)
    model.train()(batch)  # moves the statistics of batch norms, which are stored too
    graphs = [plain(one) for one in GRAPHS]
    task = Task("drawn", spec, graphs, dict.fromkeys(SPLITS, range(len(graphs))), objective("regression"))
    save(tmp_path, model, SavedModel.of(task, composition, K, "drawn"))
    assert torch.equal(load_folder(tmp_path).model(batch), model.eval()(batch))


@EVERY
def test_it_can_be_built_without_memory_for_its_weights(name):
    """As plans do, to count parameters."""
    with torch.device("meta"):
        model = built(name, edges=True)
    assert count_parameters(model) == count_parameters(built(name, edges=True))


def test_gps_attends_within_graphs_however_these_are_told():
    model = built("gps", level="node")
    batch = batch_of(model, *GRAPHS)
    told = Data(x=batch.x, edge_index=batch.edge_index, batch=batch.batch)
    assert torch.allclose(model(told), model(batch), atol=1e-6)


GRED_PARTS = {"encoder": ENCODERS, "aggregator": AGGREGATORS, "sequence": SEQUENCES}
WAITING = ("gat", "mixhop")  # PyTorch Geometric's own layers, which count the self-loops that they remove


@EVERY
def test_no_step_waits_for_a_device(name):
    """On the meta device shapes are known and values are not, so that asking for a value is an error."""
    model = built(name, edges=True).train()
    batch = batch_of(model, *GRAPHS).to("meta")
    model.to("meta")
    if name in WAITING:
        with pytest.raises(NotImplementedError, match="nonzero"):
            model(batch)
        return
    outputs = model(batch)
    outputs.sum().backward()
    assert {one.grad.device.type for one in model.parameters() if one.grad is not None} == {"meta"}
    with torch.no_grad():
        assert model.eval()(batch).shape == outputs.shape


@EVERY
def test_it_asks_for_parts_by_their_names(name):
    assert set(wanted_parts(MODELS[name])) <= set(PARTS)


def test_a_model_without_needs_gets_the_structures_among_its_parts():
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = built("gin", "variant.positional = 'rwse'", "positional.rwse.width = 4")

    model = Plain()
    assert needs_of(model, K) == [model.inner.positional]


def test_gred_needs_hops_up_to_k_and_says_so_where_they_are_missing():
    model = built("gred")
    assert [structure.settings() for structure in needs_of(model, K)] == [{"K": K}]
    with pytest.raises(ValueError, match="hop index"):
        model(Batch.from_data_list([plain("house")]))
    assert model(Batch.from_data_list([add_hops(plain("house"), K)])).shape == (1, 2)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, registry in GRED_PARTS.items() for name in registry])
def test_no_part_of_gred_waits_for_a_device(kind, name):
    model = built("gred", f"variant.{kind} = '{name}'", "DROPOUT = 0.1").train()
    batch = batch_of(model, *GRAPHS).to("meta")
    model.to("meta")(batch).sum().backward()
    with torch.no_grad():
        assert model.eval()(batch).device.type == "meta"
