"""Our baselines are the published ones: recorded outputs, gradients and statistics of the reference layers."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from golden.baselines import by_hops
from golden.baselines.families import family_of
from golden.baselines.vectors import SMALL, compare_baseline
from golden.compare import report_baseline
from golden.difference import TOLERANCE, Difference

from gredkit.nn.models.spn import SPN

FILES = sorted(Path(__file__).parent.glob("models/*.npz"))


def differences(file):
    config = json.loads(str(file["config"]))
    return compare_baseline(config, file, family_of(config))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_same_layers_as_published(path):
    file = dict(np.load(path))
    found = differences(file)
    assert any(name.startswith("grad") for name in found)
    assert max(difference.relative for difference in found.values()) <= TOLERANCE
    results = ("out", "grad", "buffer_after")
    assert {name for name in file if name.startswith(results)} - found.keys() <= {"out_batch"}


@pytest.mark.parametrize("change", ["param:0.D.weight", "buffer:1.bn_node_x.running_mean", "edge_attr"])
def test_a_difference_is_noticed(change, capsys):
    file = dict(np.load(Path(__file__).parent / "models" / "gatedgcn_plus_gelu.npz"))
    file[change] = file[change] + 0.01
    assert not report_baseline(Path("altered.npz"), differences(file))
    assert "DIFFERENT" in capsys.readouterr().out


def test_what_is_no_number_is_a_difference(capsys):
    """Not only in outputs: of a gradient that is 0 on paper there is nothing to compare with, and NaN is not small."""
    fine, none = Difference(0.0, 1.0), Difference(float("nan"), SMALL / TOLERANCE)
    for made_up in ({"out": fine, "grad:a": none}, {"grad:a": none, "out": fine}):
        assert not report_baseline(Path("made_up.npz"), made_up)
    file = dict(np.load(Path(__file__).parent / "models" / "gps_gine.npz"))
    file["out"] = np.full_like(file["out"], np.nan)
    assert not report_baseline(Path("made_up.npz"), differences(file))
    assert capsys.readouterr().out.count("DIFFERENT") == 3
    assert report_baseline(Path("made_up.npz"), {"out": fine})


@pytest.mark.parametrize(("name", "setting", "value"), [("spn_net_train", "eps", 0.5), ("grit_train", "clamp", 0.5)])
def test_files_may_have_other_values_of_what_is_a_constant_here(name, setting, value):
    file = dict(np.load(Path(__file__).parent / "models" / f"{name}.npz"))
    config = json.loads(str(file["config"]))
    file["config"] = np.array(json.dumps(config | {setting: value}))
    assert differences(file)["out_train"].relative > TOLERANCE


def test_spn_with_another_eps_counts_the_node_itself_more_often():
    plain, other = (by_hops._with_eps(SPN(by_hops.NODES, dim=4, layers=1, hops=3), eps) for eps in (0.0, 0.5))
    other.load_state_dict(plain.state_dict())
    added = other.layers[0].weights(5) - plain.layers[0].weights(5)
    torch.testing.assert_close(added, torch.tensor([0.5, 0, 0, 0, 0]))


def test_weights_without_a_place_and_places_without_a_weight_are_noticed():
    file = dict(np.load(Path(__file__).parent / "models" / "gatedgcn_train.npz"))
    missing = {name: array for name, array in file.items() if name != "param:1.C.bias"}
    with pytest.raises(SystemExit, match=r"does not: layers\.1\.edge\.bias"):
        differences(missing)
    with pytest.raises(SystemExit, match=r"no place for: 0\.F\.bias"):
        differences(file | {"param:0.F.bias": file["param:0.C.bias"]})
    with pytest.raises(SystemExit, match="nothing was compared with: surprise"):
        differences(file | {"surprise": file["x"]})
