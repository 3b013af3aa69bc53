"""The checklist says what was recorded, and that the rest was not."""

import pandas as pd
import pytest
from helpers.known_results import FLAVOURS, results
from helpers.page_studies import full_study, made_study
from helpers.tracked_studies import GIN, TrackedStudy, good

from gredkit.ablation.dataset import known_hashes
from gredkit.ablation.record import environment
from gredkit.reports.checklist import UNKNOWN, checklist
from gredkit.reports.study import SETTING

MACHINE = {
    **{"python": "3.11.2", "platform": "Linux-6.1", "processor": "x86_64", "processor_name": "A Fast One", "cores": 64},
    **{"memory_gb": 128, "device": "cpu", "threads": 4, "packages": {"torch": "2.7.0", "Numpy": "2.2.0"}},
}


def told(study):
    return dict(checklist(study))


def test_what_was_recorded_is_said():
    frame = results({("far", "lru"): [0.5] * 3, ("far", "rnn"): [0.5, 0.5, "failed"]})
    frame = frame.assign(
        git_commit=["a" * 40 + "+"] * 3 + ["b" * 40] * 3, device="cpu", **{"axis:variant.encoder": "x"}
    )
    frame["axis:variant.encoder"] = frame["variant"]
    found = told(made_study(frame, environments=(MACHINE,), hashes={"far": ["0123"]}))
    assert found["Number of runs"] == (
        "6 trials: 2 variants, 1 dataset, 3 seeds (0, 1 and 2); 5 have a score, 1 has none."
    )
    assert found["What was varied"] == "variant.encoder: lru, rnn."
    assert found["Compute"].startswith("0.40 core-hours: 0.10 hours of training, summed over 6 trials, times 4 threads")
    assert found["Hardware"] == "A Fast One, 64 cores, 128 GB of memory, Linux-6.1. Up to 1 trial side by side."
    assert found["Versions"].startswith("Python 3.11.2, torch 2.7.0, numpy 2.2.0.")
    assert (
        found["Code"] == f"commits {'a' * 12} (3 trials), {'b' * 12} (3 trials), with changes that were not committed."
    )
    assert found["Data"].startswith("far: 0123.")


def test_what_was_not_recorded_is_not_made_up():
    found = told(full_study())
    assert found["Versions"] == UNKNOWN
    for asked in ("Hardware", "Compute", "Code", "Data"):
        assert UNKNOWN in found[asked]
    nothing = results(FLAVOURS).assign(seconds=None)
    assert told(made_study(nothing))["Compute"] == UNKNOWN


def test_the_time_of_a_lost_trial_counts_from_its_start_to_its_end():
    frame = results({("far", "lru"): [0.5, "failed"]})
    frame["seconds"] = [3600.0, None]
    frame["started"] = pd.to_datetime(0, unit="s", utc=True)
    frame["ended"] = pd.to_datetime([0, 7200], unit="s", utc=True)
    found = told(made_study(frame, environments=(MACHINE,)))["Compute"]
    assert found.startswith("12 core-hours: 3.0 hours of training, summed over 2 trials, times 4 threads of each")


def test_searched_ranges_are_those_of_the_tuning_trials():
    final, tried = results({("far", "lru"): [0.5]}), results({("far", "lru"): [0.5, 0.6]})
    tried = tried.assign(role="tune", **{f"{SETTING}fit.learning_rate": ["0.001", "0.01"], f"{SETTING}fit.epochs": "3"})
    found = told(made_study(pd.concat([final, tried], ignore_index=True)))
    assert found["Hyper-parameters searched"].startswith("fit.learning_rate: 0.001, 0.01. The best validation score")
    assert found["Number of runs"].endswith("; 2 more chose hyper-parameters.")
    assert told(full_study())["Hyper-parameters searched"].startswith("None: ")


@pytest.fixture(scope="module")
def tracked(tmp_path_factory):
    study = TrackedStudy(tmp_path_factory.mktemp("study"), GIN)
    study.tell(good)
    return study


def test_a_store_gives_back_the_machine_and_the_hashes_of_the_data(tracked):
    assert tracked.read().environments == ()
    assert tracked.read().hashes == {}
    machine = environment("cpu")
    runs = [known.run for known in tracked.tracker.trials().values()]
    for run in runs:
        tracked.tracker.client.log_dict(run, machine, "environment.json")
    tracked.tracker.add_hashes(known_hashes(tracked.plan.trials))
    study = tracked.read()
    assert list(study.environments) == [machine]
    (hashes,) = study.hashes.values()
    assert [len(one) for one in hashes] == [16]
    assert UNKNOWN not in " ".join(told(study)[asked] for asked in ("Hardware", "Versions", "Compute", "Data"))


@pytest.mark.parametrize("text", ["no json", "[]", '{"threads": "four"}', '{"packages": 1}'])
def test_a_damaged_environment_is_not_recorded(text, tracked):
    for known in tracked.tracker.trials().values():
        tracked.tracker.client.log_text(known.run, text, "environment.json")
    tracked.tracker.client.log_text(tracked.tracker.invocation, text, "data.json")
    study = tracked.read()
    assert study.environments == ()
    assert study.hashes == {}
