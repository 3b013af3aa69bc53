import math
import pickle
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from helpers.checks import ignore_compiler_warnings
from torch import nn
from torch._dynamo.utils import counters
from torch_geometric.data import Batch
from training.small import (
    but_seconds,
    same_bits,
    small_model,
    small_task,
    train,
    weights,
    with_metric,
    with_scores,
)

from gredkit import add_hops
from gredkit.data.hops.cache import prepare
from gredkit.data.hops.structure import Hops
from gredkit.errors import UserError
from gredkit.training.checkpoint import load
from gredkit.training.evaluation import evaluate, predict_all
from gredkit.training.fit import Diverged, fit
from gredkit.training.recipe import Recipe
from gredkit.training.schedule import factor


def seen_batches(model, of):
    """The batches that the model will be given in training, each as `of` sees it."""
    seen = []
    model.register_forward_pre_hook(lambda m, inputs: seen.append(of(inputs[0])) if m.training else None)
    return seen


def test_it_learns_and_the_same_seed_gives_the_same_result():
    task = small_task(150)
    results, models = [], []
    for seed in (0, 0, 1):
        models.append(small_model(task, dropout=0.1))
        results.append(train(models[-1], task, seed, epochs=16, batch_size=16, learning_rate=1e-2))
    assert results[0].test > 0.8  # chance is a third
    assert but_seconds(results[0]) == but_seconds(results[1]) != but_seconds(results[2])
    assert same_bits(weights(models[0]), weights(models[1]))
    assert not same_bits(weights(models[0]), weights(models[2]))


def test_what_was_drawn_before_does_not_matter():
    task, found = small_task(), []
    for draws in (0, 7):
        model = small_model(task, dropout=0.5)
        torch.rand(draws)
        found.append((but_seconds(train(model, task)), weights(model)))
    assert found[0][0] == found[1][0]
    assert same_bits(found[0][1], found[1][1])


# The loop, against one that is written out.


