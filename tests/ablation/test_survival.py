"""The whole program as a real process: run twice, in parallel, killed, interrupted, with trials that fail."""

import json
import os
import signal
from contextlib import suppress

import psutil
import pytest
from helpers.small_disk import small_disk
from helpers.studies import LONG, LONG_HALF, TRIALS, WITHOUT_AXES, TinyStudy, assert_same_scores, interrupt

from gredkit.tracking.tracker import Tracker


def test_every_trial_is_trained_tracked_and_in_the_table(undisturbed):
    trials = undisturbed.trials()
    assert len(trials) == TRIALS
    assert {known.state for known in trials.values()} == {"finished"}
    table = (undisturbed.folder / "reports/tiny/table.md").read_text().splitlines()
    assert sum(line.startswith("|") for line in table) == 2 + TRIALS // 2
    assert not list(undisturbed.folder.glob(".gredkit/*/*/trial.json"))  # nothing is left to do
    assert undisturbed.statuses() == {"FINISHED"}


def test_the_second_time_nothing_is_trained(undisturbed):
    before = undisturbed.scores()
    runs = {name: known.run for name, known in undisturbed.trials().items()}
    result = undisturbed.run(*LONG, "--no-report")
    assert result.returncode == 0, result.stderr
    assert f"{TRIALS} finished before" in result.stdout
    assert "running" not in result.stdout
    assert undisturbed.scores() == before
    assert {name: known.run for name, known in undisturbed.trials().items()} == runs


