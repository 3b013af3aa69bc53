"""python -m gredkit.bench as a user runs it."""

import json
import math
import re

import pytest
from helpers.commands import fails_with_a_sentence, run

from gredkit.bench.__main__ import BENCHMARKS, main
from gredkit.bench.graphs import molecules
from gredkit.bench.hops import usual_way
from gredkit.bench.oracle import dense_batch
from gredkit.bench.training import CONTESTANTS
from gredkit.errors import UserError
from gredkit.nn.encoders.lru import MODES
from gredkit.nn.segments import installed_backends
from gredkit.registry import ENCODERS
from gredkit.registry import MODELS as MODELS_OF_REGISTRY

MODELS = [name for name in BENCHMARKS if name != "report"]  # which draws for long


def numbers(value):
    """All numbers in a JSON value."""
    if isinstance(value, dict | list):
        return [n for part in (value.values() if isinstance(value, dict) else value) for n in numbers(part)]
    return [value] if isinstance(value, int | float) else []


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """All benchmarks of models, tried once: what was printed, the numbers, and the folder of the files."""
    folder = tmp_path_factory.mktemp("bench")
    options = (*MODELS, "--quick", "--json", str(folder / "bench.json"), "--picture", str(folder / "bench.png"))
    result = run("-m", "gredkit.bench", *options)
    assert result.returncode == 0, result.stderr
    return result.stdout, json.loads((folder / "bench.json").read_text()), folder


def test_all_benchmarks_are_run_and_shown(everything):
    printed, found, _ = everything
    assert list(found) == ["environment", *MODELS]
    for title in (
        "hop index",
        "sets of one layer",
        "training step",
        "the encoders",
        "beside busy processes",
        "operations of a training step",
        "growth",
        "until training starts",
    ):
        assert title in printed
    without_exponents = {name: part for name, part in found.items() if name != "growth"}
    assert all(math.isfinite(n) and n >= 0 for n in numbers(without_exponents))
    assert all(map(math.isfinite, numbers(found["growth"])))


def test_the_machine_is_described(everything):
    environment = everything[1]["environment"]
    assert environment["cpus"] >= 1
    assert environment["threads"] == 1  # what the test asks for
    assert len(environment["load_average"]) == 3
    assert {"torch", "torch-geometric", "scipy"} <= set(environment["packages"])


def test_hops_and_segments(everything):
    _, found, _ = everything
    assert list(found["hops"]) == ["24", "150", "444"]
    for row in found["hops"].values():
        ours, usual = (row["contestants"][name]["ms_per_graph"] for name in ("gredkit", "usual"))
        assert row["speedup_vs_usual"] == pytest.approx(usual / ours)
    for batch in ("peptides", "cifar10"):
        for reduce in ("sum", "mean", "max"):
            assert set(found["segments"][batch][reduce]) == set(installed_backends())


@pytest.mark.parametrize("setting", ["zinc", "peptides", "cifar10"])
def test_ratios_of_training_are_those_of_its_contestants(everything, setting):
    row = everything[1]["training"][setting]
    assert list(row["contestants"]) == list(CONTESTANTS)
    assert row["graphs"] == "synthetic"
    ms, mb = ({name: one[key] for name, one in row["contestants"].items()} for key in ("ms_per_graph", "peak_mb"))
    assert row["speedup_vs_oracle"] == pytest.approx(ms["oracle"] / ms["gredkit"])
    assert row["speedup_vs_published_way"] == pytest.approx(ms["published way"] / ms["gredkit"])
    assert row["speedup_vs_gps"] == pytest.approx(ms["gps"] / ms["gredkit"])
    assert row["speedup_vs_gps_of_our_size"] == pytest.approx(ms["gps of our size"] / ms["gredkit"])
    assert row["parameters"]["gps of our size"] == pytest.approx(row["parameters"]["gredkit"], rel=0.3)  # of few
    assert row["evaluation_speedup"] == pytest.approx(ms["gredkit"] / ms["gredkit evaluating"])
    batch = {name: one["batch"] for name, one in row["contestants"].items()}
    ours, dense = (mb[name] / batch[name] for name in ("gredkit", "oracle"))
    assert row["memory_vs_oracle"] == pytest.approx(ours / dense)


