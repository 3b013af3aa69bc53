"""A store that others write, or a disk has damaged: a report is what can be read, or one sentence."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from helpers.tracked_studies import TrackedStudy, good

from gredkit.errors import UserError
from gredkit.reports.reading import read_study

STRANGE: list[Any] = [None, True, -1, 10**30, 0.5, "", "x", [], {}, [[]], [None], {"a": []}, [1, 2, 3]]


@pytest.fixture
def study(tmp_path):
    made = TrackedStudy(tmp_path)
    made.tell(good)
    return made


def files(study: TrackedStudy, *names: str) -> list[Path]:
    found = [path for name in names for path in study.folder.glob(f"mlartifacts/**/{name}")]
    assert found
    return found


def damaged(text: str, chance: random.Random) -> bytes:
    """Cut, with a byte changed, or with another value in some place of it."""
    how = chance.randrange(3)
    if how == 0:
        return text.encode()[: chance.randrange(len(text))]
    if how == 1:
        changed = bytearray(text.encode())
        changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    told = json.loads(text)
    place = chance.choice(places(told))
    if not place:
        return json.dumps(chance.choice(STRANGE)).encode()
    owner = told = copy.deepcopy(told)
    for key in place[:-1]:
        owner = owner[key]
    owner[place[-1]] = chance.choice(STRANGE)
    return json.dumps(told).encode()


def places(told: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    return [path, *(deeper for key, value in inside for deeper in places(value, (*path, key)))]


def test_a_damaged_plan_is_a_plan_or_a_sentence(study, is_long):
    (plan,) = files(study, "plan.json")
    text, chance, sentences = plan.read_text(), random.Random(0), []
    rounds = 60 if is_long else 20
    for _ in range(rounds):
        plan.write_bytes(damaged(text, chance))
        try:
            assert len(read_study(study.tracker).results) <= 6
        except UserError as error:
            sentences.append(str(error))
    assert len(sentences) > rounds / 3
    assert all("command again" in sentence for sentence in sentences)


def test_damaged_eigenvalues_and_weights_are_those_of_fewer_seeds(study, is_long):
    whole = study.read()
    chance = random.Random(1)
    for path in files(study, "eigenvalues.json", "hop_weights.json"):
        text = path.read_text()
        for _ in range(12 if is_long else 3):
            path.write_bytes(damaged(text, chance))
            read = study.read()
            assert len(read.results) == 6
            assert set(read.eigenvalues["id"]) <= set(whole.eigenvalues["id"])
        path.write_text("[")
    read = study.read()
    assert read.eigenvalues.empty
    assert read.hop_weights.empty


def test_a_damaged_curve_is_read_from_the_history(study, is_long):
    whole = study.read()
    run = whole.results["run"].iloc[0]
    text, chance = study.tracker.client.get_run(run).data.tags["curve"], random.Random(2)
    for _ in range(20 if is_long else 6):
        study.tracker.client.set_tag(run, "curve", damaged(text, chance).decode(errors="replace"))
        assert len(study.read().curves) == len(whole.curves)
    study.tracker.client.set_tag(run, "curve", "{}")
    assert study.read().curves["validation"].tolist() == pytest.approx(whole.curves["validation"].tolist(), rel=1e-3)


def test_signs_of_life_that_are_none(study, is_long):
    client, invocation = study.tracker.client, study.tracker.invocation
    said = client.get_run(invocation).data.tags
    for name in ("heartbeat", "pid", "started", "host", "pid_namespace"):
        for value in ("", "nan", "10" * 30, "x") if is_long else ("", "10" * 30):
            client.set_tag(invocation, name, value)
            assert len(study.read().results) == 6, (name, value)
        client.set_tag(invocation, name, said[name])


def test_a_run_that_names_no_trial_is_no_trial(study):
    run = study.tracker.client.create_run(study.tracker.experiment, tags={"kind": "trial"})
    assert run is not None
    assert len(study.read().results) == 6
