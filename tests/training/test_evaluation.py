import pytest
import torch
from torch import nn
from training.small import small_model, small_task

from gredkit import add_hops
from gredkit.data.objectives import IGNORED
from gredkit.errors import UserError
from gredkit.training.evaluation import NotFinite, evaluate, predict_all


def model_and_graphs():
    task = small_task()
    return small_model(task, dropout=0.5), task, [add_hops(graph, None) for graph in task.part("test")]


def test_the_answers_are_those_of_the_graphs_alone_in_their_order():
    model, _, graphs = model_and_graphs()
    found = predict_all(model, graphs, batch_size=5)
    with torch.no_grad():
        expected = torch.cat([model.eval()(graph) for graph in graphs])
    torch.testing.assert_close(found, expected)
    assert not found.requires_grad


@pytest.mark.parametrize("batch_size", [1, 5, 64])
def test_loss_and_score_by_hand(batch_size):
    model, task, graphs = model_and_graphs()
    loss, score = evaluate(model, graphs, task, batch_size)
    outputs, labels = predict_all(model, graphs), torch.cat([graph.y for graph in graphs])
    rows = [(row, label) for row, label in zip(outputs.tolist(), labels.tolist(), strict=True) if label != IGNORED]
    by_hand = [torch.tensor(row).logsumexp(0).item() - row[label] for row, label in rows]
    assert loss == pytest.approx(sum(by_hand) / len(rows), rel=1e-5)
    assert score == sum(row.index(max(row)) == label for row, label in rows) / len(rows)


def test_half_precision_ends_in_float32():
    model, _, graphs = model_and_graphs()
    full, half = predict_all(model, graphs), predict_all(model, graphs, precision="bfloat16")
    assert half.dtype == torch.float32
    assert not torch.equal(full, half)
    assert (full - half).abs().max() < 0.05 * full.abs().max()


def test_outputs_that_are_not_finite():
    model, task, graphs = model_and_graphs()
    nn.init.constant_(model.head[-1].bias, torch.inf)
    with pytest.raises(NotFinite):
        evaluate(model, graphs, task)


def test_no_graphs():
    model, _, _ = model_and_graphs()
    with pytest.raises(UserError, match="give at least one"):
        predict_all(model, [])
