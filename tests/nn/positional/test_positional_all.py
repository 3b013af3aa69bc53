"""What every positional encoding does, for all in the registry."""

import pytest
import torch
from helpers.graphs import Edges, graph
from torch_geometric.data import Batch

from gredkit import GRED, GraphSpec, HopData, add_hops
from gredkit.nn.positional.base import PositionalEncoding
from gredkit.registry import POSITIONAL

WITH_COLUMNS = [name for name in POSITIONAL if POSITIONAL[name]().width]
EDGES: dict[str, tuple[int, Edges]] = {
    "house": (5, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]),
    "single node": (1, []),
    "no edges": (3, []),
    "two components and an isolated node": (8, [(0, 2), (2, 4), (4, 6), (1, 3), (3, 5), (5, 1), (7, 7)]),
    "long path": (14, [(v, v + 1) for v in range(13)]),
}


def indexed(name: str) -> HopData:
    data = graph(*EDGES[name])
    data.x = torch.arange(data.num_nodes) % 4
    return add_hops(data, K=None)


def batch_of(pe: PositionalEncoding, names: list[str]) -> Batch:
    return Batch.from_data_list([pe.add_to(indexed(name)) for name in names])


def small_model(name: str) -> GRED:
    torch.manual_seed(0)
    return GRED(GraphSpec(nodes=(4,), outputs=3), dim=24, layers=2, positional=name)


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("name", POSITIONAL)
def test_one_finite_row_for_each_node(name: str, training: bool) -> None:
    pe = POSITIONAL[name]().train(training)
    batch = batch_of(pe, list(EDGES))
    out = pe(batch)
    assert out.shape == (batch.num_nodes, pe.width)
    assert out.isfinite().all()


@pytest.mark.parametrize("name", POSITIONAL)
def test_the_other_graphs_of_a_batch_do_not_matter(name: str) -> None:
    pe = POSITIONAL[name]().eval()
    together = pe(batch_of(pe, list(EDGES)))
    apart = torch.cat([pe(batch_of(pe, [graph_name])) for graph_name in EDGES])
    alone = torch.cat([pe(pe.add_to(indexed(graph_name))) for graph_name in EDGES])
    torch.testing.assert_close(together, apart)
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("name", POSITIONAL)
def test_evaluation_repeats_itself(name: str) -> None:
    pe = POSITIONAL[name]().eval()
    assert torch.equal(pe(batch_of(pe, list(EDGES))), pe(batch_of(pe, list(EDGES))))


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_nodes_are_told_apart(name: str) -> None:
    torch.manual_seed(0)
    pe = POSITIONAL[name]().eval()
    out = pe(batch_of(pe, ["house"]))
    assert not torch.allclose(out[0], out[4], atol=1e-3)


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_every_parameter_is_trained(name: str) -> None:
    pe = POSITIONAL[name]()
    pe(batch_of(pe, list(EDGES))).square().sum().backward()
    gradients = [p.grad for p in pe.parameters()]
    assert gradients
    assert all(g is not None and g.isfinite().all() and g.any() for g in gradients)


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_the_module_may_be_in_double_precision(name: str) -> None:
    pe = POSITIONAL[name]().eval()
    batch = batch_of(pe, list(EDGES))
    single, double = pe(batch), pe.double()(batch)
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.float(), single)


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_a_graph_that_was_not_prepared_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="add_to"):
        POSITIONAL[name]()(indexed("house"))


@pytest.mark.parametrize("name", POSITIONAL)
def test_nothing_waits_for_the_device(name: str) -> None:
    pe = POSITIONAL[name]().train().to("meta")  # where shapes are known and values are not
    batch = batch_of(pe, list(EDGES)).to("meta")
    assert pe(batch).shape == (batch.num_nodes, pe.width)
    assert pe(batch).is_meta


def test_no_two_encodings_share_a_key() -> None:
    keys = [POSITIONAL[name]().key for name in POSITIONAL]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", POSITIONAL)
def test_a_model_trains_through_it(name: str) -> None:
    model = small_model(name)
    out = model(batch_of(model.positional, list(EDGES)))
    assert out.shape == (len(EDGES), 3)
    assert out.isfinite().all()
    out.square().sum().backward()
    gradients = [p.grad for p in [*model.positional.parameters(), *model.features.parameters()]]
    assert all(g is not None and g.isfinite().all() and g.any() for g in gradients)


@pytest.mark.parametrize("name", POSITIONAL)
def test_a_model_in_evaluation_does_not_see_the_other_graphs(name: str) -> None:
    model = small_model(name).eval()
    together = model(batch_of(model.positional, list(EDGES)))
    apart = [model(model.positional.add_to(indexed(graph_name))) for graph_name in EDGES]
    torch.testing.assert_close(together, torch.cat(apart), atol=1e-5, rtol=1e-4)
