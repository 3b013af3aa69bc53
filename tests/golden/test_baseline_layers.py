"""Our baselines are the published ones: recorded outputs, gradients and statistics of the reference layers."""

import json
from pathlib import Path

import numpy as np
import pytest
from golden.baselines.families import family_of
from golden.baselines.vectors import compare_baseline
from golden.compare import report_baseline
from golden.difference import TOLERANCE

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


def test_weights_without_a_place_and_places_without_a_weight_are_noticed():
    file = dict(np.load(Path(__file__).parent / "models" / "gatedgcn_train.npz"))
    missing = {name: array for name, array in file.items() if name != "param:1.C.bias"}
    with pytest.raises(SystemExit, match=r"does not: layers\.1\.edge\.bias"):
        differences(missing)
    with pytest.raises(SystemExit, match=r"no place for: 0\.F\.bias"):
        differences(file | {"param:0.F.bias": file["param:0.C.bias"]})
    with pytest.raises(SystemExit, match="nothing was compared with: surprise"):
        differences(file | {"surprise": file["x"]})