def test_all_steps_by_hand():
    """Two epochs of two batches in double precision: schedule, clipping, groups and AdamW as in the textbook."""
    task, epochs, clip = with_scores(small_task(), 0.1, 0.2), 2, 0.5  # the last epoch is the best
    task = replace(task, splits={**task.splits, "train": range(16)})
    model = small_model(task).double()
    p = {name: tensor.detach().clone().requires_grad_() for name, tensor in model.named_parameters()}
    seen = seen_batches(model, lambda batch: batch.clone())
    recipe = Recipe(epochs, 8, 0.05, weight_decay=0.2, recurrent_factor=0.5, warmup=0.5, clip_norm=clip)
    train(model, task, recipe=recipe)

    m, v = ({name: torch.zeros_like(tensor) for name, tensor in p.items()} for _ in range(2))
    clipped = 0
    for t, batch in enumerate(seen, 1):
        loss = task.objective.loss(torch.func.functional_call(model, p, (batch,)), batch.y)
        gradients = dict(zip(p, torch.autograd.grad(loss, list(p.values())), strict=True))
        norm = math.sqrt(sum(g.square().sum().item() for g in gradients.values()))
        clipped += norm > clip
        rate = 0.05 * [1 / 3, 2 / 3, 1, 1 / 2][t - 1]
        for name, g in gradients.items():
            g = g * min(1, clip / (norm + 1e-6))
            recurrent = name.endswith(("nu_log", "theta_log", "gamma_log", "in_re", "in_im"))
            decay = 0.0 if recurrent or g.ndim == 1 or "embed" in name else 0.2
            own = rate * (0.5 if recurrent else 1)
            m[name], v[name] = 0.9 * m[name] + 0.1 * g, 0.999 * v[name] + 0.001 * g * g
            step = m[name] / (1 - 0.9**t) / ((v[name] / (1 - 0.999**t)).sqrt() + 1e-8)
            p[name] = (p[name] * (1 - own * decay) - own * step).detach().requires_grad_()
    assert len(seen) == 4
    assert clipped > 0
    for name, tensor in model.named_parameters():
        torch.testing.assert_close(tensor.detach(), p[name].detach(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("batch_size", "sizes"), [(10, [10, 10, 10]), (35, [35]), (36, [36]), (50, [36])])
def test_the_last_partial_batch_is_dropped_unless_it_is_the_only_one(batch_size, sizes):
    task = small_task()
    assert len(task.splits["train"]) == 36
    model = small_model(task)
    seen = seen_batches(model, lambda batch: batch.num_graphs)
    train(model, task, epochs=2, batch_size=batch_size)
    assert seen == 2 * sizes


def test_every_epoch_shuffles_the_training_graphs():
    task = small_task()
    for i, graph in enumerate(task.graphs):
        graph.number = torch.tensor([i])
    model = small_model(task)
    seen = seen_batches(model, lambda batch: tuple(batch.number.tolist()))
    train(model, task, epochs=3, batch_size=12)
    orders = [sum(seen[i : i + 3], ()) for i in (0, 3, 6)]
    assert all(sorted(order) == list(task.splits["train"]) for order in orders)
    assert len(set(orders)) == 3


def test_reports():
    task, reports, losses, checked = small_task(), [], [], []
    model = small_model(task)
    graphs = [add_hops(graph, None) for graph in task.graphs]

    def loss(outputs, targets):
        value = task.objective.loss(outputs, targets)
        losses.append(value.item()) if model.training else None
        return value

    def on_epoch(report):
        reports.append(report)
        checked.append(evaluate(model, [graphs[i] for i in task.splits["validation"]], task, 7))

    noted = replace(task, objective=replace(task.objective, loss=loss))
    result = train(model, noted, epochs=3, batch_size=9, learning_rate=0.02, on_epoch=on_epoch)
    assert [report.epoch for report in reports] == [0, 1, 2]
    for report, evaluation in zip(reports, checked, strict=True):
        steps = losses[4 * report.epoch : 4 * report.epoch + 4]
        assert report.train_loss == pytest.approx(sum(steps) / 4)
        assert report.validation_loss == pytest.approx(evaluation.loss)
        assert report.validation == evaluation.score
        assert report.learning_rate == 0.02 * factor(Recipe(), 4 * report.epoch + 3, 12)
        assert report.samples_per_second >= 36 / report.seconds  # the seconds of validation are in there too
        assert report.peak_mb > 10
    scores = [report.validation for report in reports]
    assert [report.is_best for report in reports] == [s > max(scores[:i], default=-1) for i, s in enumerate(scores)]
    assert result.seconds == pytest.approx(sum(report.seconds for report in reports))
    assert result.final_train_loss == reports[-1].train_loss
    assert (result.final_epoch, result.final_validation) == (2, scores[-1])


# Which epoch is the best.


def test_the_best_epoch_is_the_one_that_is_tested():
    task = small_task()
    model = small_model(task)
    worse_later = iter([0.2, 0.9, 0.3])
    seen = []

    def metric(logits, labels):
        seen.append(weights(model))
        return next(worse_later, 0.5)

    result = train(model, with_metric(task, metric), epochs=3)
    assert (result.epoch, result.validation, result.test) == (1, 0.9, 0.5)
    assert (result.final_epoch, result.final_validation) == (2, 0.3)
    assert same_bits(seen[1], weights(model))
    assert same_bits(seen[1], seen[3])  # what was tested
    assert not same_bits(seen[2], weights(model))
    graphs = [add_hops(graph, None) for graph in task.part("test")]
    assert result.test_loss == pytest.approx(evaluate(model, graphs, task).loss)


def test_smaller_may_be_better():
    task = with_scores(small_task(), 0.2, 0.9, 0.1, 0.3, larger_is_better=False)
    assert train(small_model(task), task).epoch == 2


@pytest.mark.parametrize("larger_is_better", [True, False])
@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ((math.nan, 0.3, math.nan, 0.3), 1),
        ((0.3, math.nan, math.nan, math.nan), 0),
        ((math.nan, math.nan, math.nan, 0.0), 3),
        ((math.nan, math.nan, math.nan, math.nan), 3),
    ],
)
def test_no_number_is_never_better_than_a_number(scores, best, larger_is_better):
    task = with_scores(small_task(), *scores, then=math.nan, larger_is_better=larger_is_better)
    result = train(small_model(task), task)
    assert result.epoch == best
    assert result.final_epoch == 3
    assert math.isnan(result.test)


@pytest.mark.parametrize(
    ("scores", "patience", "final"),
    [
        ((0.1, 0.2, 0.2, 0.3, 0.3, 0.3, 0.3), 2, 5),  # a tie is no improvement
        ((0.1, 0.2, 0.2, 0.3, 0.3, 0.3, 0.3), 1, 2),
        ((0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7), 1, 6),
        ((0.5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1), 6, 6),
        ((math.nan, math.nan, math.nan, 0.1, 0.2, 0.3, 0.4), 3, 2),
        ((math.nan, math.nan, 0.1, math.nan, math.nan, 0.2, 0.2), 3, 6),
    ],
)
def test_patience(scores, patience, final):
    task = with_scores(small_task(), *scores)
    assert train(small_model(task), task, epochs=7, patience=patience).final_epoch == final


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_tested_model_is_scored_on_its_training_graphs_where_that_is_asked(dropout):
    task = small_task()
    model = small_model(task, dropout=dropout)
    plain = train(model, task)
    kept = weights(model)
    asked = train(model := small_model(task, dropout=dropout), task, train_score=True)
    assert plain.train is None
    assert replace(asked, seconds=0, train=None) == replace(plain, seconds=0)  # nothing else is touched by it
    assert same_bits(kept, weights(model))
    graphs = prepare(task.part("train"), [Hops(None)], progress=False)
    outputs = predict_all(model, graphs, batch_size=5)
    answers, truth = outputs.argmax(1), torch.cat([graph.y for graph in graphs])
    assert asked.train == pytest.approx((answers == truth)[truth >= 0].double().mean().item())


