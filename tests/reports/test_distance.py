"""The distances at which models hear: read from a store, or measured where that opens no benchmark."""

import json
import logging

import pandas as pd
import pytest
from helpers.stored import store
from helpers.studies import empty_store

from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.data.subsets import draw, write
from gredkit.registry import DATASETS
from gredkit.reports.distance import read_distance
from gredkit.tracking.tracker import Tracker

SIZES = {"train": 6, "validation": 2, "test": 2}


@pytest.fixture
def opened(monkeypatch):
    """How often a dataset was opened that lies in a folder, as benchmarks do, which might have to be downloaded."""
    DATASETS.get("zinc")  # all others are known before this one
    count = []

    def in_a_folder(root=None, graphs=20):
        count.append(root)
        return ring_transfer(graphs=graphs, distance=2)

    monkeypatch.setitem(DATASETS._entries, "in_a_folder", in_a_folder)
    return count


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A store with one run, whose model was trained on a dataset with these settings, and its results."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow.db").write_bytes(empty_store())

    def make(dataset, settings):
        tracker = Tracker("tiny", f"sqlite:///{tmp_path / 'mlflow.db'}")
        run = tracker.create(0, {"kind": "trial"}, "one")
        store(tmp_path / "model", ring_transfer(graphs=20, distance=2), dataset, 2, dataset_settings=settings)
        tracker.client.log_artifacts(run, str(tmp_path / "model"), "model")
        trial = {"id": "one", "variant": "lru", "dataset": dataset, "seed": 0}
        return tracker, pd.DataFrame([{**trial, "role": "final", "state": "finished", "run": run}])

    return make


def subset_of(tmp_path, dataset, arguments):
    task = ring_transfer(graphs=20, distance=2)
    write(tmp_path / f"{dataset}.json", dataset, task, draw(task, SIZES, 0), 0)
    return "subset", {"file": str(tmp_path / f"{dataset}.json"), "arguments": arguments}


@pytest.mark.parametrize("is_subset", [False, True])
def test_benchmarks_are_opened_only_if_it_may_be(stored, opened, tmp_path, caplog, is_subset):
    about = subset_of(tmp_path, "in_a_folder", {"graphs": 20}) if is_subset else ("in_a_folder", {"graphs": 20})
    runs, results = stored(*about)
    with caplog.at_level(logging.WARNING):
        influence, _ = read_distance(runs, results, benchmarks=False)
    assert not opened
    assert influence.empty
    assert not caplog.records  # nothing went wrong: it was left alone
    influence, _ = read_distance(runs, results, benchmarks=True)
    assert len(opened) == 1
    assert influence["hop"].tolist() == [0, 1, 2]


def test_a_subset_of_what_needs_no_file_is_measured(stored, tmp_path):
    runs, results = stored(*subset_of(tmp_path, "ring_transfer", {"graphs": 20, "distance": 2}))
    influence, _ = read_distance(runs, results, benchmarks=False)
    assert influence["hop"].tolist() == [0, 1, 2]
    (run,) = results["run"]
    assert json.loads(runs.text(run, "distance.json"))["influence"] == influence["influence"].tolist()
