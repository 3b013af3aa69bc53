"""Is gredkit the published model? Compare it with numbers of the published implementation.

    python tests/golden/compare.py FILE.npz …   (or folders, with all files in them)

A file with gradients has the outputs of one pass: the model that it describes is built with its weights, and
outputs and gradients are compared; none may be off by more than 1e-4 of the largest absolute value of its array.
A file of a baseline (its `config` names a model that is not GRED's, and there is no `K`) has outputs, gradients and,
of a training step, the statistics of its batch norms; all of them are compared with our layers in float64.
A file with losses has a training: gredkit's own steps are taken from the same weights on the same batches with the
same learning rates, in float64; no loss may be off by more than 1e-6 of itself, no final weight by more than 1e-4
of the largest movement in its array. A file that cannot be compared is named with the reason, and the next one follows.
The exit code is 1 if something is off, or was not compared.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Batch

sys.path.insert(0, str(Path(__file__).parents[1]))  # this file is also run by its path

from golden.baselines.families import family_of
from golden.baselines.vectors import compare_baseline
from golden.difference import TOLERANCE, Difference
from golden.published import build, graphs, load, parameters_in

from gredkit import add_hops
from gredkit.data.hops.diameter import diameter
from gredkit.data.objectives import objective
from gredkit.data.task import SPLITS, GraphSpec, Task
from gredkit.nn.encoders.lru import MODES
from gredkit.training.fit import train_step
from gredkit.training.recipe import Recipe
from gredkit.training.state import State

LOSS_TOLERANCE = 1e-6
OBJECTIVES = {
    "zinc": "regression",
    "peptides": "labels",
    "superpixel": "classification",
    "sbm": "balanced_classification",
}


def compare(file: Mapping[str, np.ndarray], mode: str = "auto") -> dict[str, Difference]:
    """Outputs and gradients of our model against those in the file: a `Difference` for each name."""
    config, weights = json.loads(str(file["config"])), parameters_in(file)
    model = build(config, weights, mode)
    parameters = load(model, config, weights)
    out = model.eval()(Batch.from_data_list([add_hops(graph, int(file["K"])) for graph in graphs(file)]))
    out.backward(torch.arange(out.numel(), dtype=out.dtype).view(out.shape).cos())

    differences = {}
    for name, (parameter, turned) in parameters.items():
        assert parameter.grad is not None, name
        grad = parameter.grad.mT if turned else parameter.grad
        differences[f"grad:{name}"] = Difference.between(grad, file[f"grad:{name}"])
    return {"out": Difference.between(out.detach(), file["out"]), **differences}


def retrain(file: Mapping[str, np.ndarray], mode: str = "auto") -> tuple[list[Difference], dict[str, Difference]]:
    """The steps of a file taken by gredkit: a `Difference` for each loss, and for each final weight by its movement."""
    config, weights = json.loads(str(file["config"])), parameters_in(file)
    model = build(config, weights, mode).double()
    parameters = load(model, config, weights)
    task = _task(config, file)
    K = int(file["K"])
    if config.get("K_means", "").startswith("largest") and (ours := max(map(diameter, task.graphs))) != K:
        raise SystemExit(f"the file reads {K} hops, but the largest distance in its graphs is {ours}")
    data = [add_hops(graph, K) for graph in task.graphs]
    recipe = Recipe(weight_decay=config["weight_decay"], batch_size=config["batch"])
    state = State(model.train(), recipe, torch.device("cpu"), {})
    losses = []
    for step, (rate, expected) in enumerate(zip(file["learning_rate"], file["loss"], strict=True)):
        places = range(step * config["batch"], (step + 1) * config["batch"])
        batch = Batch.from_data_list([data[place % len(data)] for place in places])
        loss = train_step(model, state, batch, task, float(rate))
        losses.append(Difference.between(loss, np.asarray(expected)))

    final = parameters_in(file, "final")
    moved = {name: float(np.abs(final[name] - weights[name]).max(initial=0)) for name in parameters}
    least = 1e-8 * max(moved.values())  # a weight that has no influence moves by rounding alone
    return losses, {
        f"final:{name}": Difference.between(
            parameter.detach().mT if turned else parameter.detach(), final[name], max(moved[name], least)
        )
        for name, (parameter, turned) in parameters.items()
    }


def _task(config: dict, file: Mapping[str, np.ndarray]) -> Task:
    """The file's graphs with their targets, all of them for training, and the loss of their kind."""
    kind = config["model"]
    data, y = graphs(file), torch.from_numpy(file["y"])
    ends = np.cumsum(file["num_nodes"])
    for i, graph in enumerate(data):
        own = slice(ends[i] - file["num_nodes"][i], ends[i]) if kind == "sbm" else slice(i, i + 1)
        graph.y = y[own].double() if OBJECTIVES[kind] in ("regression", "labels") else y[own].long()
    splits = dict.fromkeys(SPLITS, range(len(data)))
    return Task(kind, GraphSpec((1,), config["dim_o"]), data, splits, objective(OBJECTIVES[kind]))


