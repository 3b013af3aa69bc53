"""How long a trial will take: measured once for trials that take equally long."""

import pytest

from gredkit import add_hops
from gredkit.ablation.estimate import MOST, Estimates, Line, Seconds, Short, Size
from gredkit.ablation.plan import make_plan
from gredkit.config.source import Source
from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.data.task import SPLITS
from gredkit.trials.trial import Trial

TINY = """
SEEDS = (0, 1)
LAYERS = 1
DIM = 8
datasets.ring_transfer.distance = 2
datasets.ring_transfer.graphs = 40
"""


@pytest.fixture
def trials_of(tmp_path):
    def trials(text: str) -> tuple[Trial, ...]:
        (tmp_path / "tiny.gin").write_text(TINY + text)
        return make_plan(Source((str(tmp_path / "tiny.gin"),))).trials

    return trials


def test_only_what_takes_another_time_is_measured_again(trials_of):
    trials = trials_of(
        "study.axes = {'LEARNING_RATE': (0.1, 0.2), 'EPOCHS': (10, 20), 'variant.encoder': ('lru', 'mean')}"
    )
    estimates = Estimates(trials)
    times = {(trial.settings["encoder"], trial.settings["fit.epochs"]): estimates.seconds(trial) for trial in trials}
    assert len(estimates._paces) == 2  # one for each encoder
    for encoder in ("lru", "mean"):
        ((pace,),) = [by_K.values() for key, by_K in estimates._paces.items() if f"'encoder', '{encoder}'" in key]
        assert times[encoder, 20] - times[encoder, 10] == pytest.approx(10 * pace.epoch)
        assert times[encoder, 10] == pytest.approx(10 * pace.epoch + pace.test)


@pytest.fixture
def measured(monkeypatch):
    """The values of K that are measured, each of which takes as long as a formula says."""
    found = []

    def measure(short):
        found.append(short._described.settings.K)
        size = short.size()
        return Seconds(1.0, 0.5) if size is None else Seconds(1 + 2 * size.rows + 3 * size.members, 5 * size.rows)

    monkeypatch.setattr(Short, "measure", measure)
    return found


RINGS = "datasets.ring_transfer.distance = 8\nEPOCHS = 1\n"


def test_values_of_K_that_were_not_measured_are_predicted_from_rows_and_members(trials_of, measured):
    trials = trials_of(f"{RINGS}study.axes = {{'K': (1, 2, 3, 4, 6, None)}}")
    estimates = Estimates(trials)
    times = {trial.settings["K"]: estimates.seconds(trial) for trial in trials}
    assert len(measured) == MOST
    assert {1, None} <= set(measured)
    task = ring_transfer(distance=8, graphs=40)
    splits = {split: len(task.part(split)) for split in SPLITS}
    for K, time in times.items():
        graph = add_hops(task.graphs[0], K)  # all rings are alike
        rows, members = graph.hop_seq_set.numel(), graph.hop_set_member.numel()
        predicted = (splits["validation"] + splits["test"]) * 5 * rows
        assert time == pytest.approx(splits["train"] * (1 + 2 * rows + 3 * members) + predicted, rel=1e-6), K


def test_few_values_of_K_and_models_without_hop_sets_are_all_measured(trials_of, measured):
    for text, count in (("'K': (1, 2, 3)", 3), ("'K': (1, 2, 3, 4)}\nvariant.sequence = 'powers'\nstudy.only = {", 4)):
        measured.clear()
        trials = trials_of(f"{RINGS}study.axes = {{{text}}}")
        estimates = Estimates(trials)
        assert all(estimates.seconds(trial) > 0 for trial in trials)
        assert len(measured) == count


def test_no_part_of_a_trial_takes_less_than_no_time():
    falling = {Size(10, 10): Seconds(3, 3), Size(20, 40): Seconds(2, 2), Size(40, 90): Seconds(1, 1)}
    line = Line.through(falling)
    assert min(*line.constant, *line.row, *line.member) >= 0
    assert line.at(Size(30, 60)) == pytest.approx((2, 2))  # the mean


@pytest.mark.parametrize(
    "text",
    [
        *(f"variant.model = '{model}'" for model in ("gred", "gin", "gps")),
        "K = 'dataset'",
        "variant.positional = 'rwse'\nDIM = 24",
        "BATCH_SIZE = 1000",  # more than there are graphs
        "fit.precision = 'bfloat16'",
        "LEARNING_RATE = 1e30",  # would diverge
        "trial.dataset = 'pattern_sbm'\ndatasets.pattern_sbm.train = 4",  # of nodes
    ],
)
def test_every_kind_of_trial_has_an_estimate(text, trials_of):
    measured = Short(trials_of(text)[0]).measure()
    assert measured.training > 0
    assert measured.prediction > 0
