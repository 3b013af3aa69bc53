import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from helpers.checks import (
    assert_autocast,
    assert_compiles,
    assert_gradients,
    assert_half_precision,
    ignore_compiler_warnings,
    stirred,
)
from helpers.graphs import from_networkx, index_of, long_graph, permuted, sequences_of, small_graphs
from networkx import gnp_random_graph
from torch import Tensor, nn

from gredkit.data.hops.index import HopData, add_hops
from gredkit.nn.encoders.attention import Attention
from gredkit.nn.encoders.gru import GRU
from gredkit.nn.encoders.lru import LRU
from gredkit.nn.encoders.lstm import LSTM
from gredkit.nn.encoders.rnn import RNN
from gredkit.nn.encoders.weighted_sum import WeightedSum
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels.call import CALLED
from gredkit.registry import ENCODERS, hyperparameters

DIM = 3

# Every registered encoder, and those options that take another way through the code.
BUILDERS: dict[str, Callable[[int], nn.Module]] = {
    **{name: ENCODERS[name] for name in ENCODERS},
    "lru, mode=scan": partial(LRU, mode="scan"),
    "lru, mode=loop": partial(LRU, mode="loop"),
    "attention, order": partial(Attention, order=True),
    "weighted_sum, hops=3": partial(WeightedSum, hops=3),
    "rnn, stacked_layers=2": partial(RNN, stacked_layers=2),
}
for name in ENCODERS:
    if "state_dim" in hyperparameters(ENCODERS[name]):
        BUILDERS[f"{name}, state_dim=5"] = partial(ENCODERS[name], state_dim=5)

# Their heads are divided by their size: where a head has few columns that nearly cancel, so are its rounding errors.
WIDE = {"gla": 64, "retention": 64}
NARROW = {"gla, state_dim=5", "retention, state_dim=5"}

every_encoder = pytest.mark.parametrize("name", BUILDERS)
with_and_without_empty_hops = pytest.mark.parametrize("empty", [False, True], ids=["as it is", "with empty hops"])


def build(name: str, dim: int = DIM) -> nn.Module:
    torch.manual_seed(0)
    return stirred(BUILDERS[name](dim))


def index(empty: bool, *members: HopData) -> HopIndex:
    hops = index_of(*members)
    return hops.with_empty_hops if empty else hops


def rows_for(hops: HopIndex, dim: int = DIM) -> Tensor:
    """What an encoder is given: a row for each set, the last one for the empty set."""
    generator = torch.Generator().manual_seed(4)
    return torch.randn(hops.num_sets + 1, dim, generator=generator, dtype=torch.float64)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


# Each encoder, one node at a time: a list of rows, nearest hop first -> what is read at the target.


def step_by_step(encoder: RNN | LSTM | GRU, rows: Tensor) -> Tensor:
    """PyTorch's cell, from the farthest hop to the target, layer upon layer."""
    kernel = encoder.rnn
    cell_type = {nn.RNN: nn.RNNCell, nn.LSTM: nn.LSTMCell, nn.GRU: nn.GRUCell}[type(kernel)]
    inputs = list(rows.flip(0))
    for layer in range(kernel.num_layers):
        cell = cell_type(len(inputs[0]), kernel.hidden_size).double()
        for name, parameter in cell.named_parameters():
            parameter.data = getattr(kernel, f"{name}_l{layer}").data
        state, states = None, []
        for x in inputs:
            state = cell(x, state)
            states.append(state[0] if isinstance(state, tuple) else state)
        inputs = states
    return encoder.out(inputs[-1])


