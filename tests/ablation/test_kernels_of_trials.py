"""Whether compiled kernels ran is kept with each trial, and a report that mixes both says so."""

import json

import pytest
from helpers.known_results import results
from helpers.page_studies import made_study
from helpers.studies import WITHOUT_AXES, TinyStudy, interrupt

from gredkit.reports.page.page import page
from gredkit.reports.reading import read_study
from gredkit.reports.statistics import comparisons
from gredkit.reports.summary import sentences

WHY = "no: the C compiler 'false' failed: code 1"
LINE = "gredkit runs slower, without its compiled kernels"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A study of which two trials were trained without kernels, one with them, and one with both, one by one."""
    study = TinyStudy(tmp_path_factory.mktemp("mixed"), WITHOUT_AXES)

    def begin(attempts: int) -> None:
        """A trial that never ends by itself, until so many attempts have said whether kernels ran."""
        command = study.start("--set", "SEEDS=(5,)", "--set", "EPOCHS=100000", "--jobs", str(attempts))
        study.wait_for(command, lambda: sum('"kernels"' in line for line in study.events()) >= attempts)
        interrupt(command)
        command.communicate(timeout=300)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", "false")
        without = study.run("--jobs", "2")
        begin(attempts=1)
    begin(attempts=2)
    with_them = study.run("--set", "SEEDS=(0, 1, 7)", "--jobs", "1")
    assert (without.returncode, with_them.returncode) == (0, 0)
    return study, without, with_them


@pytest.mark.needs("compiler")
def test_a_command_with_several_trials_says_once_why_it_is_slow(mixed):
    _, without, with_them = mixed
    assert [line for line in without.stderr.splitlines() if "kernels" in line] == [
        f"{LINE}: {WHY.removeprefix('no: ')} (GREDKIT_KERNELS=0 hides this line)"
    ]
    assert LINE not in without.stdout
    assert LINE not in with_them.stdout + with_them.stderr


@pytest.mark.needs("compiler")
def test_each_run_says_whether_they_ran(mixed, tmp_path):
    study, *_ = mixed
    tracker = study.tracker()
    told = {known.tags["seed"]: known for known in study.trials().values()}
    expected = {"0": WHY, "1": WHY, "7": "yes", "5": f"{WHY}; then yes"}
    assert {seed: known.tags["kernels"] for seed, known in told.items()} == expected
    jobs = {"0": "2", "1": "2", "7": "1", "5": "2"}  # of several attempts the largest number
    assert {seed: known.tags["jobs"] for seed, known in told.items()} == jobs
    for seed, kept in (("0", WHY), ("7", "yes")):
        environment = json.loads(tracker.text(told[seed].run, "environment.json"))
        assert environment["kernels"] == kept


@pytest.mark.needs("compiler")
def test_the_report_of_both_says_so(mixed):
    study, *_ = mixed
    read = read_study(study.tracker())
    assert sorted(read.results["kernels"]) == [WHY, WHY, "yes"]
    said = sentences(read.results, comparisons(read.results))
    (sentence,) = [one for one in said if "kernels" in one]
    assert sentence.startswith(f"Compiled kernels ran in 1 of 3 trials and not, or not always, in the others ({WHY})")
    assert sentence.partition("(")[0] in page(read, [])


@pytest.mark.parametrize(
    ("told", "is_mixed"),
    [
        (["yes", "yes", "yes"], False),
        ([WHY, "no: GREDKIT_KERNELS is 0", WHY], False),
        (["yes", "", None], False),
        (["yes", "yes", WHY], True),
        (["yes", f"{WHY}; then yes", "yes"], True),
    ],
)
def test_only_a_mixture_is_worth_a_sentence(told, is_mixed):
    frame = results({("rings", "lru"): [0.5, 0.6, 0.7]}).assign(kernels=told)
    said = [one for one in sentences(frame, comparisons(frame)) if "kernels" in one]
    assert len(said) == is_mixed
    assert page(made_study(frame), []).count("Compiled kernels ran in") == is_mixed
