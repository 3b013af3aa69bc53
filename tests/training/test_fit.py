from dataclasses import replace

import torch

from gredkit import GRED, add_hops
from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.data.objectives import Metric
from gredkit.training.fit import evaluate, fit


def model_and_task(seed):
    task = ring_transfer(distance=2, symbols=3, graphs=150)
    torch.manual_seed(seed)
    return GRED(task.spec, dim=16, layers=1), task


def with_metric(task, score, larger_is_better=True):
    return replace(task, objective=replace(task.objective, metric=Metric("made up", score, larger_is_better)))


def test_it_learns_and_the_same_seed_gives_the_same_result():
    first, task = model_and_task(0)
    result = fit(first, task, seed=0, epochs=12, learning_rate=3e-3)
    assert result.test > 0.8  # chance is a third
    again, _ = model_and_task(0)
    assert fit(again, task, seed=0, epochs=12, learning_rate=3e-3) == result


def test_the_best_epoch_is_the_one_that_is_tested():
    model, task = model_and_task(0)
    worse_later = iter([0.2, 0.9, 0.3])
    seen = []

    def metric(logits, labels):
        seen.append({name: p.clone() for name, p in model.state_dict().items()})
        return next(worse_later, 0.5)

    result = fit(model, with_metric(task, metric), seed=0, epochs=3)
    assert (result.epoch, result.validation, result.test) == (1, 0.9, 0.5)
    assert all(torch.equal(seen[1][name], p) for name, p in model.state_dict().items())
    assert any(not torch.equal(seen[2][name], p) for name, p in model.state_dict().items())


def test_smaller_may_be_better():
    model, task = model_and_task(0)
    scores = iter([0.2, 0.9, 0.3])
    task = with_metric(task, lambda *_: next(scores, 0.5), larger_is_better=False)
    assert fit(model, task, seed=0, epochs=3).epoch == 0


def test_evaluation_does_not_depend_on_the_batch_size():
    model, task = model_and_task(0)
    graphs = [add_hops(graph, None) for graph in task.part("test")]
    assert evaluate(model, graphs, task, 1) == evaluate(model, graphs, task, 64)
