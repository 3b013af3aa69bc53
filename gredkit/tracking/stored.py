"""What a store holds of a study as JSON: a shared store is written by others, so its form is checked before use."""

import json
from typing import Any

from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

from gredkit.system.sealed import Damaged

PLANNED: dict[str, Any] = {  # of a trial in a plan; one of an older version lacks some, a newer one may have more
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
            raise Damaged("a dataset has a median and a largest diameter")
    return trials


def curve_of(text: str) -> dict[str, list[float]]:
    """Epochs, and what was measured after each."""
    curve: dict[str, list[float]] = parsed(text, dict[str, list[float]])
    if curve.keys() != {"epoch", "train_loss", "validation"} or len({len(values) for values in curve.values()}) != 1:
        raise Damaged("it is no learning curve")
    return curve


def eigenvalues_of(text: str) -> dict[str, list[list[tuple[float, float]]]]:
    """Of each moment and layer, real and imaginary parts."""
    moments: dict[str, list[dict[str, list[float]]]] = parsed(text, dict[str, list[dict[str, list[float]]]])
    try:
        return {
            moment: [list(zip(layer["real"], layer["imag"], strict=True)) for layer in layers]
            for moment, layers in moments.items()
        }
    except (KeyError, ValueError):
        raise Damaged("these are no eigenvalues") from None


def hop_weights_of(text: str) -> dict[str, list[list[float]]]:
    """Of each moment and layer, the weights of the hops."""
    return parsed(text, dict[str, list[list[float]]])


def parsed(text: str, kind: Any) -> Any:
    """What JSON says, if it has this form; `Damaged` if not."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged("it is no JSON") from None
    _check(told, kind)
    return told


def _check(value: Any, kind: Any) -> None:
    try:
        check_type(value, kind, collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS)
    except TypeCheckError:
        raise Damaged("it has another form") from None
