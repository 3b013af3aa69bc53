"""GRED taken apart: every switch of the layer and of the LRU, by kernels, by modules, and by a plain loop in numpy."""

import math
from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch
from helpers.checks import stirred
from helpers.graphs import from_networkx, index_of, sequences_of, small_graphs, to_networkx
from torch import nn
from torch_geometric.data import Batch

from gredkit import GRED, GraphSpec, GREDLayer, add_hops, without_kernels
from gredkit.ablation.matching import matched
from gredkit.ablation.record import eigenvalues, hop_weights
from gredkit.config.bindings import load
from gredkit.errors import UserError
from gredkit.nn.encoders.lru import LRU
from gredkit.nn.kernels.call import CALLED
from gredkit.nn.layer import SetMLP
from gredkit.nn.parameters import count_parameters
from gredkit.training.optimiser import make_optimiser
from gredkit.training.recipe import Recipe

DIM, K = 6, 5
LAYER: list[dict] = [
    {"set_mlp": False},
    {"glu": "none"},
    {"glu": "half"},
    {"skip": False},
    {"set_skip": False},
    {"norm": False},
    {"direction": "near_to_far"},
    {"direction": "near_to_far", "empty_hops": "zero"},
    {"set_mlp": False, "norm": False, "glu": "none", "skip": False, "direction": "near_to_far"},
]
RECURRENCE: list[dict] = [{"eigenvalues": "real"}, {"learned": False}, {"shared": True}, {"gamma": False}]
RECURRENCE += [{"eigenvalues": "real", "learned": False, "shared": True, "gamma": False}]
SWITCHES: list[tuple[dict, dict]] = [(layer, {}) for layer in LAYER] + [({}, recurrence) for recurrence in RECURRENCE]


def layer_of(switches: dict, recurrence: dict) -> GREDLayer:
    torch.manual_seed(0)
    layer = GREDLayer(DIM, encoder=partial(LRU, state_dim=4, **recurrence), **switches)
    with torch.no_grad():
        for parameter in layer.parameters():
            if parameter.requires_grad:
                parameter += 0.1 * torch.randn_like(parameter)
    return layer


# The layer as the paper's equations say it, for one node after another.


def plain_layer(layer: GREDLayer, h: np.ndarray, graph: nx.Graph, switches: dict) -> np.ndarray:
    """Shape: h [nodes, dim] -> [nodes, dim]"""
    w = {name: value.detach().numpy() for name, value in layer.state_dict().items()}
    distances = dict(nx.all_pairs_shortest_path_length(graph, K))

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        if not switches.get("norm", True):
            return x
        return (x - x.mean()) / np.sqrt(x.var() + 1e-6) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return w[f"{name}.weight"] @ x + w[f"{name}.bias"]

    def gelu(x: np.ndarray) -> np.ndarray:
        return x * (1 + np.array([math.erf(one / math.sqrt(2)) for one in x])) / 2

    def mlp(a: np.ndarray) -> np.ndarray:
        if not switches.get("set_mlp", True):
            return a
        update = dense(gelu(dense(norm(a, "mlp.norm"), "mlp.up")), "mlp.down")
        return a + update if switches.get("set_skip", True) else update

    lam = np.exp(-np.exp(w["encoder.nu_log"]) + 1j * np.exp(w["encoder.theta_log"]))
    into = np.exp(w["encoder.gamma_log"])[:, None] * (w["encoder.in_re"] + 1j * w["encoder.in_im"])
    out = w["encoder.out_re"] + 1j * w["encoder.out_im"]
    rows = []
    for v in graph:
        hops = [[u for u, far in distances[v].items() if far == k] for k in range(K + 1)]
        if switches.get("empty_hops") == "zero":
            hops = [hop for hop in hops if hop]
        x = [mlp(h[hop].sum(0)) for hop in hops]
        state = np.zeros(len(into), complex)
        for row in x if switches.get("direction") == "near_to_far" else x[::-1]:
            state = lam * state + into @ norm(row, "norm")
        y = gelu((out @ state).real)
        if switches.get("glu", "full") != "none":
            value = y if switches.get("glu") == "half" else dense(y, "glu.value")
            y = value / (1 + np.exp(-dense(y, "glu.gate")))
        rows.append(y + x[0] if switches.get("skip", True) else y)
    return np.array(rows)


