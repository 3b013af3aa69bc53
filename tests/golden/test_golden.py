import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from golden.compare import LOSS_TOLERANCE, TOLERANCE, compare, main, report_training, report_vectors, retrain
from golden.difference import Difference
from golden.published import build, graphs, load
from helpers.commands import run
from torch_geometric.data import Batch

from gredkit import add_hops
from gredkit.bench.oracle import DenseGRED, dense_batch

FILES = sorted(Path(__file__).parent.glob("*.npz"))
TRAJECTORIES = sorted(Path(__file__).parent.glob("trajectories/*.npz"))


@pytest.mark.parametrize("mode", ["kernel", "scan", "loop"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_same_function_as_published(path, mode):
    differences = compare(dict(np.load(path)), mode)
    assert len(differences) > 40
    assert max(difference.relative for difference in differences.values()) < TOLERANCE


@pytest.mark.parametrize("path", TRAJECTORIES, ids=lambda path: path.stem)
def test_same_training_as_published(path):
    losses, weights = retrain(dict(np.load(path)))
    assert len(losses) == 30
    assert len(weights) > 40
    assert max(loss.relative for loss in losses) < LOSS_TOLERANCE
    assert max(weight.relative for weight in weights.values()) < TOLERANCE


def test_the_command_says_so_and_notices_a_difference(tmp_path, monkeypatch, capsys):
    result = run("tests/golden/compare.py", *map(str, FILES), str(TRAJECTORIES[1]))
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("same function") == len(FILES) == 2
    assert "sbm.npz: same training, 30 steps" in result.stdout

    altered = dict(np.load(FILES[1]))
    altered["param:GRED_1/LRU_0/theta_log"] = altered["param:GRED_1/LRU_0/theta_log"] + 0.01
    np.savez(tmp_path / "altered.npz", **altered)
    monkeypatch.setattr(sys, "argv", ["compare.py", str(tmp_path / "altered.npz")])
    assert main() == 1
    assert "DIFFERENT" in capsys.readouterr().out


def test_a_file_that_cannot_be_compared_is_named_and_the_others_are_compared(tmp_path, monkeypatch, capsys):
    whole = dict(np.load(FILES[1]))
    surplus = whole | {"param:GRED_9/extra/kernel": np.zeros((2, 2), np.float32)}
    np.savez(tmp_path / "1_surplus.npz", **surplus)
    (tmp_path / "2_broken.npz").write_bytes(b"no archive")
    np.savez(tmp_path / "3_no_config.npz", x=np.zeros(3))
    np.savez(tmp_path / "4_unknown.npz", config=np.array(json.dumps({"model": "mlp"})))
    np.savez(tmp_path / "5_whole.npz", **whole)
    monkeypatch.setattr(sys, "argv", ["compare.py", str(tmp_path)])
    assert main() == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in said if not line.startswith(" ")] == [
        *(f"{tmp_path}/{name}.npz: NOT COMPARED" for name in ("1_surplus", "2_broken", "3_no_config", "4_unknown")),
        f"{tmp_path}/5_whole.npz: same function",
    ]
    assert "no place for: GRED_9/extra/kernel" in said[0]
    assert "unknown model 'mlp'" in said[3]


def test_no_files_are_no_success(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["compare.py", str(tmp_path)])
    with pytest.raises(SystemExit):
        main()


def test_what_is_no_number_is_a_difference(capsys):
    fine, none = Difference(0.0, 1.0), Difference(float("nan"), 1.0)
    for first, second in ((fine, none), (none, fine)):
        assert not report_vectors(Path("made_up.npz"), {"out": fine, "grad:a": first, "grad:b": second})
        assert not report_training(Path("made_up.npz"), [fine], {"final:a": first, "final:b": second})
        assert not report_training(Path("made_up.npz"), [first, second], {"final:a": fine})
    assert not report_vectors(Path("made_up.npz"), {"out": none, "grad:a": fine})
    assert capsys.readouterr().out.count("DIFFERENT") == 7
    altered = dict(np.load(FILES[1]))
    name = next(name for name in altered if name.startswith("grad:"))
    altered[name] = np.full_like(altered[name], np.nan)
    assert not report_vectors(Path("altered.npz"), compare(altered))


@pytest.mark.parametrize("expand", [1, 2])
@pytest.mark.parametrize("act", ["full-glu", "half-glu"])
@pytest.mark.parametrize("kind", ["superpixel", "sbm"])
def test_the_published_heads_of_which_no_file_is_stored(kind, act, expand, tmp_path, monkeypatch):
    """A file in the published layout whose numbers come from the dense oracle, in double precision."""
    file = unanswered(kind, act, expand)
    config = json.loads(str(file["config"]))
    weights = {name.removeprefix("param:"): file[name] for name in file if name.startswith("param:")}
    model = build(config, weights, "loop").double()
    parameters = load(model, config, weights)
    batch = Batch.from_data_list([add_hops(graph, int(file["K"])) for graph in graphs(file)])
    out = DenseGRED(model)(batch, dense_batch(batch, int(file["K"])))
    out.backward(torch.arange(out.numel()).double().view(out.shape).cos())
    file["out"] = out.detach().float().numpy()
    for name, (parameter, turned) in parameters.items():
        file[f"grad:{name}"] = (parameter.grad.mT if turned else parameter.grad).float().numpy()
    assert file["out"].shape[0] == (13 if kind == "sbm" else 3)

    np.savez(tmp_path / "file.npz", **file)
    monkeypatch.setattr(sys, "argv", ["compare.py", str(tmp_path / "file.npz")])
    assert main() == 0


@pytest.mark.parametrize(("change", "least"), [("weight_decay", 1e-3), ("order", 1e-3), ("rate", 1e-3), ("K", 1e-6)])
def test_a_training_that_is_another_one_is_noticed(change, least):
    file = dict(np.load(TRAJECTORIES[1]))
    config = json.loads(str(file["config"]))
    if change == "weight_decay":
        config["weight_decay"] *= 1.1
    elif change == "order":
        config["batch"] = 5
        file["loss"], file["learning_rate"] = file["loss"][:24], file["learning_rate"][:24]
    elif change == "rate":
        file["learning_rate"] = file["learning_rate"] * 1.01
    else:
        config["K_means"], file["K"] = "as stored", file["K"] + 1
    file["config"] = np.array(json.dumps(config))
    losses, weights = retrain(file)
    assert max(d.relative for d in (*losses, *weights.values())) > least


def test_a_file_whose_K_is_not_what_it_says():
    file = dict(np.load(TRAJECTORIES[1]))
    file["K"] = file["K"] + 1
    with pytest.raises(SystemExit, match="reads 12 hops, but the largest distance in its graphs is 11"):
        retrain(file)


@pytest.mark.parametrize(("kind", "act", "expand"), [("superpixel", "half-glu", 2), ("sbm", "full-glu", 1)])
def test_steps_by_hand_on_other_graphs(kind, act, expand):
    """Disconnected graphs and other sizes: the dense oracle, the losses as the paper has them, and Adam written out."""
    file = unanswered(kind, act, expand)
    rng, steps, decay = np.random.default_rng(1), 4, 0.3
    config = json.loads(str(file["config"])) | {"weight_decay": decay, "batch": 2, "steps": steps}
    items = 13 if kind == "sbm" else 3
    file |= {"config": np.array(json.dumps(config)), "y": rng.integers(0, 3, items)}
    file["learning_rate"] = np.array([1e-3, 5e-3, 2e-3, 1e-3])
    weights = {name.removeprefix("param:"): file[name] for name in file if name.startswith("param:")}
    model = build(config, weights, "loop").double()
    parameters = load(model, config, weights)
    no_decay = ("bias", "scale", "embedding", "nu_log", "theta_log", "gamma_log", "B_re", "B_im")
    data, zero, losses = graphs(file), torch.zeros(()).double(), []
    moments = dict.fromkeys(parameters, (zero, zero))
    ends = np.cumsum(file["num_nodes"])
    for step, rate in enumerate(file["learning_rate"], 1):
        chosen = [(2 * step - 2) % 3, (2 * step - 1) % 3]
        batch = Batch.from_data_list([add_hops(data[i], 4) for i in chosen])
        nodes = np.concatenate([np.arange(ends[i] - file["num_nodes"][i], ends[i]) for i in chosen])
        y = torch.from_numpy(file["y"][nodes if kind == "sbm" else chosen])
        surprise = -DenseGRED(model)(batch, dense_batch(batch, 4)).log_softmax(1)[torch.arange(len(y)), y]
        weight = (
            1 - torch.stack([(y == c).double().mean() for c in y]) if kind == "sbm" else torch.ones(len(y)).double()
        )
        loss = (weight * surprise).sum() / weight.sum()
        losses.append(loss.item())
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()
        for name, (parameter, _) in parameters.items():
            g, (m, v) = parameter.grad, moments[name]
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            moments[name] = m, v
            update = m / (1 - 0.9**step) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
            if not name.endswith(no_decay):
                update = update + decay * parameter.detach()
            parameter.data -= rate * update
    file["loss"] = np.array(losses)
    for name, (parameter, turned) in parameters.items():
        file[f"final:{name}"] = (parameter.mT if turned else parameter).detach().numpy()
    found, moved = retrain(file)
    assert max(loss.relative for loss in found) < 1e-10
    assert max(weight.relative for weight in moved.values()) < 1e-7


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
