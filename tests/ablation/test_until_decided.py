"""A study that trains until all is decided, as a process: killed in its second round, it comes to the same end."""

import pytest
from helpers.once import assert_everything_once, trained
from helpers.studies import WITHOUT_AXES, TinyStudy, assert_same_scores

TEXT = f"""
{WITHOUT_AXES.replace("SEEDS = (0, 1)", "SEEDS = 'until_decided'")}
study.most_seeds = 14
study.variants = {{
    'lru': {{}},
    'looped': {{'encoders.lru.mode': 'loop'}},
    'mean': {{'variant.encoder': 'mean'}},
}}
"""
# Looped computes what lru does, which the first look of ten seeds shows; mean is open for as long as it may be.
SEEDS = {"lru": 14, "looped": 12, "mean": 14}
TRIALS = sum(SEEDS.values())
OPTIONS = ("--jobs", "2")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    study = TinyStudy(tmp_path_factory.mktemp("undisturbed"), TEXT)
    result = study.run(*OPTIONS)
    assert result.returncode == 0, result.stdout + result.stderr
    return study


def planned(study):
    """How many seeds of each variant the last invocation has planned."""
    runs = study.tracker()
    rows = runs.planned(runs.invocations()[0].run)
    return {variant: sum(row["variant"] == variant for row in rows) for variant in SEEDS}


def test_killed_in_the_second_round_it_goes_on_and_comes_to_the_same_end(undisturbed, tmp_path):
    assert planned(undisturbed) == SEEDS
    study = TinyStudy(tmp_path, TEXT)
    process = study.start(*OPTIONS)
    study.wait_for(process, lambda: "round 2 of at most 4 (8 seeds): 9 trials" in process.printed())
    study.wait_for_epochs(process, 1)
    process.kill()
    assert len(study.scores()) < TRIALS
    again = study.run(*OPTIONS)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "round 1 of at most 4 (5 seeds): 15 trials, 15 finished before" in again.stdout
    assert "looped is equivalent, decided with 12 seeds; mean is open, 2 more seeds" in again.stdout
    assert again.stdout.count("mean is open with 14 seeds") == 1
    assert_same_scores(study, undisturbed, TRIALS)
    assert_everything_once(study, 3, TRIALS)
    assert planned(study) == planned(undisturbed)
    assert set(trained(study).values()) == {1}
