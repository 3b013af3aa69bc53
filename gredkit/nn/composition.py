"""What a model is made of, as plain data that can be stored and built from."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from gredkit import ranges
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError, cause
from gredkit.registry import AGGREGATORS, ENCODERS, FEATURES, MODELS, POSITIONAL, SEQUENCES, Component, Registry

PARTS: dict[str, Registry] = {
    "features": FEATURES,
    "edge_features": FEATURES,
    "positional": POSITIONAL,
    "aggregator": AGGREGATORS,
    "encoder": ENCODERS,
    "sequence": SEQUENCES,
}


def wanted_parts(model: Component) -> tuple[str, ...]:
    """The parts that the constructor of a model asks for, found from its signature."""
    return tuple(name for name in inspect.signature(model).parameters if name in PARTS)


@dataclass(frozen=True)
class Part:
    """A component by its name, with all its settings."""

    name: str
    settings: Mapping[str, Any]

    @classmethod
    def from_dict(cls, kind: str, stored: Any) -> "Part":
        if not isinstance(stored, Mapping) or stored.keys() != {"name", "settings"}:
            raise UserError(f"{kind} is described by its name and its settings, not by {ranges.said(stored)}")
        if not isinstance(stored["name"], str) or not isinstance(stored["settings"], Mapping):
            raise UserError(f"{kind} has a name and settings with names, not {ranges.said(stored)}")
        return cls(stored["name"], stored["settings"])


@dataclass(frozen=True)
class Composition:
    """A model and its parts by their names and settings. Building it reads no gin."""

    model: Part
    parts: Mapping[str, Part | None]  # those that the model asks for; only edge features may be None

    def build(self, spec: GraphSpec) -> nn.Module:
        """The model for graphs of a kind, with new weights."""
        made = {
            kind: part and partial(PARTS[kind][part.name], **part.settings) for kind, part in self.parts.items()
        }  # fmt: skip
        try:
            return MODELS[self.model.name](spec, **self.model.settings, **made)
        except (TypeError, ValueError, RuntimeError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"model {self.model.name!r} cannot be built: {cause(error)}") from error

    def flat(self) -> dict[str, Any]:
        """One entry per setting, named as in gin; the parts themselves are named by their kind."""
        named: dict[str, Any] = {"model": self.model.name}
        named |= {f"models.{self.model.name}.{key}": value for key, value in self.model.settings.items()}
        for kind, part in self.parts.items():
            named[kind] = part.name if part else None
            for key, value in part.settings.items() if part else ():
                named[f"{PARTS[kind].plural}.{part.name}.{key}"] = value  # type: ignore[union-attr]
        return named

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {kind: part and {"name": part.name, "settings": dict(part.settings)} for kind, part in self._all()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Composition":
        """What `to_dict` gave; anything else is a `UserError`."""
        if not isinstance(stored, Mapping) or "model" not in stored or stored.keys() - {"model", *PARTS}:
            raise UserError(f"a composition has a model and some of {', '.join(PARTS)}, and nothing else")
        parts = {
            kind: None if part is None else Part.from_dict(kind, part) for kind, part in stored.items() if kind in PARTS
        }
        if missing := [kind for kind, part in parts.items() if part is None and kind != "edge_features"]:
            raise UserError(f"a model has {missing[0]}, and this one does not say which")
        return cls(Part.from_dict("model", stored["model"]), parts)

    def _all(self) -> list[tuple[str, Part | None]]:
        return [("model", self.model), *self.parts.items()]
