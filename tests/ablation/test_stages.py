"""A study round by round on a real store, with trials that are functions: who gets more seeds, and what is said."""

import io
import os
import signal

import pytest
from helpers.here import Here
from helpers.studies import empty_store
from rich.console import Console

from gredkit.ablation.plan import Plan
from gredkit.ablation.runner import Runner
from gredkit.ablation.stages import Stages
from gredkit.config.source import Source
from gredkit.reports.reading import read_study
from gredkit.tracking.forwarder import Forwarder
from gredkit.tracking.tracker import Tracker
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

LOOKS = (5, 8)
SETTINGS = {"fit.epochs": 2, "K": 1, "model": "gred"}
NOISE = (0.3, 0.7, 0.4, 0.6, 0.5, 0.35, 0.65, 0.45, 0.55, 0.5, 0.31, 0.69)  # of 12 seeds; nothing can be decided
SCORES = {
    "base": [0.5 + noise / 100 for noise in NOISE],
    "same": [0.5 + noise / 100 for noise in NOISE],
    "worse": [0.1 + noise / 100 for noise in NOISE],
    "open": list(reversed(NOISE)),
    "low": [noise - 0.4 for noise in reversed(NOISE)],  # different from the base; about as good as 'worse'
}


def plan_of(*variants, looks=LOOKS, **compared):
    described = {"settings": SETTINGS, "parameters": 9, "metric": "accuracy"}
    described["compared"] = {**({"looks": ",".join(map(str, looks))} if looks else {}), **compared}
    trials = tuple(
        Trial("tiny", variant, "rings", seed, Source(()), id=f"{variant}-rings-{seed}", **described)
        for variant in variants
        for seed in range(looks[-1] if looks else 3)
    )
    return Plan("tiny", Source(()), trials, looks={"rings": looks} if looks else {})


class Study:
    """A study in a store of its own, trained by one invocation after the other."""

    def __init__(self, folder):
        self.folder, self.said, self.started = folder, "", []
        self.fates = {}  # what trials do that do not finish
        (folder / "mlflow.db").write_bytes(empty_store())

    def scored(self, folder):
        variant, _, seed = folder.path.name.split("-")
        folder.append("started", device="cpu", described={})
        folder.append("result", validation=0.5, test=SCORES[variant][int(seed)])
        folder.append("ended", state="finished", message="")
        return TrialState.FINISHED, ""

    def train(self, plan, retry=False, unsent=0):
        """One invocation, by name what it has trained; the store does not accept so many trials."""
        tracker = Tracker("tiny", f"sqlite:///{self.folder / 'mlflow.db'}")
        tracker.begin("a test", [])
        out = io.StringIO()
        launcher = Here({one.id: self.fates.get(one.id, self.scored) for one in plan.trials})
        forwarder = Forwarder(tracker, print)
        runner = Runner(launcher, tracker, forwarder, self.folder / "work")
        self.stages = Stages(launcher, runner, tracker, forwarder, Console(file=out, width=500))
        try:
            self.stages.train(plan, retry)
        finally:
            assert forwarder.close(60) == unsent
        tracker.end({TrialState.FINISHED: 1})
        self.said, self.tracker, self.study = out.getvalue(), tracker, read_study(tracker)
        return launcher.started


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


def seeds(study):
    """How many planned trials of each variant the report has."""
    return study.study.results.groupby("variant", sort=False)["seed"].nunique().to_dict()


def test_only_open_comparisons_and_their_base_get_more_seeds_and_it_says_why(study):
    started = study.train(plan_of("base", "same", "worse", "open", looks=(5, 10, 12)))
    assert seeds(study) == {"base": 12, "same": 10, "worse": 5, "open": 12}
    assert len(started) == len(set(started)) == 39
    second, third = started[20:35], started[35:]
    assert set(second) == {f"{variant}-rings-{seed}" for variant in ("base", "same", "open") for seed in range(5, 10)}
    assert set(third) == {f"{variant}-rings-{seed}" for variant in ("base", "open") for seed in (10, 11)}
    assert set(study.study.results["state"]) == {"finished"}
    assert set(study.study.results["looks"]) == {"5,10,12"}

    _, second, third = (line for line in study.said.splitlines() if line.startswith("tiny"))
    assert second == "tiny, round 2 of at most 3 (10 seeds): 15 trials"
    assert third == "tiny, round 3 of at most 3 (12 seeds): 4 trials"
    worse = "worse is different, decided with 5 seeds"
    first = f"same and open are open, 5 more seeds; {worse}"
    decided = f"same is equivalent, decided with 10 seeds; {worse}"
    assert f"rings, compared with base: {first}\n" in study.said
    assert f"rings, compared with base: {decided}; open is open, 2 more seeds\n" in study.said
    last = f"rings, compared with base: {decided}; open is open with 12 seeds"
    assert study.stages.standing == [last]
    told = study.tracker.client.get_run(study.tracker.invocation).data.tags["rounds"].splitlines()
    assert len(told) == 3
    assert told[-1] == last