@pytest.mark.parametrize("setting", ["zinc", "peptides", "cifar10"])
def test_encoders_against_the_lru_and_pytorch(everything, setting):
    rows = everything[1]["encoders"][setting]
    assert {"lru", "mamba", "weighted_sum"} <= set(rows) <= set(ENCODERS)  # where other tests may register more
    for row in rows.values():
        assert row["vs_lru"] == pytest.approx(row["ms_per_graph"] / rows["lru"]["ms_per_graph"])
    assert {name for name, row in rows.items() if "vs_torch" in row} == {"rnn", "lstm", "gru", "attention"}
    for row in rows.values():
        if "vs_torch" in row:
            ours, theirs = (row["one_layer"][name]["ms"] for name in ("gredkit", "torch"))
            assert row["vs_torch"] == pytest.approx(theirs / ours)
    assert list(rows["lru"]["modes"]) == list(MODES)


def test_busy_beside_alone(everything):
    found = everything[1]["busy"]
    assert found["processes"] >= 1
    times = {int(count): row["ms"] for count, row in found["beside"].items()}
    assert set(times) == {0, 1, found["processes"]}
    assert found["slowdown"] == pytest.approx(times[found["processes"]] / times[0])
    assert found["slowdown_beside_one"] == pytest.approx(times[1] / times[0])


def test_growth_and_startup(everything):
    _, found, _ = everything
    for curve in (found["growth"]["hops"], found["growth"]["nodes"]):
        work = [point["members"] + point["rows"] for point in curve["points"].values()]
        assert work == sorted(work)
        assert len(work) > 1
    assert found["growth"]["large_graph"]["process_peak_gb"] > 0.1  # importing torch takes as much
    assert "numpy" in found["startup"]["packages_ms"]
    for row in found["startup"]["first_step"].values():
        assert set(row) == {"forked", "fresh"}


def test_the_picture_comes_as_png_and_pdf(everything):
    folder = everything[2]
    assert (folder / "bench.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "bench.pdf").read_bytes().startswith(b"%PDF")


def test_profile_by_part(tmp_path):
    result = run("-m", "gredkit.bench", "--profile", "zinc", "cifar10", "--quick", "--json", str(tmp_path / "p.json"))
    assert result.returncode == 0, result.stderr
    assert "a training step by part" in result.stdout
    found = json.loads((tmp_path / "p.json").read_text())["profile"]
    assert list(found) == ["zinc", "cifar10"]
    for row in found.values():
        assert {"optimiser", "loading", "features", "head", "layer: aggregator", "layer: encoder"} <= set(row["parts"])
        assert {"layer: mlp", "layer: norm", "layer: gelu, GLU, dropout"} <= set(row["parts"])
        assert row["unwatched_step_ms"] > 0
        assert row["step_ms"] == pytest.approx(sum(numbers(row["parts"])))


def test_a_mistake_is_one_sentence_before_anything_is_measured(tmp_path):
    result = run("-m", "gredkit.bench", "hops", "--json", str(tmp_path / "nowhere" / "bench.json"))
    assert "nowhere" in fails_with_a_sentence(result)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["hops", "--picture", "nowhere/bench.png"], "there is no folder .*nowhere"),
        (["training", "--picture", "bench.jpg"], "the name of a PNG file, not 'bench.jpg'"),
        (["hops", "--picture", "bench.png"], "name one of them"),
        (["--profile", "--picture", "bench.png"], "name one of them"),
    ],
)
def test_a_picture_that_cannot_be_drawn(monkeypatch, capsys, options, sentence):
    monkeypatch.setattr("sys.argv", ["bench", *options])
    with pytest.raises(UserError, match=sentence):
        main()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["hops", "trainings"], "there is no benchmark 'trainings': did you mean 'training'?"),
        (["--profile", "hops"], "there is no setting 'hops': choose from cifar10, peptides, zinc"),
    ],
)
def test_an_unknown_name_is_refused(monkeypatch, capsys, names, sentence):
    monkeypatch.setattr("sys.argv", ["bench", *names])
    with pytest.raises(UserError, match=re.escape(sentence)):
        main()
    assert capsys.readouterr().out == ""


def test_the_usual_way_gives_the_masks_of_the_oracle():
    for data in molecules(30, 3):
        assert usual_way(data).equal(dense_batch(data, None).masks[0])


def test_launches_of_every_model(everything):
    found = everything[1]["launches"]
    assert {"gred_zinc", "gred_peptides", "gred_cifar10", "gcn", "gps", "spn"} <= set(found)
    assert {name for name in found if not name.startswith("gred_")} <= set(MODELS_OF_REGISTRY)
    for name, row in found.items():
        assert 0 < row["per_layer"] < row["per_step"]
        assert sum(row["most"].values()) <= row["per_step"]
        if name.startswith("gred_"):
            assert row["per_layer"] <= 25