def test_two_at_a_time_give_the_same_results_and_no_report_if_none_is_asked_for(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    result = study.run(*LONG_HALF, "--jobs", "2")
    assert result.returncode == 0, result.stderr
    assert "to write a report: python -m gredkit.report --study tiny" in result.stdout
    assert not (tmp_path / "reports").exists()
    assert_same_scores(study, undisturbed, TRIALS // 2)


@pytest.mark.parametrize(("finished", "jobs", "trials"), [(0, 1, TRIALS // 2), (2, 2, TRIALS)])
def test_killed_in_the_middle_and_resumed(undisturbed, tmp_path, finished, jobs, trials):
    study, arguments = TinyStudy(tmp_path), LONG if trials == TRIALS else LONG_HALF
    process = study.start(*arguments, "--jobs", str(jobs))
    study.wait_for(process, lambda: len(list(tmp_path.glob("mlartifacts/tiny/*/artifacts/model"))) >= finished)
    study.wait_for_epochs(process, 3)
    started = [json.loads(line) for line in study.events() if '"started"' in line]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    _, alive = psutil.wait_procs([psutil.Process(e["pid"]) for e in started if psutil.pid_exists(e["pid"])], 10)
    assert not alive  # a trial does not outlive its invocation

    result = study.run(*arguments)
    assert result.returncode == 0, result.stderr
    assert_same_scores(study, undisturbed, trials)
    assert study.statuses() == {"FINISHED", "KILLED"}  # the first invocation was killed, no trial is
    for known in study.trials().values():
        assert known.tags["state"] == "finished"
        history = study.tracker().client.get_metric_history(known.run, "validation/score")
        assert sorted(point.step for point in history) == list(range(40))


def test_an_interrupt_ends_the_epoch_and_the_next_invocation_goes_on(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG_HALF, "--jobs", "2")
    study.wait_for_epochs(process, 4)
    interrupt(process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopping after the running epochs" in out
    assert "go on with: python -m gredkit.run --gin tiny.gin" in out
    assert "Traceback" not in err
    states = [known.state for known in study.trials().values()]
    assert "interrupted" in states
    assert "running" not in states
    assert "RUNNING" not in study.statuses()

    result = study.run(*LONG_HALF)
    assert result.returncode == 0, result.stderr
    assert "continues from epoch" in result.stdout
    assert_same_scores(study, undisturbed, TRIALS // 2)


def test_a_second_interrupt_stops_at_once_and_damages_nothing(tmp_path):
    long_epochs = WITHOUT_AXES.replace("graphs = 40", "graphs = 3000").replace("EPOCHS = 3", "EPOCHS = 1")
    study = TinyStudy(tmp_path / "study", long_epochs)
    process = study.start("--jobs", "2")
    study.wait_for(process, lambda: any('"started"' in line for line in study.events()))
    interrupt(process)
    process.wait_for("stopping after the running epochs")
    interrupt(process)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not any('"epoch"' in line for line in study.events())  # it did not wait for the end of an epoch
    assert {known.state for known in study.trials().values()} <= {"interrupted", "running"}

    again, undisturbed = study.run(), TinyStudy(tmp_path / "undisturbed", long_epochs)
    assert again.returncode == 0, again.stderr
    assert undisturbed.run().returncode == 0
    assert study.scores() == undisturbed.scores()
    assert "RUNNING" not in study.statuses()


def test_an_interrupt_while_the_first_trial_starts_is_no_crash(tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG, "--jobs", "2")
    process.wait_for(f"tiny: {TRIALS} trials")
    interrupt(process)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert {known.state for known in study.trials().values()} <= {"interrupted"}


def test_the_same_trial_of_another_study_has_a_run_of_its_own(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG_HALF)
    study.wait_for_epochs(process, 3)
    interrupt(process)
    process.communicate(timeout=60)
    result = study.run(*LONG_HALF, "--set", "study.name='other'")
    assert result.returncode == 0, result.stderr
    other = Tracker("other", f"sqlite:///{tmp_path / 'mlflow.db'}").trials()
    assert {known.state for known in other.values()} == {"finished"}
    assert set(other) < set(undisturbed.trials())
    assert "interrupted" in {known.state for known in study.trials().values()}
    assert study.run(*LONG_HALF).returncode == 0
    assert_same_scores(study, undisturbed, TRIALS // 2)


def test_a_run_that_was_deleted_in_the_meantime_is_told_anew(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG_HALF)
    study.wait_for_epochs(process, 5)
    interrupt(process)
    process.communicate(timeout=60)
    (interrupted,) = (known for known in study.trials().values() if known.state == "interrupted")
    study.tracker().client.delete_run(interrupted.run)
    result = study.run(*LONG_HALF)
    assert result.returncode == 0, result.stdout + result.stderr
    assert_same_scores(study, undisturbed, TRIALS // 2)
    known = study.trials()[interrupted.tags["trial_id"]]
    history = study.tracker().client.get_metric_history(known.run, "train/loss")
    assert sorted(point.step for point in history) == list(range(40))


def test_a_study_that_runs_here_already_is_a_sentence(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    first = study.start(*LONG_HALF)
    study.wait_for_epochs(first, 1)
    second = study.run(*LONG_HALF)
    assert second.returncode == 2
    assert second.stderr.startswith("error: the study 'tiny' is already running here")
    _, err = first.communicate(timeout=200)
    assert first.returncode == 0, err
    assert_same_scores(study, undisturbed, TRIALS // 2)


def test_two_invocations_with_folders_of_their_own_share_the_work(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    first = study.start(*LONG_HALF)
    study.wait_for_epochs(first, 1)
    second = study.run(*LONG_HALF, "--work", "another")
    _, err = first.communicate(timeout=200)
    assert "Traceback" not in err + second.stderr
    assert {first.returncode, second.returncode} <= {0, 1}  # 1: what the other one still trains
    assert study.run(*LONG_HALF).returncode == 0
    assert_same_scores(study, undisturbed, TRIALS // 2)


def test_tuning_then_the_seeds_and_nothing_twice(tmp_path):
    study = TinyStudy(tmp_path, f"study.tune = {{'LEARNING_RATE': (0.001, 0.05)}}\n{WITHOUT_AXES}")
    result = study.run()
    assert result.returncode == 0, result.stderr
    assert "2 tuning trials" in result.stdout
    trials = study.trials().values()
    assert sorted(known.tags["role"] for known in trials) == ["final", "final", "tune"]  # the chosen one serves twice
    chosen = {run.data.params["fit.learning_rate"] for run in study.tracker().search("tags.role = 'final'")}
    tuned = {run.data.params["fit.learning_rate"]: run.data.metrics["best/validation"]
             for run in study.tracker().search("tags.kind = 'trial' and tags.seed = '0'")}  # fmt: skip
    assert len(chosen) == 1
    assert tuned[chosen.pop()] == max(tuned.values())
    again = study.run()
    assert again.returncode == 0
    assert "running" not in again.stdout


def test_a_worker_that_dies_takes_only_its_trial_with_it(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG_HALF, "--jobs", "2")
    study.wait_for_epochs(process, 2)
    victim = next(json.loads(line)["pid"] for line in study.events() if '"started"' in line)
    os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert "its process was ended by SIGKILL" in out
    assert sorted(known.state for known in study.trials().values()) == ["finished", "interrupted"]

    result = study.run(*LONG_HALF)
    assert result.returncode == 0, result.stderr
    assert_same_scores(study, undisturbed, TRIALS // 2)


RAISING = """
import os

from gredkit.nn.encoders.mean import Mean
from gredkit.registry import ENCODERS


@ENCODERS.register("raising")
class Raising(Mean):
    '''Raises when it is trained.'''

    def forward(self, z, hops):
        if self.training and os.path.exists("broken"):
            raise RuntimeError("this encoder cannot be trained")
        return super().forward(z, hops)
"""


def test_trials_that_diverge_or_raise_do_not_stop_the_study(tmp_path):
    variants = "{'fine': {}, 'too fast': {'LEARNING_RATE': 1e30}, 'broken': {'variant.encoder': 'raising'}}"
    study = TinyStudy(tmp_path, f"study.variants = {variants}\n{WITHOUT_AXES}", reports=True)
    (tmp_path / "raising.py").write_text(RAISING)
    (tmp_path / "broken").touch()
    result = study.run("--import", "raising")
    assert result.returncode == 1, result.stderr
    assert "Traceback" not in result.stderr
    states = {(known.tags["variant"], known.state) for known in study.trials().values()}
    assert states == {("fine", "finished"), ("too fast", "diverged"), ("broken", "failed")}
    assert "training diverged in epoch" in result.stdout
    assert "below 1e+30" in result.stdout
    assert "RuntimeError: this encoder cannot be trained" in result.stdout
    broken = next(known for known in study.trials().values() if known.tags["variant"] == "broken")
    files = {file.path for file in study.tracker().client.list_artifacts(broken.run)}
    assert "error.txt" in files
    table = (tmp_path / "reports/tiny/table.md").read_text()
    assert "- (2 failed)" in table
    assert "- (2 diverged)" in table

    again = study.run("--import", "raising", "--no-report")
    assert again.returncode == 1
    assert "2 failed before, 2 diverged before (--retry" in again.stdout
    assert "running" not in again.stdout

    (tmp_path / "broken").unlink()
    before = {name: known.run for name, known in study.trials().items()}
    retried = study.run("--import", "raising", "--retry", "--no-report")
    assert retried.returncode == 0, retried.stdout
    after = study.trials()
    assert set(after) == set(before)
    for name, known in after.items():
        state = {"too fast": "diverged"}.get(known.tags["variant"], "finished")
        assert known.state == state
        assert (known.run == before[name]) == (known.tags["variant"] == "fine")  # the others have a new run


@pytest.fixture
def full_disk(tmp_path):
    """A disk of 400 kB, and how to give it more room."""
    with small_disk(tmp_path / "disk", 400) as disk:
        yield disk.folder, disk.make_room


@pytest.mark.needs("mount")
def test_a_disk_that_is_full_of_everything_is_a_sentence(full_disk, tmp_path):
    disk, make_room = full_disk
    study = TinyStudy(disk / "study", WITHOUT_AXES, has_store=False, reports=True)
    first = study.run()  # not even MLflow's store fits
    assert first.returncode == 1, first.stderr
    assert first.stderr.startswith(f"error: the disk of {disk}/study is full: free some space")
    make_room()
    assert study.run("--set", "SEEDS=(7,)").returncode == 0
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    full = study.run()
    assert full.returncode in (1, 2), full.stderr
    assert "Traceback" not in full.stdout + full.stderr
    filler.unlink()
    last = study.run()
    assert last.returncode == 0, last.stderr
    assert len(study.scores()) == 3


@pytest.mark.needs("mount")
def test_a_full_disk_is_a_sentence_and_the_next_invocation_goes_on(full_disk, tmp_path):
    disk, make_room = full_disk
    study = TinyStudy(tmp_path, WITHOUT_AXES.replace("DIM = 8", "DIM = 48"))
    result = study.run("--work", str(disk))
    assert result.returncode == 1, result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert f"the disk of {disk}/tiny/" in result.stdout
    assert "is full: free some space, then run the same command again" in result.stdout
    assert "go on with: python -m gredkit.run" in result.stdout
    assert [known.state for known in study.trials().values()] == ["interrupted"] * 2
    assert not list(disk.glob("*/*/*.unfinished"))

    make_room()
    assert study.run("--work", str(disk)).returncode == 0
    undisturbed = TinyStudy(tmp_path / "undisturbed", WITHOUT_AXES.replace("DIM = 8", "DIM = 48"))
    assert undisturbed.run().returncode == 0
    assert study.scores() == undisturbed.scores()
