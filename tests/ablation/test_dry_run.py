"""What a dry run says about the cost of a study."""

import re

from helpers.studies import WITHOUT_AXES, TinyStudy

OPEN = WITHOUT_AXES.replace("SEEDS = (0, 1)", "SEEDS = 'until_decided'")
VARIANTS = "study.axes = {'variant.encoder': ('lru', 'mean')}\n"


def test_if_seeds_are_trained_until_all_is_decided_it_says_the_least_and_the_most(tmp_path):
    said = TinyStudy(tmp_path, OPEN + VARIANTS).run("--dry-run", "--jobs", "1")
    assert said.returncode == 0, said.stderr
    assert said.stdout.count(" 5 to 12 |") == 2
    assert re.search(r"^10 to 24 trials, about [\w ]+ with 1 at a time", said.stdout, re.MULTILINE)


def test_after_tuning_too(tmp_path):
    tuned = "study.tune = {'LEARNING_RATE': (0.001, 0.01, 0.1)}\nstudy.most_seeds = 8\n"
    said = TinyStudy(tmp_path, OPEN + VARIANTS + tuned).run("--dry-run", "--jobs", "1")
    assert said.returncode == 0, said.stderr
    assert re.search(r"^6 trials, about [\w ]+; then 10 to 16 trials with what tuning chose, about", said.stdout, re.M)


def test_without_a_comparison_five_seeds_are_enough(tmp_path):
    said = TinyStudy(tmp_path, OPEN).run("--dry-run", "--jobs", "1")
    assert said.returncode == 0, said.stderr
    assert re.search(r"^5 trials, about", said.stdout, re.MULTILINE)