def softmax_by_hand(encoder: Attention, rows: Tensor) -> Tensor:
    dim = rows.shape[1]
    seen = []
    for k, row in enumerate(rows):
        code = [k / 10000 ** (2 * (j // 2) / dim) for j in range(dim)]
        wave = [math.cos(angle) if j % 2 else math.sin(angle) for j, angle in enumerate(code)]
        seen.append(row + torch.tensor(wave, dtype=row.dtype) if encoder.order else row)
    query = encoder.query(rows[0]).chunk(encoder.heads)
    keys = [encoder.key(row).chunk(encoder.heads) for row in seen]
    values = [encoder.value(row).chunk(encoder.heads) for row in seen]
    heads = []
    for i in range(encoder.heads):
        weights = [math.exp((query[i] @ key[i]).item() / math.sqrt(len(query[i]))) for key in keys]
        heads.append(sum(w / sum(weights) * value[i] for w, value in zip(weights, values, strict=True)))
    return encoder.out(torch.cat(heads))


def power_series(encoder: LRU, rows: Tensor) -> Tensor:
    eigenvalues = torch.exp(torch.complex(-encoder.nu_log.exp(), encoder.theta_log.exp()))
    into = torch.complex(encoder.in_re, encoder.in_im) * encoder.gamma_log.exp()[:, None]
    out = torch.complex(encoder.out_re, encoder.out_im)
    state = sum(eigenvalues**k * (into @ row.to(into.dtype)) for k, row in enumerate(rows))
    return (out @ state).real


def weigh(encoder: WeightedSum, rows: Tensor) -> Tensor:
    last = len(encoder.weight) - 1
    return encoder.out(sum(encoder.weight[min(k, last)] * row for k, row in enumerate(rows)))


PLAIN: dict[str, Callable[..., Tensor]] = {
    "attention": softmax_by_hand,
    "gru": step_by_step,
    "lru": power_series,
    "lstm": step_by_step,
    "mean": lambda encoder, rows: encoder.out(rows.sum(0) / len(rows)),
    "rnn": step_by_step,
    "weighted_sum": weigh,
}


@with_and_without_empty_hops
@pytest.mark.parametrize("name", [name for name in BUILDERS if name.partition(",")[0] in PLAIN])
@torch.no_grad()
def test_a_node_at_a_time(name: str, empty: bool) -> None:
    hops = index(empty, *small_graphs(4), long_graph(), add_hops(from_networkx(gnp_random_graph(9, 0.3, seed=0)), None))
    z, encoder = rows_for(hops), build(name)
    plain = PLAIN[name.partition(",")[0]]
    expected = [plain(encoder, z[sequence]) for sequence in sequences_of(hops)]
    close(encoder(z, hops), torch.stack(expected))


# What holds for every encoder.


@every_encoder
@with_and_without_empty_hops
@pytest.mark.parametrize("dim", [1, DIM, 8])
def test_one_row_a_node(name: str, dim: int, empty: bool) -> None:
    hops = index(empty, *small_graphs())
    assert build(name, dim)(rows_for(hops, dim), hops).shape == (hops.num_nodes, dim)


@every_encoder
@with_and_without_empty_hops
@pytest.mark.parametrize("K", [0, 2, None])
def test_order_of_nodes_does_not_matter(name: str, empty: bool, K: int | None) -> None:
    graph = from_networkx(gnp_random_graph(11, 0.2, seed=1))
    order = torch.randperm(11, generator=torch.Generator().manual_seed(0)).tolist()
    hops, other = index(empty, add_hops(graph, K)), index(empty, add_hops(permuted(graph, order), K))
    h = torch.randn(11, DIM, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    shuffled = torch.empty_like(h)
    shuffled[order] = h
    encoder = build(name)
    found, expected = encoder(other.sets.sum(shuffled) + 0.5, other), encoder(hops.sets.sum(h) + 0.5, hops)
    close(found[order], expected)


@every_encoder
@with_and_without_empty_hops
def test_a_graph_alone_and_in_a_batch(name: str, empty: bool) -> None:
    """Value and gradients; the last graph has longer sequences than the others, so these are padded if any are."""
    members = [*small_graphs(), long_graph()]
    together = index(empty, *members)
    z, encoder = rows_for(together).requires_grad_(), build(name)
    outputs = encoder(z, together)
    inputs = (z, *encoder.parameters())
    nodes, sets = 0, 0
    for data in members:
        alone = index(empty, data)
        own = torch.cat([torch.arange(sets, sets + alone.num_sets), torch.tensor([-1])])
        found, expected = encoder(z[own], alone), outputs[nodes : nodes + alone.num_nodes]
        close(found, expected)
        weight = torch.randn(found.shape, generator=torch.Generator().manual_seed(5), dtype=z.dtype)
        gradients = (torch.autograd.grad(y, inputs, weight, retain_graph=True) for y in (found, expected))
        for one, two in zip(*gradients, strict=True):
            close(one, two)
        nodes, sets = nodes + alone.num_nodes, sets + alone.num_sets


@every_encoder
@with_and_without_empty_hops
def test_a_node_depends_on_its_own_sequence_alone(name: str, empty: bool) -> None:
    """A set that is not a number reaches the nodes that have it in their sequence, and no others."""
    hops = index(empty, *small_graphs(4), long_graph())
    z, encoder = rows_for(hops), build(name)
    expected = encoder(z, hops)
    for spoilt in (0, 6, hops.num_sets - 1, hops.num_sets):
        changed = z.clone()
        changed[spoilt] = torch.nan
        found = encoder(changed, hops)
        for v, sequence in enumerate(sequences_of(hops)):
            if spoilt in sequence:
                assert found[v].isnan().all()
            else:
                close(found[v], expected[v])


@every_encoder
def test_an_empty_hop_that_is_read_counts(name: str) -> None:
    hops = index_of(*small_graphs(6))
    z, encoder = rows_for(hops), build(name)
    assert not torch.allclose(encoder(z, hops.with_empty_hops), encoder(z, hops))


def test_attention_does_not_know_the_order_of_hops_unless_told() -> None:
    hops = index_of(*small_graphs(), long_graph())
    swapped = [s[:1] + s[:0:-1] for s in sequences_of(hops)]
    other = replace(hops, seq_set=torch.tensor([s for sequence in swapped for s in sequence]))
    z = rows_for(hops)
    for order in (False, True):
        torch.manual_seed(0)
        encoder = stirred(Attention(DIM, order=order))
        same = torch.isclose(encoder(z, other), encoder(z, hops), rtol=1e-9, atol=1e-9).all(1)
        unmoved = [a == b for a, b in zip(swapped, sequences_of(hops), strict=True)]
        assert not all(unmoved)
        assert same.tolist() == ([True] * hops.num_nodes if not order else unmoved)


@pytest.mark.parametrize("name", [name for name in ENCODERS if name not in ("attention", "mean")])
def test_the_order_of_hops_is_read(name: str) -> None:
    hops = index_of(long_graph())
    other = replace(hops, seq_set=torch.tensor([s for q in sequences_of(hops) for s in q[:1] + q[:0:-1]]))
    z, encoder = rows_for(hops), build(name)
    assert not torch.isclose(encoder(z, other), encoder(z, hops), rtol=1e-5, atol=1e-5).all(1).any()


@every_encoder
@with_and_without_empty_hops
def test_gradients_by_finite_differences(name: str, empty: bool) -> None:
    hops = index(empty, *small_graphs())
    assert_gradients(build(name), rows_for(hops), hops)


@pytest.mark.parametrize("name", sorted(BUILDERS.keys() - NARROW))
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision(name: str, dtype: torch.dtype) -> None:
    hops, dim = index(True, *small_graphs(), long_graph()), WIDE.get(name, 8)
    assert_half_precision(build(name, dim), rows_for(hops, dim), hops, dtype)


@pytest.mark.parametrize("name", sorted(BUILDERS.keys() - NARROW))
def test_autocast(name: str) -> None:
    hops, dim = index(False, *small_graphs(), long_graph()), WIDE.get(name, 8)
    assert_autocast(build(name, dim), rows_for(hops, dim), hops)


@ignore_compiler_warnings
@pytest.mark.parametrize("name", [*ENCODERS, "lru, mode=scan", "lru, mode=loop"])
def test_compiled(name: str) -> None:
    batches = [small_graphs(), [long_graph(), *small_graphs(1)]]
    cases = [(rows_for(index_of(*members), 8).float(), members) for members in batches]
    assert_compiles(build(name, 8).float(), cases, "aot_eager")


@pytest.mark.parametrize("name", [name for name in BUILDERS if build(name).hop_weights(1) is not None])
def test_the_weight_of_a_hop_is_the_size_of_its_jacobian(name: str) -> None:
    encoder, hops = build(name).double(), index(False, *small_graphs())
    z = rows_for(hops).double()
    jacobian = torch.autograd.functional.jacobian(lambda z: encoder(z, hops), z)  # [nodes, dim, sets + 1, dim]
    weights = encoder.hop_weights(hops.width).detach()
    assert weights.shape == (hops.width,)
    for v, sequence in enumerate(sequences_of(hops)):
        for k, row in enumerate(sequence):
            of_hop = jacobian[v, :, row].square().sum().sqrt() / math.sqrt(DIM)
            torch.testing.assert_close(of_hop, weights[k], rtol=1e-9, atol=1e-12)


def test_what_depends_on_what_is_read_has_no_weights() -> None:
    assert {name for name in ENCODERS if build(name).hop_weights(1) is not None} == {"lru", "s4d", "weighted_sum"}
    assert {name for name in ENCODERS if build(name).eigenvalues() is not None} == {"lru", "retention", "s4d"}


@with_and_without_empty_hops
@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("width", [DIM - 1, 512])
def test_rows_of_another_width_are_refused(name: str, width: int, empty: bool) -> None:
    """PyTorch's own LSTM would read and write foreign memory."""
    hops = index(empty, *small_graphs(3))
    with pytest.raises(RuntimeError, match=rf"\b{DIM}\b.*\b{width}\b"):
        ENCODERS[name](DIM)(torch.randn(hops.num_sets + 1, width), hops)


@pytest.mark.needs("compiler")
@pytest.mark.parametrize(("heads", "is_fused"), [(1, False), (3, False), (4, True), (6, True), (12, True)])
def test_attention_of_few_heads_is_left_to_pytorch(heads, is_fused):
    """The kernel works on 8 heads at a time, and zeros in the place of most of them would cost more than it gains."""
    index = index_of(*small_graphs(3)).with_empty_hops
    encoder = Attention(12, heads=heads)
    z = torch.randn(index.num_sets + 1, 12)
    CALLED.clear()
    found = encoder(z, index)
    assert ("encoder_forward" in CALLED) == is_fused
    assert torch.allclose(found, encoder.double()(z.double(), index).float(), atol=1e-5)
