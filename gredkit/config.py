"""Gin: components under `<kind>.<name>`, and the function that composes them into a model.

Everything here reads gin's bindings; everything built by hand, from the classes themselves, does not.
"""

import logging
import os
from collections.abc import Iterable
from typing import Any

import gin
from torch import nn

from gredkit.composition import PARTS, Composition, Part
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.features.base import usual_features
from gredkit.registry import MODELS, REGISTRIES, Registry, hyperparameters

_exposed: dict[tuple[str, str], Any] = {}


def expose() -> None:
    """Make every registered component known to gin, as `encoders.lru`, `aggregators.sum`, …."""
    for registry in REGISTRIES.values():
        for name, component in registry.items():
            if _exposed.get((registry.plural, name)) is not component:
                with gin.config.interactive_mode():  # a class may be defined again, in a notebook
                    gin.register(name, module=registry.plural)(component)
                _exposed[registry.plural, name] = component


def configured(registry: Registry, name: str) -> Any:
    """A component as gin has configured it; the class itself stays as it is."""
    registry[name]  # an unknown name raises with the nearest matches
    expose()
    return gin.get_configurable(f"{registry.plural}.{name}")


def settings(registry: Registry, name: str) -> dict[str, Any]:
    """All that a component can be told, as gin's bindings and its own defaults have it."""
    expose()
    return hyperparameters(registry[name]) | gin.get_bindings(f"{registry.plural}.{name}")


@gin.register(module="gredkit")
def variant(
    spec: GraphSpec,
    model: str = "gred",
    features: str | None = None,
    edge_features: str | None = None,
    positional: str = "none",
    aggregator: str = "sum",
    encoder: str = "lru",
) -> Composition:
    """The model that gin's bindings describe, for graphs of a kind."""
    names = {
        "features": features or usual_features(spec.nodes),
        "edge_features": edge_features,
        "positional": positional,
        "aggregator": aggregator,
        "encoder": encoder,
    }
    parts = {kind: Part(name, settings(PARTS[kind], name)) if name else None for kind, name in names.items()}
    own = {key: value for key, value in settings(MODELS, model).items() if key not in PARTS}
    return Composition(Part(model, own), parts)


def load(files: Iterable[str], bindings: Iterable[str] = ()) -> None:
    """Read gin files, then single bindings, into this process; what is wrong in them is a `UserError`."""
    expose()
    logging.getLogger("absl").setLevel(logging.ERROR)  # gin calls a file not found that it then finds
    files = list(files)
    for file in files:
        if not os.path.isfile(file):
            raise UserError(f"there is no gin file {file!r} in {os.getcwd()}")
    try:
        gin.parse_config_files_and_bindings(files, list(bindings), print_includes_and_imports=False)
    except (ValueError, SyntaxError, OSError) as error:
        raise UserError(f"gin: {' '.join(str(error).split())}") from error


def composition(spec: GraphSpec) -> Composition:
    """`variant`, with gin's bindings."""
    return gin.get_configurable("gredkit.variant")(spec)


def build_model(spec: GraphSpec) -> nn.Module:
    """A new model as gin describes it."""
    return composition(spec).build(spec)