# What goes wrong.


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_an_empty_split(split):
    task = small_task()
    task = replace(task, splits={**task.splits, split: []})
    with pytest.raises(UserError, match=f"ring_transfer has no graphs in its {split} split: give it at least one"):
        train(small_model(task), task)


def test_graphs_of_one_split_are_not_enough():
    task = small_task()
    with pytest.raises(UserError, match="ring_transfer has 60 graphs, but 36 were prepared: prepare them all"):
        fit(small_model(task), task, [add_hops(graph, None) for graph in task.part("train")], Recipe(), 0)


def test_a_learning_rate_that_is_far_too_large():
    task = small_task()
    with pytest.raises(Diverged, match=r"training diverged in epoch \d: .* use a learning rate below 1e\+20") as error:
        train(small_model(task), task, learning_rate=1e20)
    assert error.value.learning_rate == 1e20


class Infinite(nn.Module):
    """A model whose outputs are infinite once a graph of certain ones is in the batch."""

    def __init__(self, model, numbers):
        super().__init__()
        self.model, self.numbers = model, torch.tensor(numbers)

    def needs(self, K):
        return self.model.needs(K)

    def forward(self, batch: Batch):
        bad = torch.isin(batch.number, self.numbers).any()
        return self.model(batch) + torch.where(bad, torch.inf, 0.0)


@pytest.mark.parametrize(
    ("split", "what"),
    [("train", "the training loss"), ("validation", "an output in validation"), ("test", "an output in test")],
)
def test_where_it_diverged(split, what):
    task = small_task()
    for i, graph in enumerate(task.graphs):
        graph.number = torch.tensor([i])
    model = Infinite(small_model(task), list(task.splits[split])[:1])
    with pytest.raises(Diverged) as error:
        train(model, task, batch_size=36)
    assert error.value.what == what
    assert error.value.epoch in (range(1) if split != "test" else range(4))
    sentence = f"training diverged in epoch {error.value.epoch}: {what} became NaN or infinite; "
    sentence += "use a learning rate below 0.001"
    assert str(error.value) == sentence
    assert str(pickle.loads(pickle.dumps(error.value))) == sentence  # it comes back from other processes


# Precision and compilation.


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_mixed_precision(precision):
    task = small_task(150)
    model, dtypes = small_model(task), set()
    model.head[0].register_forward_hook(lambda module, inputs, output: dtypes.add(output.dtype))

    def accuracy(outputs, targets):
        dtypes.add(outputs.dtype)
        return task.objective.metric.score(outputs, targets)

    recipe = {"epochs": 16, "batch_size": 16, "learning_rate": 1e-2, "clip_norm": 1.0}
    result = train(model, with_metric(task, accuracy), precision=precision, **recipe)
    assert dtypes == {getattr(torch, precision), torch.float32}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert result.test > 0.8


def test_gradients_are_clipped_at_their_true_size():
    """In float16 they are scaled up by 65536: a norm of 1000 is never reached without it."""
    found = []
    for clip_norm in (None, 1000.0):
        task = small_task()
        train(model := small_model(task), task, precision="float16", clip_norm=clip_norm)
        found.append(weights(model))
    assert same_bits(*found)


class Columns(nn.Module):
    """The columns of the nodes, as they are."""

    def forward(self, batch: Batch):
        return batch.x.float()


@ignore_compiler_warnings
@pytest.mark.needs("c++")
def test_compiled(tmp_path):
    task = small_task(20)
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    as_it_is = nn.Sequential(Columns(), nn.Linear(2, 4), nn.GELU(), nn.Linear(4, 3))  # GRED takes minutes
    compiled = deepcopy(as_it_is)
    expected = train(as_it_is, task, epochs=2, batch_size=4)
    found = train(compiled, task, epochs=2, batch_size=4, compile=True, checkpoint=tmp_path / "run")
    assert counters["stats"]["calls_captured"] > 0
    assert found.test_loss == pytest.approx(expected.test_loss, rel=1e-4)
    assert load(tmp_path / "run").model.keys() == as_it_is.state_dict().keys()
    torch._dynamo.reset()


def test_the_rate_falls_where_the_loss_does_not_and_training_ends_below_the_least_rate():
    task, rates = small_task(), []
    flat = replace(task, objective=replace(task.objective, loss=lambda outputs, y: 0 * outputs.sum()))
    how = {"schedule": "plateau", "warmup": 0.0, "learning_rate": 0.8, "plateau_patience": 1, "least_rate": 0.15}
    result = train(
        small_model(task), flat, epochs=50, **how, on_epoch=lambda report: rates.append(report.learning_rate)
    )
    assert rates == [0.8, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2]
    assert result.final_epoch == 6
