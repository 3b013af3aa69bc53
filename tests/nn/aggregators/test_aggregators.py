from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from helpers.checks import (
    assert_autocast,
    assert_compiles,
    assert_gradients,
    assert_half_precision,
    assert_near,
    ignore_compiler_warnings,
    run,
    stirred,
    weight_for,
)
from helpers.graphs import from_networkx, index_of, long_graph, permuted, sequences_of, small_graphs, split
from networkx import gnp_random_graph
from torch import Tensor, nn

from gredkit.data.hops.index import add_hops
from gredkit.errors import UserError
from gredkit.nn.aggregators.attention import AttentionAggregator
from gredkit.nn.aggregators.pna import PNAAggregator
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.segments import installed_backends
from gredkit.registry import AGGREGATORS

DIM = 3


def build(name: str, dim: int = DIM, **settings: Any) -> nn.Module:
    torch.manual_seed(0)
    return stirred(AGGREGATORS[name](dim, **settings))


def features(hops: HopIndex, dim: int = DIM) -> Tensor:
    return torch.randn(hops.num_nodes, dim, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def members_of(hops: HopIndex) -> list[list[int]]:
    return split(hops.set_member.tolist(), hops.set_size.tolist())


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.parametrize("dim", [1, DIM, 8])
def test_one_row_a_set_and_one_for_the_empty_set(name: str, dim: int) -> None:
    hops = index_of(*small_graphs())
    assert build(name, dim)(features(hops, dim), hops).shape == (hops.num_sets + 1, dim)


# Each aggregator, one set at a time.


def plain_attention(module: AttentionAggregator, rows: Tensor) -> Tensor:
    weight = module.score(rows).softmax(0)
    value = module.value(rows).view(len(rows), module.heads, module.head_dim)
    heads = [sum(weight[u, i] * value[u, i] for u in range(len(rows))) for i in range(module.heads)]
    return module.out(torch.cat([h if isinstance(h, Tensor) else torch.zeros(module.head_dim).double() for h in heads]))


def plain_pna(module: PNAAggregator, rows: Tensor) -> Tensor:
    if not len(rows):
        return module.mix.bias
    std = (rows.var(0, unbiased=False) + 1e-5).sqrt() - 1e-5**0.5
    statistics = torch.cat([rows.mean(0), rows.amax(0), rows.amin(0), std])
    ratio = torch.tensor(len(rows) + 1.0).double().log() / module.mean_log_size
    return module.mix(torch.cat([statistics, ratio * statistics, statistics / ratio]))


PLAIN: dict[str, Callable[..., Tensor]] = {
    "sum": lambda module, rows: rows.sum(0),
    "mean": lambda module, rows: rows.sum(0) / max(len(rows), 1),
    "max": lambda module, rows: rows.amax(0) if len(rows) else rows.sum(0),
    "attention": plain_attention,
    "pna": plain_pna,
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_set_at_a_time(name: str) -> None:
    hops = index_of(*small_graphs(), add_hops(from_networkx(gnp_random_graph(12, 0.3, seed=0)), 3))
    h, module = features(hops), build(name)
    expected = [PLAIN[name](module, h[members]) for members in members_of(hops)]
    close(module(h, hops), torch.stack(expected))


def test_pna_scales_by_the_size_it_is_told() -> None:
    hops = index_of(*small_graphs())
    h, module = features(hops), stirred(PNAAggregator(DIM, mean_log_size=1.7))
    assert isinstance(module, PNAAggregator)
    close(module(h, hops), torch.stack([plain_pna(module, h[members]) for members in members_of(hops)]))


# What holds for every aggregator.


@pytest.mark.parametrize("name", AGGREGATORS)
def test_order_of_members_does_not_matter(name: str) -> None:
    hops = index_of(*small_graphs(), long_graph())
    backwards = torch.tensor([u for members in members_of(hops) for u in reversed(members)])
    assert not torch.equal(backwards, hops.set_member)
    h, module = features(hops), build(name)
    close(module(h, replace(hops, set_member=backwards)), module(h, hops))


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.parametrize("K", [2, None])
def test_order_of_nodes_does_not_matter(name: str, K: int | None) -> None:
    graph = from_networkx(gnp_random_graph(11, 0.2, seed=1))
    order = torch.randperm(11, generator=torch.Generator().manual_seed(0)).tolist()
    hops, other = index_of(add_hops(graph, K)), index_of(add_hops(permuted(graph, order), K))
    h, module = features(hops), build(name)
    shuffled = torch.empty_like(h)
    shuffled[order] = h
    found, expected = module(shuffled, other), module(h, hops)
    there, here = sequences_of(other), sequences_of(hops)
    for v in range(11):
        close(found[there[order[v]]], expected[here[v]])
    close(found[-1], expected[-1])


@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_graph_alone_and_in_a_batch(name: str) -> None:
    members = [*small_graphs(), long_graph()]
    together = index_of(*members)
    h, module = features(together), build(name)
    expected = module(h, together)
    nodes, sets = 0, 0
    for data in members:
        alone = index_of(data)
        found = module(h[nodes : nodes + alone.num_nodes], alone)
        close(found[:-1], expected[sets : sets + alone.num_sets])
        close(found[-1], expected[-1])
        nodes, sets = nodes + alone.num_nodes, sets + alone.num_sets


@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_set_depends_on_its_members_alone(name: str) -> None:
    """A value that is not a number spreads to the sets that its node is in, and no further."""
    hops = index_of(*small_graphs())
    h, module = features(hops), build(name)
    expected = module(h, hops)
    for node in (0, 4, hops.num_nodes - 1):
        spoilt = h.clone()
        spoilt[node] = torch.nan
        found = module(spoilt, hops)
        for s, members in enumerate(members_of(hops)):
            if node not in members:
                close(found[s], expected[s])
            elif len(members) == 1:
                assert found[s].isnan().all()


@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_batch_without_nodes(name: str) -> None:
    hops = index_of(add_hops(from_networkx(gnp_random_graph(0, 0)), 2))
    h, module = features(hops).requires_grad_(), build(name)
    y = module(h, hops)
    close(y[-1], module(features(index_of(*small_graphs())), index_of(*small_graphs()))[-1])
    (grad,) = torch.autograd.grad((y + 0 * h.sum()).sum(), h)
    assert grad.shape == (0, DIM)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_gradients_by_finite_differences(name: str) -> None:
    hops = index_of(*small_graphs())
    assert_gradients(build(name), features(hops), hops)


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision(name: str, dtype: torch.dtype) -> None:
    hops = index_of(*small_graphs(), long_graph())
    assert_half_precision(build(name, 8), features(hops, 8), hops, dtype)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_autocast(name: str) -> None:
    hops = index_of(*small_graphs(), long_graph())
    assert_autocast(build(name, 8), features(hops, 8), hops)


@ignore_compiler_warnings
@pytest.mark.parametrize("name", AGGREGATORS)
def test_compiled(name: str) -> None:
    batches = [small_graphs(), [long_graph(), *small_graphs(1)]]
    cases = [(features(index_of(*members), 8).float(), members) for members in batches]
    assert_compiles(build(name, 8).float(), cases, "aot_eager")


# The backend of the sums and maxima is a parameter of every aggregator.

OTHERS = [backend for backend in (*installed_backends(), "auto") if backend != "native"]


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.parametrize("backend", OTHERS)
def test_backends_give_equal_values_and_gradients(name: str, backend: str) -> None:
    hops = index_of(*small_graphs())
    native, other = build(name), build(name, backend=backend)
    weight = weight_for(native, features(hops), hops)
    assert_near(run(other, features(hops), hops, weight), run(native, features(hops), hops, weight), 1e-12)


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.parametrize("backend", OTHERS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_backends_in_half_precision(name: str, backend: str, dtype: torch.dtype) -> None:
    hops = index_of(*small_graphs())
    assert_half_precision(build(name, backend=backend), features(hops), hops, dtype)
    assert_autocast(build(name, backend=backend), features(hops), hops)


@ignore_compiler_warnings
@pytest.mark.parametrize("backend", OTHERS)
def test_backends_in_a_compiled_model(backend: str) -> None:
    hops = index_of(*small_graphs())
    assert_compiles(build("pna", backend=backend).float(), [(features(hops).float(), small_graphs())], "aot_eager")


@pytest.mark.parametrize("name", AGGREGATORS)
def test_an_unknown_backend_is_a_mistake_when_the_aggregator_is_built(name: str) -> None:
    with pytest.raises(UserError, match="backend is one of native, torch_scatter, auto, not 'cuda'"):
        AGGREGATORS[name](DIM, backend="cuda")
