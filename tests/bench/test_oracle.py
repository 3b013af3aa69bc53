"""The dense oracle is an independent witness: published numbers, and the fast path on any graph."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from golden.compare import TOLERANCE, Difference
from golden.published import build, graphs, load
from helpers.graphs import HOPS, any_graphs, graph, small_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from gredkit import GRED, GraphSpec, add_hops
from gredkit.bench.oracle import DenseGRED, dense_batch, distances
from gredkit.errors import UserError
from gredkit.nn.encoders.lru import LRU, MODES
from gredkit.nn.readout import READOUTS

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("*.npz"))


def random_model(seed, mode="kernel", dtype=torch.float64, readout="sum", **kwargs):
    """A small model whose parameters are all random, biases and norms included."""
    torch.manual_seed(seed)
    spec = GraphSpec(nodes=3, outputs=2, edges=(4,), level="node" if readout == "node" else "graph")
    kwargs = {"features": "dense", "edge_features": "categorical", "dim": 6, "layers": 2, "readout": readout, **kwargs}
    model = GRED(spec, encoder=partial(LRU, state_dim=5, mode=mode), **kwargs)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return model.to(dtype)


def with_features(data, K, seed):
    """The graph with random features and its hop index."""
    draw = torch.Generator().manual_seed(seed)
    data = data.clone()
    data.x = torch.randn(data.num_nodes, 3, generator=draw, dtype=torch.float64)
    data.edge_attr = torch.randint(4, (data.edge_index.shape[1],), generator=draw)
    return add_hops(data, K)


def outputs_and_gradients(model, *arguments):
    model.zero_grad()
    out = model(*arguments)
    out.backward(torch.arange(out.numel(), dtype=out.dtype).view(out.shape).cos())
    # What nothing depends on has no gradient at all on one path and a zero one on the other.
    grads = {n: torch.zeros_like(p) if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}
    return out.detach(), grads


def assert_agree(model, batch, K, tolerance):
    """Same outputs, same gradients of all parameters, relative to the largest value of each."""
    oracle = DenseGRED(model)
    ours, our_grads = outputs_and_gradients(model, batch)
    theirs, grads = outputs_and_gradients(oracle, batch, dense_batch(batch, K))
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert len(grads) == len(our_grads) > 40
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance * biggest(theirs))
    largest = max(map(biggest, grads.values()))
    for name, grad in our_grads.items():
        reference = grads[f"model.{name}"]
        scale = max(biggest(reference), largest / 1000)  # below is rounding noise
        torch.testing.assert_close(grad, reference, rtol=0, atol=tolerance * scale, msg=lambda m, n=name: f"{n}: {m}")


def biggest(values):
    return values.abs().max().item() if values.numel() else 0.0


@pytest.mark.parametrize("empty_hops", ["constant", "zero"])
@pytest.mark.parametrize("glu", ["full", "half"])
@pytest.mark.parametrize("mode", ["kernel", "scan", "loop"])
@settings(max_examples=30, deadline=None)
@given(
    data=st.lists(any_graphs(), min_size=1, max_size=4).filter(lambda data: sum(one.num_nodes for one in data)),
    K=HOPS,
    expand=st.sampled_from([1, 2]),
    readout=st.sampled_from(sorted(READOUTS)),
    gelu=st.sampled_from(["erf", "tanh"]),
    seed=st.integers(0, 2**31),
)
def test_fast_path_agrees_with_the_oracle(mode, glu, empty_hops, data, K, expand, readout, gelu, seed):
    kwargs = {"glu": glu, "empty_hops": empty_hops, "expand": expand, "readout": readout, "gelu": gelu}
    model = random_model(seed, mode, **kwargs)
    batch = Batch.from_data_list([with_features(one, K, seed + i) for i, one in enumerate(data)])
    assert_agree(model, batch, K, tolerance=1e-9)


@pytest.mark.parametrize("empty_hops", ["constant", "zero"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("K", [0, 2, 12, None])
def test_and_in_single_precision(K, mode, empty_hops):
    model = random_model(1, mode, torch.float32, empty_hops=empty_hops)
    batch = Batch.from_data_list([with_features(one, K, i) for i, one in enumerate(small_graphs())])
    assert_agree(model, batch, K, tolerance=2e-5)


@pytest.mark.parametrize("scan", [False, True])
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_oracle_is_the_published_function(path, scan):
    file = dict(np.load(path))
    config = json.loads(str(file["config"]))
    weights = {name.removeprefix("param:"): file[name] for name in file if name.startswith("param:")}
    model = build(config, weights, "kernel")
    parameters = load(model, config, weights)
    batch = Batch.from_data_list([add_hops(one, int(file["K"])) for one in graphs(file)])
    dense = dense_batch(batch, int(file["K"]), 70 if scan else 0)  # nodes: padding or more of it
    out, _ = outputs_and_gradients(DenseGRED(model, scan), batch, dense)

    assert Difference.between(out, file["out"]).relative < TOLERANCE
    grads = {name: file[f"grad:{name}"] for name in parameters}
    largest = max(abs(grad).max() for grad in grads.values())
    for name, (parameter, turned) in parameters.items():
        difference = Difference.between(parameter.grad.mT if turned else parameter.grad, grads[name])
        assert difference.absolute < TOLERANCE * max(difference.scale, largest / 1000), name


def test_there_are_golden_files_to_agree_with():
    assert {path.stem for path in GOLDEN} >= {"zinc", "peptides"}


@pytest.mark.parametrize("readout", READOUTS)
def test_padding_does_not_leak(readout):
    model = random_model(2, readout=readout)
    oracle = DenseGRED(model)
    parts = [with_features(one, 3, i) for i, one in enumerate(small_graphs())]
    together = oracle(Batch.from_data_list(parts), dense_batch(parts, 3))
    alone = torch.cat([oracle(Batch.from_data_list([part]), dense_batch(part, 3)) for part in parts])
    torch.testing.assert_close(together, alone, rtol=1e-12, atol=1e-12)


def test_oracle_tells_empty_hops_apart():
    """A graph with hops that are empty for some nodes: reading them or not is not the same."""
    data = with_features(graph(4, [(0, 1), (1, 2), (2, 3)]), 3, 0)
    constant, zero = (
        DenseGRED(random_model(3, empty_hops=kind))(data, dense_batch(data, 3)) for kind in ("constant", "zero")
    )
    assert (constant - zero).abs().max() > 1e-3


def test_distances_and_masks():
    data = graph(5, [(0, 1), (2, 1), (3, 3)])
    inf = np.inf
    expected = [[0, 1, 2, inf, inf], [1, 0, 1, inf, inf], [2, 1, 0, inf, inf]]
    expected += [[inf, inf, inf, 0, inf], [inf, inf, inf, inf, 0]]
    assert distances(data).tolist() == expected

    dense = dense_batch([data, graph(2, [])], None)
    assert dense.masks.shape == (2, 3, 5, 5)
    assert dense.masks.sum((2, 3)).tolist() == [[5, 4, 2], [2, 0, 0]]
    assert dense.real.tolist() == [[True] * 5, [True] * 2 + [False] * 3]
    assert dense.beyond.flatten(1).tolist() == [[False] * 3, [False, True, True]]
    assert dense_batch([data], 1).masks.shape == (1, 2, 5, 5)


@pytest.mark.parametrize("other", [{"aggregator": "mean"}, {"encoder": "gru"}])
def test_oracle_refuses_what_it_does_not_compute(other):
    model = GRED(GraphSpec(nodes=3, outputs=1), dim=4, layers=1, features="dense", **other)
    with pytest.raises(UserError, match="'sum' and the encoder 'lru'"):
        DenseGRED(model)
