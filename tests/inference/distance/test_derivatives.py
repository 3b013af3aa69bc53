"""Derivatives against finite differences."""

import pytest
import torch
from nn.models.test_models_all import built, plain, prepared
from torch_geometric.data import Batch

from gredkit.inference.distance.derivatives import Target, jacobian_norms, mixed_norms
from gredkit.inference.distance.measured import frozen
from gredkit.inference.distance.probe import leaf, look
from gredkit.nn.kernels.usable import without_kernels
from gredkit.registry import ENCODERS, MODELS

STEP = 1e-6
SMOOTH = ["gred", "gps", "graphormer", "grit", "spn"]  # others are piecewise linear in front of the head
ALL = pytest.mark.parametrize("name", MODELS)


def made(name, *bindings):
    return built(name, *bindings).double()


def target(model, graph="house", node=2):
    return Target(prepared(model, plain(graph)), node)


def unlike(model):
    """A node of a graph in which no two nodes are alike: where they are, a maximum has no derivative."""
    data = plain("path")
    edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    data.update(
        {
            "x": torch.arange(4)[:, None],
            "edge_index": torch.cat([edges, edges.flip(0)], 1),
            "edge_attr": None,
            "num_nodes": 4,
        }
    )
    return Target(prepared(model, data), 2)


def moved(model, one, shift, read):
    """What `read` says of a look at the model with other features."""
    with torch.no_grad(), without_kernels():
        return read(look(model, Batch.from_data_list([one.graph]), lambda x: x + shift))


def entries(model, one):
    """Shifts of one entry of the features each, by node."""
    with torch.no_grad():
        shape = look(model, Batch.from_data_list([one.graph])).x.shape
    for u in range(shape[0]):
        for column in range(shape[1]):
            shift = torch.zeros(shape, dtype=torch.double)
            shift[u, column] = STEP
            yield u, shift


def by_differences(model, one):
    """‖∂h_v/∂x_u‖₁ by central differences."""
    found = torch.zeros(one.graph.num_nodes, dtype=torch.double)
    for u, shift in entries(model, one):
        ahead, behind = (moved(model, one, sign * shift, lambda seen: seen.h[one.node]) for sign in (1, -1))
        found[u] += ((ahead - behind) / (2 * STEP)).abs().sum()
    return found


@ALL
def test_jacobians(name):
    model = made(name)
    one = unlike(model)
    with frozen(model):
        (found,) = jacobian_norms(model, [one])
    torch.testing.assert_close(found, by_differences(model, one), rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_jacobians_do_not_depend_on_kernels(encoder):
    model = built("gred", f"variant.encoder = '{encoder}'")
    targets = [target(model, graph, node) for graph, node in (("house", 2), ("path", 0), ("house", 4))]
    with frozen(model):
        found = jacobian_norms(model, targets)
        with without_kernels():
            expected = jacobian_norms(model, targets)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SMOOTH)
def test_mixed_second_derivatives(name):
    """Against central differences of the first derivative, which the tests above check."""
    model = made(name)
    one = unlike(model)
    with frozen(model):
        (found,) = mixed_norms(model, [one], directions=10_000)
        expected = torch.zeros_like(found)
        for u, shift in entries(model, one):
            if u != one.node:
                continue
            for output in range(2):
                ahead, behind = (slope(model, one, sign * shift, output) for sign in (1, -1))
                expected += ((ahead - behind) / (2 * STEP)).abs().sum(1)
    assert expected.min() > 0
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6 * float(expected.max()))


def slope(model, one, shift, output):
    """∂y/∂x at shifted features. Shape: -> [nodes, columns]"""
    with without_kernels():
        seen = look(model, Batch.from_data_list([one.graph]), lambda x: leaf(x + shift))
        return torch.autograd.grad(seen.out[0, output], seen.x)[0]


def test_a_sample_of_directions_estimates_the_sum_over_all():
    model = made("gred")
    one = unlike(model)
    with frozen(model):
        (found,) = mixed_norms(model, [one], directions=32)
        some = torch.stack([mixed_norms(model, [one], 16, seed)[0] for seed in range(8)])
    assert found.min() > 0
    torch.testing.assert_close(some.mean(0), found, rtol=0.4, atol=0.0)
    assert len(some.unique(dim=0)) > 1


@ALL
def test_every_model_is_differentiated_twice(name):
    model = built(name)
    with frozen(model):
        (found,) = mixed_norms(model, [target(model, "path", 3)], directions=4)
    assert found.isfinite().all()


def test_a_batch_gives_what_single_targets_give():
    model = made("gred")
    targets = [target(model, graph, node) for graph, node in (("house", 2), ("path", 0), ("two components", 1))]
    with frozen(model):
        for together, apart in zip(
            jacobian_norms(model, targets), [jacobian_norms(model, [one])[0] for one in targets], strict=True
        ):
            torch.testing.assert_close(together, apart)