@pytest.mark.parametrize(("switches", "recurrence"), SWITCHES, ids=str)
def test_the_layer_is_the_plain_loop(switches, recurrence):
    layer = layer_of(switches, recurrence).double()
    graphs = small_graphs(K)
    h = torch.randn(sum(graph.num_nodes for graph in graphs), DIM, dtype=torch.float64)
    found = layer(h, index_of(*graphs)).detach().numpy()
    rows = torch.tensor_split(h, np.cumsum([graph.num_nodes for graph in graphs])[:-1].tolist())
    expected = [plain_layer(layer, r.numpy(), to_networkx(g), switches) for r, g in zip(rows, graphs, strict=True)]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.needs("compiler")
@pytest.mark.parametrize("mode", ["auto", "kernel"])
@pytest.mark.parametrize(("switches", "recurrence"), SWITCHES, ids=str)
def test_kernels_compute_what_the_switches_say(switches, recurrence, mode):
    """Value and gradients in float32 with kernels are those of the modules in float64."""
    layer = layer_of(switches, {**recurrence, "mode": mode})
    graphs = [*small_graphs(K), add_hops(from_networkx(nx.path_graph(30)), 29)]
    h = torch.randn(sum(graph.num_nodes for graph in graphs), DIM)
    CALLED.clear()

    def both(layer: GREDLayer, h: torch.Tensor) -> list[torch.Tensor]:
        h = h.detach().requires_grad_()
        out = layer(h, index_of(*graphs))
        trained = [parameter for parameter in layer.parameters() if parameter.requires_grad]
        return [out.detach(), *torch.autograd.grad(out.square().sum(), (h, *trained))]

    found = both(layer, h)
    assert CALLED & {"hop_scan_forward"} if mode == "auto" else CALLED & {"hop_filter_forward", "layers_forward"}
    with without_kernels():
        expected = both(layer.double(), h.double())
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours - theirs).abs().max() <= 1e-4 * max(theirs.abs().max().item(), 0.1)


@pytest.mark.needs("compiler")
@pytest.mark.parametrize(
    ("switches", "at_once"),
    [
        ({"share_layers": True}, True),
        ({"direction": "near_to_far"}, True),
        *(({"encoder": partial(LRU, **recurrence)}, True) for recurrence in RECURRENCE),
        *(({name: False}, False) for name in ("set_mlp", "norm", "skip", "set_skip")),
        ({"glu": "none"}, False),
    ],
    ids=str,
)
def test_all_layers_run_in_one_call_where_the_kernel_knows_the_switch(switches, at_once):
    model = GRED(GraphSpec(nodes=3, outputs=1), dim=DIM, layers=2, **switches)
    batch = Batch.from_data_list(small_graphs(2))
    batch.x = torch.randn(batch.num_nodes, 3)
    CALLED.clear()
    model(batch)
    assert ("layers_forward" in CALLED) is at_once


def test_sequences_are_turned_and_targets_stay():
    hops = index_of(*small_graphs(K))
    turned = hops.with_empty_hops.near_to_far
    assert sequences_of(turned) == [sequence[::-1] for sequence in sequences_of(hops.with_empty_hops)]
    assert turned.targets.columns.tolist() == hops.targets.columns.tolist()
    assert sequences_of(turned.near_to_far) == sequences_of(hops.with_empty_hops)


@pytest.mark.parametrize("encoder", ["mean", "attention", "weighted_sum"])
def test_a_direction_needs_an_encoder_that_has_one(encoder):
    GREDLayer(8, encoder=encoder)
    with pytest.raises(UserError, match="direction='near_to_far' needs a recurrent encoder"):
        GREDLayer(8, encoder=encoder, direction="near_to_far")


