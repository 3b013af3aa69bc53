"""What a dry run says about the cost of a study."""

import io
import re

import pytest
import torch
from helpers.studies import WITHOUT_AXES
from rich.console import Console

from gredkit.ablation.dry_run import dry_run
from gredkit.ablation.plan import make_plan
from gredkit.config.source import Source
from gredkit.errors import UserError

OPEN = "SEEDS = 'until_decided'\n"
VARIANTS = "study.axes = {'variant.encoder': ('lru', 'mean')}\n"


@pytest.fixture
def lines_of(tmp_path, monkeypatch):
    """The lines that a dry run in this process prints about a study, and its trials."""
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()

    def run(text, jobs: int | None = 1, launcher="local"):
        (tmp_path / "tiny.gin").write_text(WITHOUT_AXES + text)
        source, out = Source(("tiny.gin",)), io.StringIO()
        dry_run(source, launcher, jobs, Console(file=out, width=200))
        return out.getvalue().splitlines(), make_plan(source).trials

    yield run
    torch.set_num_threads(threads)


def total(lines):
    """The sentence about all trials."""
    (found,) = [line for line in lines if re.match(r"\d[\d ]*(to \d+ )?trials, about ", line)]
    return found


def test_if_seeds_are_trained_until_all_is_decided_it_says_the_least_and_the_most(lines_of):
    lines, _ = lines_of(OPEN + VARIANTS)
    assert sum(" 5 to 12 |" in line for line in lines) == 2
    assert re.match(r"10 to 24 trials, about [\w ]+ with 1 at a time", total(lines))


def test_after_tuning_too(lines_of):
    tuned = "study.tune = {'LEARNING_RATE': (0.001, 0.01, 0.1)}\nstudy.most_seeds = 8\n"
    lines, _ = lines_of(OPEN + VARIANTS + tuned)
    assert re.match(r"6 trials, about [\w ]+; then 10 to 16 trials with what tuning chose, about", total(lines))


def test_without_a_comparison_five_seeds_are_enough(lines_of):
    lines, _ = lines_of(OPEN)
    assert total(lines).startswith("5 trials, about")


def test_one_row_per_variant_with_what_its_trials_have(lines_of):
    lines, trials = lines_of("study.axes = {'variant.encoder': ('lru', 'mean'), 'K': (2, None)}")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    assert rows[0] == ["variant", "dataset", "K", "epochs", "parameters", "seeds", "time for each"]
    count = {trial.variant: f"{trial.parameters:,}" for trial in trials}
    found = {row[0]: row[1:6] for row in rows[1:]}
    assert set(found) == set(count)
    assert len(found) == 4
    for name, row in found.items():
        K = "2" if "K=2" in name else "diameter"
        assert row == ["ring_transfer", K, "3", count[name], "0, 1"]
    assert re.fullmatch(r"8 trials, about [\w ]+ with 1 at a time on this machine", total(lines))


def test_folds_are_one_row_that_names_them(lines_of):
    lines, trials = lines_of("study.replicates = {'datasets.ring_transfer.seed': (5, 6, 7)}\n")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    assert len(trials) == 6
    assert len(rows) == 2
    assert rows[1][5] == "0, 1 for each of seed=5, seed=6, seed=7"


def test_what_trials_are_given_and_what_they_cost(lines_of):
    lines, _ = lines_of(VARIANTS, jobs=2)
    each, said, path, cost = lines[-4:]
    assert re.fullmatch(r"Each trial has 1 core\. The largest may need \d\.\d GB of memory, the longest \d+ s\.", each)
    assert said == total(lines)
    assert re.fullmatch(r"The critical path is \d+ s: the longest trial of each round, one after another\.", path)
    assert re.fullmatch(r"It costs [\de.-]+ core-hours\.", cost)


CLUSTER = """
launchers.slurm.cpus = 3
launchers.slurm.gpus = 1
launchers.slurm.memory_gb = 5.5
launchers.slurm.hours = 12.0
"""


def test_a_cluster_is_planned_for_where_there_is_none(lines_of):
    lines, _ = lines_of(CLUSTER, jobs=None, launcher="slurm")
    assert lines[0] == "2 trials side by side, all there are; --jobs N sets another number"
    (each,) = [line for line in lines if line.startswith("Each trial has ")]
    assert each.startswith("Each trial has 3 cores, 1 GPU, 5.5 GB of memory, 12 h. ")
    assert "above the limit" not in each
    assert total(lines).endswith("with 2 at a time on the cluster")
    assert re.fullmatch(r"It costs [\de.-]+ core-hours and [\de.-]+ GPU-hours\.", lines[-2])
    assert lines[-1] == (
        "Times were measured on this machine with 1 thread; on the cluster they may be shorter or longer."
    )


def test_a_trial_that_is_longer_than_a_job_may_be_is_named(lines_of):
    lines, _ = lines_of(CLUSTER + "EPOCHS = 100_000_000\n", launcher="slurm")
    assert [line for line in lines if "which is above the limit: it continues in another job" in line]


def test_an_unknown_launcher_is_refused(lines_of):
    with pytest.raises(UserError, match="unknown launcher 'slrum': did you mean 'slurm'"):
        lines_of("", launcher="slrum")


def test_it_chooses_the_jobs_and_says_why(lines_of):
    lines, _ = lines_of("", jobs=None)
    assert re.fullmatch(r"(1 trial at a time|\d+ trials side by side), .+; --jobs N sets another number", lines[0])
    assert total(lines).startswith("2 trials, about ")


def test_what_is_trained_once_and_what_is_not_matched_is_said(lines_of):
    axes = "study.axes = {'variant.model': ('gred', 'gat'), 'K': (1, 2)}\nstudy.match_params = True\n"
    lines, _ = lines_of(f"{axes}DIM = 16\nmodels.gat.heads = 8\nSEEDS = (0,)\n")
    assert [line for line in lines if "instead of" in line and "its width is a multiple of 8 (heads)" in line]
    assert total(lines).endswith("; 1 combination has the same settings as another one and is trained once")


def test_of_a_fraction_it_says_which_one(lines_of):
    axes = "{'LAYERS': (1, 2), 'DIM': (8, 16), 'DROPOUT': (0.0, 0.1)}"
    lines, _ = lines_of(f"study.axes = {axes}\nstudy.combine = 'fraction'\nstudy.resolution = 3\nSEEDS = (0,)\n")
    assert [line for line in lines if line.startswith("A fraction, ")]
    assert total(lines).startswith("4 trials, about ")