def report_vectors(path: Path, differences: dict[str, Difference]) -> bool:
    """Say what was found of one pass; returns whether it is the published function."""
    out = differences.pop("out")
    name, grad = max(differences.items(), key=lambda item: item[1].relative)
    largest = max(d.absolute for d in differences.values())
    good = all(d.relative <= TOLERANCE for d in (out, *differences.values()))
    print(f"{path}: {'same function' if good else 'DIFFERENT'}")
    print(f"  outputs    largest difference {out.absolute:.2e}, relative {out.relative:.2e}")
    print(f"  gradients  largest difference {largest:.2e}, relative {grad.relative:.2e} ({name})")
    return good


def report_baseline(path: Path, differences: dict[str, Difference]) -> bool:
    """Say what was found of a baseline's file; returns whether it is the published function."""
    name, worst = max(differences.items(), key=lambda item: item[1].relative)
    good = all(d.relative <= TOLERANCE for d in differences.values())
    print(f"{path}: {'same function' if good else 'DIFFERENT'}, {len(differences)} arrays")
    print(f"  largest relative difference {worst.relative:.2e} ({name})")
    for name, difference in differences.items():
        if not difference.relative <= TOLERANCE:
            print(f"  {name}: off by {difference.absolute:.2e}, relative {difference.relative:.2e}")
    return good


def report_training(path: Path, losses: list[Difference], weights: dict[str, Difference]) -> bool:
    """Say what was found of a training; returns whether it is the published one."""
    worst = max(loss.relative for loss in losses)
    name, weight = max(weights.items(), key=lambda item: item[1].relative)
    good = all(d.relative <= LOSS_TOLERANCE for d in losses) and all(d.relative <= TOLERANCE for d in weights.values())
    print(f"{path}: {'same training' if good else 'DIFFERENT'}, {len(losses)} steps")
    print(f"  losses   largest relative difference {worst:.2e}")
    print(f"  weights  at the end, off by {weight.relative:.2e} of their movement ({name})")
    return good


def compare_file(path: Path, mode: str = "auto") -> bool:
    """Compare a file of any kind and say what was found; returns whether it is the same as published."""
    with np.load(path) as loaded:
        file = dict(loaded)
    config = json.loads(str(file["config"]))
    if "K" not in file:
        return report_baseline(path, compare_baseline(config, file, family_of(config)))
    if "loss" in file:
        return report_training(path, *retrain(file, mode))
    return report_vectors(path, compare(file, mode))


def _files(given: Path) -> list[Path]:
    """The file, or all files in the folder."""
    return sorted(given.rglob("*.npz")) if given.is_dir() else [given]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.npz", type=Path)
    parser.add_argument("--mode", default="auto", choices=MODES, help="how the LRU computes")
    arguments = parser.parse_args()
    paths = [file for given in arguments.files for file in _files(given)]
    if not paths:
        parser.error("there is no file *.npz in the folders")
    good = []
    for path in paths:
        try:
            good.append(compare_file(path, arguments.mode))
        except (SystemExit, Exception) as problem:  # whatever a file brings about, the others are still compared
            reason = str(problem) if isinstance(problem, SystemExit) else f"{type(problem).__name__}: {problem}"
            print(f"{path}: NOT COMPARED, {reason}")
            good.append(False)
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
