"""How long a trial will take: measured once for trials that take equally long."""

import pytest

from gredkit.ablation.estimate import Estimates, measure
from gredkit.ablation.plan import make_plan
from gredkit.config.source import Source
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
    estimates = Estimates()
    text = "study.axes = {'LEARNING_RATE': (0.1, 0.2), 'EPOCHS': (10, 20), 'variant.encoder': ('lru', 'mean')}"
    times = {
        (trial.settings["encoder"], trial.settings["fit.epochs"]): estimates.seconds(trial) for trial in trials_of(text)
    }
    assert len(estimates._known) == 2  # one for each encoder
    for encoder in ("lru", "mean"):
        (pace,) = [pace for key, pace in estimates._known.items() if f"'encoder', '{encoder}'" in key]
        assert times[encoder, 20] - times[encoder, 10] == pytest.approx(10 * pace.epoch)
        assert times[encoder, 10] == pytest.approx(10 * pace.epoch + pace.test)


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
    pace = measure(trials_of(text)[0])
    assert pace.epoch > 0
    assert pace.test > 0
