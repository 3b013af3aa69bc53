"""python -m gredkit.bench as a user runs it."""

import json
import math

import pytest
from commands import fails_with_a_sentence, run

from gredkit.bench.graphs import molecules
from gredkit.bench.hops import usual_way
from gredkit.bench.measure import Timing, digits, interleave
from gredkit.bench.oracle import dense_batch
from gredkit.nn.segments import backends


def numbers(value):
    """All numbers in a JSON value."""
    if isinstance(value, dict | list):
        return [n for part in (value.values() if isinstance(value, dict) else value) for n in numbers(part)]
    return [value] if isinstance(value, int | float) else []


def test_all_benchmarks_and_the_file_they_write(tmp_path):
    result = run("-m", "gredkit.bench", "--quick", "--json", str(tmp_path / "bench.json"))
    assert result.returncode == 0, result.stderr
    for title in ("hop index", "sets of one layer", "training step"):
        assert title in result.stdout

    found = json.loads((tmp_path / "bench.json").read_text())
    assert list(found) == ["environment", "hops", "segments", "collate", "memory", "training"]
    assert all(math.isfinite(n) and n >= 0 for n in numbers(found))
    assert found["environment"]["cpus"] >= 1
    assert found["environment"]["threads"] == 1  # what the test asks for
    assert len(found["environment"]["load_average"]) == 3
    assert {"torch", "torch-geometric", "scipy"} <= set(found["environment"]["packages"])

    assert list(found["hops"]) == ["24", "150", "444"]
    for row in found["hops"].values():
        ours, usual = (row["contestants"][name]["ms_per_graph"] for name in ("gredkit", "usual"))
        assert row["speedup_vs_usual"] == pytest.approx(usual / ours)
    for batch in ("peptides", "cifar10"):
        for reduce in ("sum", "mean", "max"):
            assert set(found["segments"][batch][reduce]) == set(backends())
    assert list(found["training"]) == ["zinc", "peptides", "cifar10"]
    for row in found["training"].values():
        ours, dense = (row["contestants"][name]["ms_per_graph"] for name in ("gredkit", "oracle"))
        assert row["speedup_vs_oracle"] == pytest.approx(dense / ours)


def test_one_benchmark_alone():
    result = run("-m", "gredkit.bench", "hops", "--quick")
    assert result.returncode == 0, result.stderr
    assert "hop index" in result.stdout
    assert "training" not in result.stdout


def test_an_unknown_name_is_refused():
    result = run("-m", "gredkit.bench", "hops", "trainings")
    assert result.returncode == 2
    assert "unknown benchmark 'trainings': choose from hops, segments, collate, memory, training" in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""  # nothing was measured before


def test_a_folder_that_is_not_there_is_named_before_anything_is_measured(tmp_path):
    result = run("-m", "gredkit.bench", "hops", "--json", str(tmp_path / "nowhere" / "bench.json"))
    assert "nowhere" in fails_with_a_sentence(result)
    assert result.stdout == ""


def test_contestants_take_turns_after_a_warm_up():
    calls: list[str] = []
    timings = interleave({name: lambda name=name: calls.append(name) for name in "ab"}, repeats=3, warmup=2)
    assert {name: len(timing.seconds) for name, timing in timings.items()} == {"a": 3, "b": 3}
    assert len(calls) == 10
    rounds = [calls[i : i + 2] for i in range(0, 10, 2)]
    assert all(sorted(pair) == ["a", "b"] for pair in rounds)
    assert rounds[0] == rounds[2] == rounds[4] != rounds[1] == rounds[3]


def test_median_and_quartiles():
    timing = Timing((5.0, 1.0, 2.0, 3.0, 100.0))
    assert timing.median == 3.0
    assert timing.quartiles == (2.0, 5.0)
    assert timing.per(2).median == 1.5
    assert Timing((4.0,)).quartiles == (4.0, 4.0)
    assert [digits(x) for x in (0.01234, 1.0, 12.345, 123.4, 1234.5)] == ["0.0123", "1.00", "12.3", "123", "1234"]


def test_the_usual_way_gives_the_masks_of_the_oracle():
    for data in molecules(30, 3):
        assert usual_way(data).equal(dense_batch(data, None).masks[0])
