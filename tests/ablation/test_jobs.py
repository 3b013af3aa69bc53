"""How many trials run side by side if the user does not say, and that the run says so."""

import joblib
import pytest
from helpers.commands import run
from helpers.studies import WITHOUT_AXES, TinyStudy

from gredkit.ablation.jobs import jobs_for
from gredkit.ablation.launchers.slurm import QUEUED, Slurm
from gredkit.config.source import Source
from gredkit.system.resources import Resources
from gredkit.trials.trial import Trial

GB = 10**9
PLENTY = 1000 * GB


def trials(count: int, device: str = "auto") -> list[Trial]:
    """As many seeds of two variants on two datasets."""
    return [
        Trial(
            "study",
            ("lru", "lstm")[i // 2 % 2],
            ("digits", "zinc")[i % 2],
            i,
            Source(),
            settings={"fit.device": device},
        )
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("planned", "machine", "count", "said"),
    [
        (trials(60), Resources(8, 0, PLENTY), 8, "one for each core"),
        (trials(60), Resources(1, 0, PLENTY), 1, "as there is one core"),
        (trials(60), Resources(8, 2, PLENTY), 2, "one for each GPU"),
        (trials(60, "cuda"), Resources(8, 1, PLENTY), 1, "as there is one GPU"),
        (trials(60, "cpu"), Resources(8, 2, PLENTY), 8, "one for each core"),
        (trials(3), Resources(8, 0, PLENTY), 3, "all there are"),
        (trials(1), Resources(8, 0, PLENTY), 1, "all there are"),
        (trials(60), Resources(8, 0, 11 * GB // 2), 5, "5.5 GB of memory are free and one may need 1.0 GB"),
        (trials(60), Resources(8, 0, GB // 2), 1, "0.5 GB of memory are free"),
        (trials(60), Resources(8, 8, 10 * GB), 3, "10.0 GB of memory are free"),
        (trials(3), Resources(8, 0, 5 * GB), 3, "all there are"),
        (trials(60), Resources(8, 0, 8 * GB), 8, "one for each core"),
        ([], Resources(8, 0, PLENTY), 1, "all there are"),
    ],
)
def test_as_many_as_cores_gpus_trials_and_memory_allow(planned, machine, count, said):
    chosen = jobs_for(planned, machine, lambda trial: GB)
    assert chosen.count == count
    assert said in str(chosen)
    assert str(chosen).startswith("1 trial at a time" if count == 1 else f"{count} trials side by side")


def test_the_variant_that_needs_most_decides_where_memory_is_scarce():
    sizes = {("digits", "lru"): GB, ("zinc", "lru"): GB, ("digits", "lstm"): GB, ("zinc", "lstm"): 3 * GB}
    asked = []

    def needed(trial: Trial) -> int:
        asked.append((trial.dataset, trial.variant))
        return sizes[asked[-1]]

    assert jobs_for(trials(60), Resources(8, 0, 10 * GB), needed).count == 3
    assert set(asked) == set(sizes)
    asked.clear()
    assert jobs_for(trials(60), Resources(8, 0, 100 * GB), needed).count == 8
    assert asked == [("zinc", "lru"), ("digits", "lru")]  # one for each dataset tells that there is plenty


def test_a_cluster_is_not_given_all_trials_at_once():
    assert Slurm.usual_jobs(trials(500), {}).count == QUEUED
    assert Slurm.usual_jobs(trials(3), {}).count == 3


def test_a_run_says_what_it_chose_and_does_so(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    study = TinyStudy(tmp_path, WITHOUT_AXES)
    result = run("-m", "gredkit.run", "--gin", "tiny.gin", "--no-report", cwd=tmp_path, fresh=True)
    assert result.returncode == 0, result.stderr
    count = min(2, joblib.cpu_count(only_physical_cores=True))
    chosen = {1: "1 trial at a time, as there is one core", 2: "2 trials side by side, one for each core"}[count]
    assert f"{chosen}; --jobs N sets another number\n" in result.stdout
    assert {known.tags["jobs"] for known in study.trials().values()} == {str(count)}


def test_a_dry_run_chooses_as_the_run_does_unless_it_is_told(tmp_path):
    study = TinyStudy(tmp_path, WITHOUT_AXES)
    told, chosen = study.run("--dry-run", "--jobs", "3"), study.run("--dry-run")
    assert "with 3 at a time" in told.stdout
    assert "--jobs" not in told.stdout
    assert "with 1 at a time" in chosen.stdout  # tests compute with one thread
    assert "1 trial at a time, as there is one core; --jobs N sets another number" in chosen.stdout
