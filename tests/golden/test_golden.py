import json
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import ROOT, run
from golden.compare import TOLERANCE, build, compare, graphs, load

from gredkit.bench.oracle import DenseGRED, dense_batch

FILES = sorted(Path(__file__).parent.glob("*.npz"))


@pytest.mark.parametrize("mode", ["kernel", "scan", "loop"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_same_function_as_published(path, mode):
    differences = compare(dict(np.load(path)), mode)
    assert len(differences) > 40
    assert max(difference.relative for difference in differences.values()) < TOLERANCE


def test_the_command_says_so_and_notices_a_difference(tmp_path):
    result = run("tests/golden/compare.py", *map(str, FILES))
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("same function") == len(FILES) == 2

    altered = dict(np.load(FILES[1]))
    altered["param:GRED_1/LRU_0/theta_log"] = altered["param:GRED_1/LRU_0/theta_log"] + 0.01
    np.savez(tmp_path / "altered.npz", **altered)
    result = run(str(ROOT / "tests/golden/compare.py"), str(tmp_path / "altered.npz"), cwd=tmp_path)
    assert result.returncode == 1
    assert "DIFFERENT" in result.stdout


@pytest.mark.parametrize("expand", [1, 2])
@pytest.mark.parametrize("act", ["full-glu", "half-glu"])
@pytest.mark.parametrize("kind", ["superpixel", "sbm"])
def test_the_published_heads_of_which_no_file_is_stored(kind, act, expand, tmp_path):
    """A file in the published layout whose numbers come from the dense oracle, in double precision."""
    file = unanswered(kind, act, expand)
    config = json.loads(str(file["config"]))
    weights = {name.removeprefix("param:"): file[name] for name in file if name.startswith("param:")}
    model = build(config, weights, "loop").double()
    parameters = load(model, config, weights)
    batch = graphs(file)
    out = DenseGRED(model)(batch, dense_batch(batch, int(file["K"])))
    out.backward(torch.arange(out.numel()).double().view(out.shape).cos())
    file["out"] = out.detach().float().numpy()
    for name, (parameter, turned) in parameters.items():
        file[f"grad:{name}"] = (parameter.grad.mT if turned else parameter.grad).float().numpy()
    assert file["out"].shape[0] == (13 if kind == "sbm" else 3)

    np.savez(tmp_path / "file.npz", **file)
    result = run(str(ROOT / "tests/golden/compare.py"), str(tmp_path / "file.npz"))
    assert result.returncode == 0, result.stdout + result.stderr


def unanswered(kind, act, expand, layers=2, d=6, d_s=5, outputs=3):
    """Graphs (one disconnected, one a single node) and random weights, named as the published code names them."""
    rng = np.random.default_rng(0)
    dense = {"superpixel": [(5, d), (d, d), (d, outputs)], "sbm": [(d, outputs)]}[kind]
    shapes = {f"Dense_{i}": shape for i, shape in enumerate(dense)}
    for i in range(layers):
        shapes |= {f"GRED_{i}/MLP_0/Dense_0": (d, expand * d), f"GRED_{i}/MLP_0/Dense_1": (expand * d, d)}
        shapes |= {f"GRED_{i}/LRU_0/Dense_{j}": (d, d) for j in range(2 if act == "full-glu" else 1)}
        shapes |= {f"GRED_{i}/{part}/LayerNorm_0": (d,) for part in ("MLP_0", "LRU_0")}
    weights = {f"{n}/{'kernel' if len(shape) == 2 else 'scale'}": shape for n, shape in shapes.items()}
    weights |= {f"{name}/bias": shape[-1:] for name, shape in shapes.items()}
    for i in range(layers):
        weights |= {f"GRED_{i}/LRU_0/B_{part}": (d, d_s) for part in ("re", "im")}
        weights |= {f"GRED_{i}/LRU_0/C_{part}": (d_s, d) for part in ("re", "im")}
        weights |= {f"GRED_{i}/LRU_0/{part}_log": (d_s,) for part in ("nu", "theta", "gamma")}
    if kind == "sbm":
        weights["Embed_0/embedding"] = (4, d)

    def values(name, shape):
        return (0.5 * rng.standard_normal(shape) - 2 * name.endswith("_log")).astype(np.float32)

    config = {"model": kind, "num_layers": layers, "dim_h": d, "dim_v": d_s, "dim_o": outputs}
    one_hot, dense_columns = np.eye(4, dtype=np.float32)[rng.integers(0, 4, 13)], rng.standard_normal((13, 5))
    return {
        "config": np.array(json.dumps({**config, "act": act, "expand": expand})),
        "K": np.array(4),
        "num_nodes": np.array([7, 1, 5]),
        "x": one_hot if kind == "sbm" else dense_columns.astype(np.float32),
        "edge_index": np.array([[0, 1, 1, 2, 3, 4, 8, 9, 9, 10, 10, 11], [1, 0, 2, 1, 4, 3, 9, 8, 10, 9, 11, 10]]),
        **{f"param:{name}": values(name, shape) for name, shape in weights.items()},
    }