def test_what_is_off_has_no_parameters():
    def count(**switches):
        return count_parameters(GREDLayer(8, **switches))

    def of_lru(**switches):
        return count_parameters(LRU(8, 5, **switches))

    assert count() - count(set_mlp=False) == count_parameters(SetMLP(8))
    assert count() - count(glu="none") == 2 * (8 * 8 + 8)
    assert count() - count(norm=False) == 2 * 16
    assert of_lru() - of_lru(eigenvalues="real") == of_lru() - of_lru(gamma=False) == 5
    assert of_lru() - of_lru(learned=False) == 10
    assert of_lru() - of_lru(shared=True) == 8
    shared = GRED(GraphSpec(nodes=3, outputs=1), dim=8, layers=7, share_layers=True)
    assert count_parameters(shared) == count_parameters(GRED(GraphSpec(nodes=3, outputs=1), dim=8, layers=1))


def test_the_matrices_start_alike_whatever_is_switched():
    """So that variants of one seed differ in what is switched and in nothing else."""

    def start(**switches):
        torch.manual_seed(0)
        return LRU(8, **switches).state_dict()

    usual = start()
    for switches in ({"eigenvalues": "real"}, {"learned": False}, {"gamma": False}):
        for name in ("nu_log", "in_re", "in_im", "out_re", "out_im"):
            assert torch.equal(start(**switches)[name], usual[name])


def test_eigenvalues_are_what_was_asked_for_and_are_recorded():
    real, one = LRU(8, eigenvalues="real"), stirred(LRU(8, shared=True))
    assert (real.eigenvalues().imag == 0).all()
    assert one.eigenvalues().shape == (8,)
    assert len(set(one.eigenvalues().tolist())) == 1
    model = GRED(GraphSpec(nodes=3, outputs=1), dim=8, layers=3, encoder=partial(LRU, shared=True), share_layers=True)
    (recorded,) = eigenvalues(model)
    assert len(recorded["real"]) == 8


def test_weights_of_hops_are_recorded_from_far_to_near_and_from_near_to_far():
    torch.manual_seed(0)
    usual = GREDLayer(8)
    turned = GREDLayer(8, direction="near_to_far")
    turned.load_state_dict(usual.state_dict())
    assert hop_weights(turned, 4) == [hop_weights(usual, 4)[0][::-1]]
    assert hop_weights(GREDLayer(8, encoder="gru"), 4) == []


def test_fixed_eigenvalues_are_not_trained():
    layer = GREDLayer(8, encoder=partial(LRU, learned=False, gamma=False))
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    optimiser = make_optimiser(layer, Recipe(learning_rate=0.1))
    graphs = small_graphs(K)
    layer(torch.randn(sum(graph.num_nodes for graph in graphs), 8), index_of(*graphs)).square().sum().backward()
    optimiser.step()
    fixed = {name for name, value in layer.state_dict().items() if torch.equal(value, before[name])}
    assert fixed == {"encoder.nu_log", "encoder.theta_log", "encoder.gamma_log"}


GIN = ["models.gred.set_mlp = False", "models.gred.glu = 'none'", "models.gred.skip = False"]
GIN += ["models.gred.set_skip = False", "models.gred.norm = False", "models.gred.direction = 'near_to_far'"]
GIN += ["models.gred.share_layers = True", "encoders.lru.eigenvalues = 'real'", "encoders.lru.learned = False"]
GIN += ["encoders.lru.shared = True", "encoders.lru.gamma = False"]


@pytest.mark.parametrize("binding", GIN)
def test_gin_sets_it_and_widths_can_be_matched(binding):
    spec, wanted = GraphSpec(nodes=(5,), outputs=2), 20_000
    composition = load([], ["LAYERS = 2", binding]).composition(spec)
    usual = load([], ["LAYERS = 2"]).composition(spec)
    assert composition != usual
    found = load([], ["LAYERS = 2", binding, *matched(composition, spec, wanted).bindings]).composition(spec)
    model: nn.Module = found.build(spec)
    assert count_parameters(model) == pytest.approx(wanted, rel=0.01)