def test_a_list_of_seeds_is_trained_at_once(study):
    assert len(study.train(plan_of("base", "open", looks=()))) == 6
    assert study.said.splitlines()[0] == "tiny: 6 trials"
    assert "more seeds" not in study.said
    assert "looks" not in study.study.results


def test_who_begins_anew_trains_nothing_twice_and_decides_the_same(study):
    plan = plan_of("base", "open")
    study.train(plan)
    before, told = study.study.results, study.stages.standing
    assert study.train(plan) == []
    assert "8 seeds): 6 trials, 6 finished before" in study.said
    assert study.study.results.equals(before)
    assert study.stages.standing == told


def interrupted(folder):
    os.kill(os.getpid(), signal.SIGINT)
    return TrialState.INTERRUPTED, "stopped"


@pytest.mark.parametrize("at", ["open-rings-2", "base-rings-6"])
def test_after_ctrl_c_no_round_begins_and_the_next_command_goes_on(study, at):
    plan = plan_of("base", "open")
    study.fates = {at: interrupted}
    first = study.train(plan)
    assert first[-1] == at
    assert ("the next round begins when all trials of this one have ended" in study.said) == (at == "open-rings-2")
    study.fates = {}
    second = study.train(plan)
    assert sorted(first + second) == sorted([*{*first, *second}, at])
    assert seeds(study) == {"base": 8, "open": 8}


def test_ctrl_c_in_the_last_trial_of_a_round_ends_the_command(study):
    def finished(folder):
        os.kill(os.getpid(), signal.SIGINT)
        return study.scored(folder)

    plan = plan_of("base", "open")
    study.fates = {"open-rings-4": finished}
    assert len(study.train(plan)) == 10
    assert seeds(study) == {"base": 5, "open": 5}


def broken(folder):
    folder.append("started", device="cpu", described={})
    folder.append("ended", state="failed", message="a mistake")
    return TrialState.FAILED, "a mistake"


def test_a_variant_without_a_score_stops_and_is_decided_when_it_is_retried(study):
    plan = plan_of("base", "open")
    study.fates = {f"open-rings-{seed}": broken for seed in range(5)}
    assert len(study.train(plan)) == 10
    assert study.stages.standing == [
        "rings, compared with base: open is open with 5 seeds (one of the two has no score)"
    ]
    study.fates = {}
    assert study.train(plan) == []
    assert len(study.train(plan, retry=True)) == 5 + 6
    assert seeds(study) == {"base": 8, "open": 8}


def test_a_trial_that_failed_does_not_stop_the_rounds(study):
    study.fates = {"open-rings-3": broken}
    study.train(plan_of("base", "open"))
    assert seeds(study) == {"base": 8, "open": 8}


def test_a_trial_that_the_store_refuses_does_not_stop_the_rounds(study):
    def refused(folder):
        folder.append("started", device="cpu", described={"too long for a name" * 20: "1"})
        folder.append("result", validation=0.5, test=0.5)
        folder.append("ended", state="finished", message="")
        return TrialState.FINISHED, ""

    study.fates = {"open-rings-3": refused}
    assert len(study.train(plan_of("base", "open"), unsent=1)) == 16
    assert seeds(study) == {"base": 8, "open": 8}
    assert study.study.results["state"].value_counts().to_dict() == {"finished": 15, "interrupted": 1}


def test_who_stops_in_an_early_round_keeps_later_ones_in_the_report(study):
    plan = plan_of("base", "open")
    study.fates = {"open-rings-2": broken}
    study.train(plan)
    study.fates = {"open-rings-2": interrupted}
    assert study.train(plan, retry=True) == ["open-rings-2"]
    assert "the next round begins" in study.said
    assert seeds(study) == {"base": 8, "open": 8}


def test_what_no_round_asks_for_is_not_in_the_report(study):
    assert len(study.train(plan_of("base", "worse", looks=(6,)))) == 12
    assert study.train(plan_of("base", "worse")) == []
    assert seeds(study) == {"base": 5, "worse": 5}


def test_of_all_pairs_a_decided_one_is_not_called_open(study):
    study.train(plan_of("base", "worse", "low", compare="all"))
    assert seeds(study) == {"base": 5, "worse": 8, "low": 8}
    decided = "rings, compared with base: worse and low are different, decided with 5 seeds"
    assert [line for line in study.said.splitlines() if line.startswith("rings")] == [
        decided, "rings, compared with worse: low is open, 3 more seeds"
    ]  # fmt: skip
    assert study.stages.standing == [decided, "rings, compared with worse: low is open with 8 seeds"]


def test_while_another_invocation_trains_a_trial_the_next_round_waits(study):
    plan = plan_of("base", "open")
    other = Tracker("tiny", f"sqlite:///{study.folder / 'mlflow.db'}")
    other.begin("another", [])
    assert other.claim("open-rings-4") is None
    assert len(study.train(plan)) == 9
    assert "the next round begins when all trials of this one have ended" in study.said
    other.end({TrialState.FINISHED: 1})
    assert len(study.train(plan)) == 1 + 6
