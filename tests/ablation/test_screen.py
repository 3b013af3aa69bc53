"""The live table while a study runs."""

import io
import time
from dataclasses import replace

import pytest
from rich.console import Console

from gredkit.ablation.progress import TrialProgress
from gredkit.ablation.screen import Screen, line
from gredkit.config.source import Source
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

TRIAL = Trial("tiny", "lru", "ring_transfer", 0, Source(()), settings={"fit.epochs": 10}, metric="accuracy")


def running() -> TrialProgress:
    return TrialProgress(TRIAL, TrialState.RUNNING, epoch=5, score=0.5, began=time.monotonic() - 60)


def finished(variant: str = "lstm") -> TrialProgress:
    return TrialProgress(replace(TRIAL, variant=variant), TrialState.FINISHED, epoch=10, test=0.9, score=0.9, took=120)


def table(trials: list[TrialProgress], columns: int = 80) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=columns, height=40, force_terminal=True, color_system=None)
    console.print(Screen(console, trials, 1)._table())
    return [text.rstrip() for text in out.getvalue().splitlines()]


def test_time_that_is_left_and_time_that_it_took_have_columns_of_their_own():
    head, first, second = table([running(), finished()])
    assert head.split()[-2:] == ["took", "left"]
    assert first.endswith(" 1 min")
    assert len(first) == len(head)  # below `left`
    assert second.endswith(" 2 min")
    assert second.index("2 min") + len("2 min") == head.index("took") + len("took")


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_only_the_name_of_a_trial_is_cut_where_there_is_no_room(columns):
    name = "variant.encoder=lru, variant.aggregator=attention, models.gred.layers=4, K=diameter"
    head, row = table([finished(name)], columns)
    assert len(head) <= columns
    assert head.split() == ["trial", "dataset", "seed", "state", "epoch", "score", "took", "left"]
    for word in ("ring_transfer", "finished", "0.9000", "2 min"):
        assert word in row
    assert ("…" in row) == (columns < 160)
    assert row.startswith("variant.encoder=lru")


def test_a_trial_that_continues_says_from_where():
    assert line(running()) == "lru · ring_transfer · seed 0: running, continues from epoch 5"


def test_the_summary_says_which_round_runs():
    console = Console(file=io.StringIO(), width=80)
    trials = [running(), finished()]
    assert str(Screen(console, trials, 1)._summary()).strip().startswith("1 running, 1 finished; about")
    said = str(Screen(console, trials, 1, "round 2 of at most 3 (8 seeds)")._summary())
    assert said.strip().startswith("round 2 of at most 3 (8 seeds): 1 running, 1 finished; about")
