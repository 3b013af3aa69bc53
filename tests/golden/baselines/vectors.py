"""What is common to all files of baselines: run our modules as a file tells, and compare every array of the file."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

import numpy as np
import torch
from golden.difference import TOLERANCE, Difference
from torch import Tensor, nn

SMALL = 1e-2  # gradients that are 0 on paper; the files hold rounding noise up to 1e-3 for them
KINDS = ("param", "buffer", "grad", "grad_train", "grad_input", "grad_input_train", "buffer_after")
GIVEN = frozenset({"config", "num_nodes", "x", "edge_index", "edge_attr"})


@dataclass
class Outputs:
    """What our modules make of a file's graphs, in the order of the file."""

    out: Tensor
    edges: Tensor | None = None  # `out_edge`
    others: Mapping[str, Tensor] = field(default_factory=dict)  # further arrays of the file that we compute, by name


@dataclass
class Baseline:
    """Our production modules for one file.

    module: all parameters and buffers that the file has, and no others
    names: our name of each parameter and buffer of the file; ours and theirs have the same shape
    run: from the file's arrays as tensors to outputs; `x` and float `edge_attr` want gradients
    reads: arrays of the file that `run` takes from it, beside the graphs and their features
    ignored: parameters of the file that have no influence and which our module does not have
    """

    module: nn.Module
    names: Callable[[str], str]
    run: Callable[[Mapping[str, Tensor]], Outputs]
    reads: Set[str] = frozenset()
    ignored: Set[str] = frozenset()


def compare_baseline(
    config: Mapping, file: Mapping[str, np.ndarray], build: Callable[[Mapping, Mapping[str, np.ndarray]], Baseline]
) -> dict[str, Difference]:
    """All arrays of a file that are results, against ours in float64: a `Difference` for each name."""
    differences: dict[str, Difference] = {}
    for ending in ("", "_train"):
        if f"out{ending}" in file:
            torch.manual_seed(0)
            baseline = build(config, file)
            places = _load(baseline, config, file)
            differences |= _one_pass(baseline, places, config, file, ending)
    if not differences:
        raise SystemExit("the file has neither `out` nor `out_train`")
    known = (
        GIVEN | baseline.reads | differences.keys() | {name for name in file if name.startswith(("param:", "buffer:"))}
    )
    if forgotten := sorted(set(file) - known):
        raise SystemExit(f"the file has arrays that nothing was compared with: {', '.join(forgotten)}")
    return differences


def _load(baseline: Baseline, config: Mapping, file: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Copy parameters and buffers; returns where each lives with us, by the file's name."""
    baseline.module.double()
    ours: dict[str, Tensor] = dict(baseline.module.named_parameters())
    ours |= {name: b for name, b in baseline.module.named_buffers() if not name.endswith("num_batches_tracked")}
    if wrong := set(baseline.ignored) - set(config["zero_grad"]):
        raise SystemExit(f"parameters that have an influence are ignored: {', '.join(sorted(wrong))}")
    theirs = [name.partition(":")[2] for name in file if name.startswith(("param:", "buffer:"))]
    names = {name: baseline.names(name) for name in theirs if name not in baseline.ignored}
    if unused := sorted(name for name, own in names.items() if own not in ours):
        raise SystemExit(f"the file has weights that this model has no place for: {', '.join(unused)}")
    if unset := sorted(ours.keys() - names.values()):
        raise SystemExit(f"this model has weights that the file does not: {', '.join(unset)}")
    if len(set(names.values())) < len(names):
        raise SystemExit("two weights of the file have the same place in this model")
    places = {name: ours[own] for name, own in names.items()}
    with torch.no_grad():
        for name, place in places.items():
            weight = torch.from_numpy(file[f"param:{name}" if f"param:{name}" in file else f"buffer:{name}"])
            if weight.shape != place.shape:
                raise SystemExit(f"{name} has shape {tuple(weight.shape)}, ours has {tuple(place.shape)}")
            place.copy_(weight)
    return places


def _one_pass(
    baseline: Baseline, places: Mapping[str, Tensor], config: Mapping, file: Mapping[str, np.ndarray], ending: str
) -> dict[str, Difference]:
    tensors = {name: torch.from_numpy(file[name]) for name in file if ":" not in name and name != "config"}
    tensors = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    inputs: list[str] = [name for name in ("x", "edge_attr") if name in tensors and tensors[name].is_floating_point()]
    for name in inputs:
        tensors[name].requires_grad_()
    baseline.module.train(ending == "_train")
    found = baseline.run(tensors)
    found.out.backward(torch.arange(found.out.numel(), dtype=found.out.dtype).view_as(found.out).cos())

    differences = {f"out{ending}": Difference.between(found.out.detach(), file[f"out{ending}"])}
    if f"out_edge{ending}" in file:
        if found.edges is None:
            raise SystemExit("the file has features of edges at the end, this model has none")
        differences[f"out_edge{ending}"] = Difference.between(found.edges.detach(), file[f"out_edge{ending}"])
    for name, tensor in found.others.items():
        if name in file:
            differences[name] = Difference.between(tensor.detach(), file[name])
    for name, place in places.items():
        if isinstance(place, nn.Parameter):
            label, grad = f"grad{ending}:{name}", _gradient(place)
            if name in config["zero_grad"]:
                differences[label] = Difference(grad.abs().max().item(), SMALL / TOLERANCE)
            else:
                differences[label] = Difference.between(grad, file[label])
        elif f"buffer_after:{name}" in file and ending:
            differences[f"buffer_after:{name}"] = Difference.between(place, file[f"buffer_after:{name}"])
    for name in inputs:
        if (label := f"grad_input{ending}:{name}") in file:
            differences[label] = Difference.between(_gradient(tensors[name]), file[label])
    for name in baseline.ignored:
        differences[f"grad{ending}:{name}"] = Difference(0.0, 1.0)
    return differences


def _gradient(leaf: Tensor) -> Tensor:
    """Zero for what has no influence."""
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
