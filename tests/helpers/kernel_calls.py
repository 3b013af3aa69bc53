"""Every function that ends in C, with arguments that fit: for tests that take something away from them."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gredkit.nn.incidence import Incidence, starts
from gredkit.nn.kernels import encoder_ops, encoders, ops, stack, steps
from gredkit.nn.kernels.encoders import GATES, KINDS, Encoder
from gredkit.nn.kernels.index import Index, Sums
from gredkit.nn.kernels.shapes import of_gate, of_mlp, of_recurrence
from gredkit.nn.kernels.states import States

NODES, SETS, WIDTH, D, M, N, HEADS, SIZE = 70, 150, 3, 5, 6, 7, 6, 5  # SIZE of a head


class Case(NamedTuple):
    """A function, and arguments for it."""

    function: Callable[..., Any]
    arguments: dict[str, Any]

    def __call__(self) -> list[Tensor]:
        torch.manual_seed(0)
        return list(_tensors(self.function(**self.arguments)))


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
        if value.grad_fn is not None:
            yield from torch.autograd.grad(value.sum(), _leaves(value), retain_graph=True)
    elif isinstance(value, (Index, Sums)):
        yield value.start
    elif isinstance(value, States):
        yield value.sets
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _tensors(one)


def _leaves(value: Tensor) -> list[Tensor]:
    nodes, seen, found = [value.grad_fn], set(), []
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        nodes += [before for before, _ in node.next_functions]
    return found


def _random(*shapes: tuple[int, ...], needs_grad: bool = False) -> list[Tensor]:
    return [(0.1 * torch.randn(shape)).requires_grad_(needs_grad) for shape in shapes]


def index_of(nodes: int = NODES, sets: int = SETS, width: int = WIDTH) -> Index:
    length = 1 + torch.arange(nodes) % width
    start = starts(length)
    listed = torch.arange(int(start[-1])) * 7 % sets
    listed[start[:-1]] = torch.arange(nodes) % sets
    return Index(start, listed, sets)


def matrix_of(rows: int = SETS, columns: int = NODES) -> Incidence:
    sizes = torch.arange(rows) % 4
    return Incidence(starts(sizes), torch.arange(int(sizes.sum())) * 5 % columns, columns)


def _cases() -> dict[str, Case]:
    torch.manual_seed(0)
    index, matrix = index_of(), matrix_of()
    cases = {
        "Sums": Case(Sums, {"start": matrix.start, "columns": matrix.columns, "num_columns": NODES}),
        "Index": Case(Index, {"start": index.start, "sets": index.sets, "num_sets": SETS}),
    }
    for needs_grad, module in ((False, steps), (True, ops)):

        def some(*shapes: tuple[int, ...], needs_grad: bool = needs_grad) -> list[Tensor]:
            return _random(*shapes, needs_grad=needs_grad)

        at = f"{module.__name__.rpartition('.')[2]}."
        mlp, recurrence, gate = some(*of_mlp(D, M)), some(*of_recurrence(N, D)), some(*of_gate(D, 4))
        a, x, z, y, u = some((SETS, D), (NODES, D), (SETS, D), (NODES, D), (SETS, 2 * N))
        eigenvalues, matrices = some((2, N), (WIDTH, D, D))
        of_mlp_ = {"a": a, "index": index, "weights": mlp, "gelu": "none", "eps": 1e-6}
        of_gate_ = {"y": y, "x": x, "weights": gate, "gelu": "tanh"}
        cases[f"{at}set_sum"] = Case(module.set_sum, {"x": x.detach(), "sums": matrix.sums})
        cases[f"{at}hop_filter"] = Case(module.hop_filter, {"z": z, "matrices": matrices, "index": index})
        if module is steps:
            dropout, keep = steps.Dropout(2**30, 4 / 3, (5,)), {"keep": True}
            cases[f"{at}set_mlp"] = Case(steps.set_mlp, of_mlp_ | keep)
            cases[f"{at}gate"] = Case(steps.gate, of_gate_ | {"dropout": dropout} | keep)
            cases[f"{at}hop_matrices"] = Case(steps.hop_matrices, {"width": WIDTH, "recurrence": recurrence})
            scan = {"u": u, "re": eigenvalues[0], "im": eigenvalues[1], "index": index}
            cases[f"{at}hop_scan"] = Case(steps.hop_scan, scan)
            cases |= _backward(cases, index, scan, mlp, recurrence, gate)
        else:
            cases[f"{at}set_mlp"] = Case(ops.set_mlp, of_mlp_)
            cases[f"{at}gate"] = Case(ops.gate, of_gate_ | {"dropout": 0.3})
            cases[f"{at}hop_matrices"] = Case(_hop_matrices, {"width": WIDTH, "recurrence": recurrence})
            cases[f"{at}hop_scan"] = Case(ops.hop_scan, {"u": u, "eigenvalues": eigenvalues, "index": index})
            layers = [ops.LayerWeights(mlp, recurrence, gate)]
            common = {"encoder": Encoder("LRU", width=WIDTH), "gelu": "none", "eps": 1e-6, "dropout": 0.2}
            alone = {"x": a, "index": index, "sets": None, "weights": layers}
            cases[f"{at}layer"] = Case(ops.layers, alone | common)
    return cases | _encoders(index, mlp, gate)


def _encoders(index: Index, mlp: list[Tensor], gate: list[Tensor]) -> dict[str, Case]:
    """Each encoder: both passes, as a differentiable function, and in layers."""
    cases = {"States": Case(States, {"index": index})}
    matrix, (x, into_y) = matrix_of(), _random((NODES, D), (NODES, D))
    for kind in KINDS:
        of = Encoder(kind, States(index) if kind in GATES else None, HEADS if kind == "Attention" else 1, WIDTH)
        shapes = encoders.shapes_of(of, SIZE * HEADS if kind == "Attention" else N, D)
        z, *weights = _random((SETS, D), *shapes)
        asked = {"of": of, "z": z, "index": index, "weights": weights}
        cases[f"encoders.{kind}"] = Case(encoders.encoder, asked | {"keep": True})
        cases[f"encoders.{kind}, not kept"] = Case(encoders.encoder, asked | {"keep": False})
        _, kept = encoders.encoder(**asked, keep=True)
        back = asked | {"kept": kept, "into_y": into_y, "into": [torch.empty_like(one) for one in weights]}
        cases[f"encoders.{kind} backward"] = Case(encoders.encoder_backward, back)
        z, *weights = _random((SETS, D), *shapes, needs_grad=True)
        cases[f"encoder_ops.{kind}"] = Case(encoder_ops.encoder, asked | {"z": z, "weights": weights})
        layers = [ops.LayerWeights(mlp, weights, gate)] * 2
        common = {"index": index, "encoder": of, "gelu": "none", "eps": 1e-6, "dropout": 0.2}
        cases[f"ops.layers, {kind}"] = Case(ops.layers, {"x": x, "sets": matrix, "weights": layers} | common)
    return cases


def _hop_matrices(width: int, recurrence: list[Tensor]) -> Tensor:
    return ops.hop_matrices(width, *recurrence)


def _backward(
    cases: dict[str, Case], index: Index, scan: dict[str, Any],
    mlp: list[Tensor], recurrence: list[Tensor], gate: list[Tensor],
) -> dict[str, Case]:  # fmt: skip
    """The backward passes, with what the forward ones kept."""

    def room(weights: list[Tensor]) -> list[Tensor]:
        return [torch.empty_like(one) for one in weights]

    rows = cases["steps.set_mlp"].arguments
    _, *kept = steps.set_mlp(**rows)
    gated = cases["steps.gate"].arguments
    _, pre = steps.gate(**gated)
    filtered = cases["steps.hop_filter"].arguments
    layer, matrix = [*mlp, *recurrence, *gate], matrix_of()
    of = stack.Layers(Encoder("LRU", width=WIDTH), "tanh", 1e-6, steps.Dropout(2**30, 4 / 3, (5, 6)))
    layers = {"of": of, "index": index, "sums": matrix.sums, "weights": [layer, layer], "x": gated["x"]}
    _, kept_by_layers = stack.layers(**layers, keep=True)
    into_z, into_x, into_s = _random((SETS, D), (NODES, D), (NODES, 2 * N))
    (into_matrices,) = _random((WIDTH, D, D))
    return {
        "steps.set_mlp_backward": Case(
            steps.set_mlp_backward,
            {"gelu": "none", "a": rows["a"], "weights": mlp, "kept": kept, "index": index, "into_z": into_z,
             "into_x": into_x, "into": room(mlp)},
        ),
        "steps.gate_backward": Case(
            steps.gate_backward,
            {"y": gated["y"], "weights": gate, "gelu": "tanh", "dropout": gated["dropout"], "pre": pre,
             "into_h": into_x, "into": room(gate)},
        ),
        "steps.hop_filter_backward": Case(steps.hop_filter_backward, filtered | {"into_y": into_x}),
        "steps.hop_scan_backward": Case(steps.hop_scan_backward, scan | {"into_s": into_s}),
        "steps.hop_matrices_backward": Case(
            steps.hop_matrices_backward,
            {"recurrence": recurrence, "into_matrices": into_matrices, "into": room(recurrence)},
        ),
        "stack.layers": Case(stack.layers, layers | {"keep": True}),
        "stack.layers, not kept": Case(stack.layers, layers | {"keep": False}),
        "stack.layers_backward": Case(
            stack.layers_backward,
            layers | {"back": matrix.transposed.sums, "kept": kept_by_layers, "into_h": into_x,
                      "into": [room(layer), room(layer)]},
        ),
    }  # fmt: skip


NAMES = (
    "Sums", "Index", "steps.set_sum", "steps.hop_filter", "steps.set_mlp", "steps.gate", "steps.hop_matrices",
    "steps.hop_scan", "steps.set_mlp_backward", "steps.gate_backward", "steps.hop_filter_backward",
    "steps.hop_scan_backward", "steps.hop_matrices_backward", "stack.layers", "stack.layers, not kept",
    "stack.layers_backward", "ops.set_sum", "ops.hop_filter", "ops.set_mlp", "ops.gate", "ops.hop_matrices",
    "ops.hop_scan", "ops.layer", "States",
    *(f"encoders.{kind}{what}" for kind in KINDS for what in ("", ", not kept", " backward")),
    *(f"{what}{kind}" for kind in KINDS for what in ("encoder_ops.", "ops.layers, ")),
)  # fmt: skip


@cache
def cases() -> dict[str, Case]:
    """Made when they are needed: some are made by kernels."""
    made = _cases()
    assert set(made) == set(NAMES)
    return made


def case_of(name: str) -> Case:
    return cases()[name]
