"""The contestants of the training race."""

import pytest
import torch
from helpers.raw_files import write_zinc
from torch_geometric.data import Batch

from gredkit.bench.settings import SETTINGS, chosen
from gredkit.bench.training import CONTESTANTS, steps
from gredkit.nn.models.gps import GPS


@pytest.mark.parametrize("name", SETTINGS)
def test_gps_answers_for_every_graph_by_itself(name):
    """Padding is in its attention and must not be seen; batch norm mixes graphs in training only."""
    setting = chosen(name, quick=True)
    graphs = setting.make(3)
    torch.manual_seed(0)
    model = GPS(setting.spec, **setting.gps).eval()
    with torch.no_grad():
        together = model(Batch.from_data_list(graphs))
        alone = torch.cat([model(Batch.from_data_list([graph])) for graph in graphs])
    assert together.shape == (3, setting.spec.outputs)
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("contestant", CONTESTANTS)
def test_every_contestant_takes_one_step_a_batch(contestant):
    setting = chosen("zinc", quick=True)
    taken = steps(setting, contestant, setting.make(8))
    assert len(taken) == (4 if contestant in ("oracle", "published way") else 2)
    for step in taken:
        step()


@pytest.mark.parametrize("contestant", CONTESTANTS)
def test_real_graphs_where_there_are_files(tmp_path, monkeypatch, contestant):
    monkeypatch.setenv("GREDKIT_DATA", str(tmp_path))
    setting = chosen("zinc", quick=True)
    assert setting.source == "synthetic"
    written = write_zinc(tmp_path)
    assert setting.source == "zinc"
    graphs = setting.graphs(4)
    assert len(graphs) == 4
    real = [graph.edge_index.tolist() for graph in written[:7]]  # the training graphs
    assert all(graph.edge_index.tolist() in real for graph in graphs)
    for step in steps(setting, contestant, graphs):
        step()
