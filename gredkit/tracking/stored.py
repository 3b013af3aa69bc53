"""JSON documents of a study in a store; others can write to a shared store, so their form is checked."""

import json
from typing import Any

from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

from gredkit.system.sealed import Damaged

PLANNED: dict[str, Any] = {  # fields of a trial in a plan; older versions lack some, newer ones may have more
    "id": str,
    "variant": str,
    "dataset": str,
    "seed": int,
    "role": str,
    "tuning": str,
    "metric": str,
    "larger_is_better": bool,
    "parameters": int,
    "epochs": int,
    "K": int | str | None,
    "axes": dict[str, Any],
    "diameters": list[float] | None,
    "train_graphs": int,
    "replicate": str,  # this one and the following where a study says something about it
    "test_share": float,
    "margin": float,
    "compare": str,
    "looks": str,
}

ENVIRONMENT: dict[str, Any] = {  # fields that a report shows
    "python": str,
    "platform": str,
    "processor": str,
    "processor_name": str | None,
    "device": str,
    "threads": int,
    "cores": int,
    "memory_gb": float | int,
    "packages": dict[str, str | None],
}


def plan_of(text: str) -> list[dict[str, Any]]:
    """The trials of a plan."""
    trials: list[dict[str, Any]] = parsed(text, dict[str, list[dict[str, Any]]]).get("trials", [])
    for trial in trials:
        if "id" not in trial:
            raise Damaged("a trial has no id")
        for name, kind in PLANNED.items():
            if name in trial:
                _check(trial[name], kind)
        if len(trial.get("diameters") or (0, 0)) != 2:
            raise Damaged("'diameters' must be a median and a largest diameter")
    return trials


def curve_of(text: str) -> dict[str, list[float]]:
    """The epochs of a learning curve, and what was measured after each."""
    curve: dict[str, list[float]] = parsed(text, dict[str, list[float]])
    if curve.keys() != {"epoch", "train_loss", "validation"} or len({len(values) for values in curve.values()}) != 1:
        raise Damaged("it is not a learning curve")
    return curve


def eigenvalues_of(text: str) -> dict[str, list[list[tuple[float, float]]]]:
    """The real and imaginary parts of the eigenvalues, for each moment and layer."""
    moments: dict[str, list[dict[str, list[float]]]] = parsed(text, dict[str, list[dict[str, list[float]]]])
    try:
        return {
            moment: [list(zip(layer["real"], layer["imag"], strict=True)) for layer in layers]
            for moment, layers in moments.items()
        }
    except (KeyError, ValueError):
        raise Damaged("they are not eigenvalues") from None


def hop_weights_of(text: str) -> dict[str, list[list[float]]]:
    """The weights of the hops, for each moment and layer."""
    return parsed(text, dict[str, list[list[float]]])


def environment_of(text: str) -> dict[str, Any]:
    """The machine of a trial and its packages."""
    environment: dict[str, Any] = parsed(text, dict[str, Any])
    for name, kind in ENVIRONMENT.items():
        if name in environment:
            _check(environment[name], kind)
    return environment


def hashes_of(text: str) -> dict[str, list[str]]:
    """The hashes of each dataset's graphs and splits."""
    return parsed(text, dict[str, list[str]])


def parsed(text: str, kind: Any) -> Any:
    """Parse JSON; raises `Damaged` if it does not have the expected form."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged("it is not JSON") from None
    _check(told, kind)
    return told


def _check(value: Any, kind: Any) -> None:
    try:
        check_type(value, kind, collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS)
    except TypeCheckError:
        raise Damaged("it does not have the expected form") from None
