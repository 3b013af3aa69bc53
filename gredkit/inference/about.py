"""The description of a trained model: plain data, stored as JSON with a checksum."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

import numpy as np

import gredkit
from gredkit import ranges
from gredkit.config.mistakes import check_types
from gredkit.data.hops.index import check_K
from gredkit.data.objectives import KINDS
from gredkit.data.task import GraphSpec, Task
from gredkit.data.unlabelled import check_reading
from gredkit.errors import UserError
from gredkit.nn.composition import Composition
from gredkit.system.untrusted import Unreadable, parse_json
from gredkit.training.device import PRECISIONS

FORMAT = 4  # of model.json; 1 had no checksums, 2 had all five parts, 3 no sequence extractors
CHECKSUM = "sha256"  # of all other fields
LARGEST = 2**40  # a generous limit; the size of the weights is the real one


@dataclass(frozen=True)
class SavedModel:
    """Everything needed to rebuild a model and to use it, as plain data."""

    composition: Composition
    spec: GraphSpec
    K: int | None
    dataset: str  # its name in the registry
    task: str  # the kind: regression, classification, balanced_classification or labels
    metric: str
    larger_is_better: bool
    loss: str = ""  # what training minimised; models of earlier versions do not say it
    dataset_settings: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)  # how tables or SMILES become such graphs
    class_names: Sequence[Any] = ()
    target_columns: Sequence[str] = ()
    node_columns: Sequence[str] = ()
    edge_columns: Sequence[str] = ()
    precision: str = "float32"  # of the forward pass
    modules: Sequence[str] = ()  # the user's modules that register components; loading a model does not import them
    version: str = field(default_factory=lambda: gredkit.__version__)
    weights_sha256: str = ""  # of the file; empty for models of format 1

    @classmethod
    def of(
        cls,
        task: Task,
        composition: Composition,
        K: int | None,
        dataset: str,
        dataset_settings: Mapping[str, Any] | None = None,
        modules: Sequence[str] = (),
        precision: str = "float32",
    ) -> "SavedModel":
        """The description of a model trained on a task, where `dataset(**dataset_settings)` returns the task."""
        return cls(
            composition=composition,
            spec=task.spec,
            K=K,
            dataset=dataset,
            dataset_settings=dataset_settings or {},
            task=task.objective.kind,
            metric=task.objective.metric.name,
            larger_is_better=task.objective.metric.larger_is_better,
            loss=task.objective.loss_name,
            reading=task.reading,
            class_names=task.notes.get("class_names", ()),
            target_columns=task.notes.get("target_columns", ()),
            node_columns=task.notes.get("node_columns", ()),
            edge_columns=task.notes.get("edge_columns", ()),
            modules=modules,
            precision=precision,
        )

    @property
    def needs_edges(self) -> bool:
        """Whether the model reads features of edges; one without a part for them may do so by itself."""
        parts = self.composition.parts
        reads = "edge_features" not in parts or parts["edge_features"] is not None
        return reads and self.spec.edges is not None

    @property
    def output_names(self) -> list[Any]:
        """The names of the outputs: classes, target columns, or numbers."""
        names = [*self.class_names] or [*self.target_columns]
        if len(names) == self.spec.outputs:
            return names
        numbers = list(range(self.spec.outputs))
        if self.task != "regression":
            return numbers
        return [f"predicted_{i}" for i in numbers] if len(numbers) > 1 else ["predicted"]

    def to_json(self) -> str:
        """The content of model.json; raises a `UserError` if JSON cannot store a setting."""
        told = {"format": FORMAT, **asdict(self), "composition": self.composition.to_dict()}
        try:
            return sealed(json.loads(json.dumps(told, default=_plain)))
        except TypeError as error:
            raise UserError(f"the model cannot be stored: {error}") from None

    @classmethod
    def from_json(cls, content: bytes | str) -> "SavedModel":
        """The description in a file, completely checked; raises `Unreadable` or `UserError`."""
        told = parse_json(content)
        if not isinstance(told, dict) or type(number := told.pop("format", None)) is not int:
            raise Unreadable("it has no format number")
        if number > FORMAT:
            raise UserError(f"it was written by a newer gredkit, {ranges.said(told.get('version'))}: update gredkit")
        if number > 1 and told.pop(CHECKSUM, None) != _checksum({"format": number, **told}):
            raise Unreadable("its checksum differs: something in it was changed")
        _check_names(told, {f.name: f.default is MISSING and f.default_factory is MISSING for f in fields(cls)})
        if (number > 1) != bool(told.get("weights_sha256")):
            raise Unreadable("the checksum of its weights is missing or of another format")
        told = {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
        told["spec"] = _spec(told["spec"])
        told["composition"] = Composition.from_dict(told["composition"])
        check_types("model", cls, told)
        _check_values(about := cls(**told))
        return about


def sealed(told: Mapping[str, Any]) -> str:
    """JSON with a checksum of its own content."""
    return json.dumps({**told, CHECKSUM: _checksum(told)}, indent=2)


def _checksum(told: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _check_names(told: Mapping[str, Any], known: Mapping[str, bool]) -> None:
    """Raise if a required name is missing, or if a name is unknown."""
    for name, needed in known.items():
        if needed and name not in told:
            raise Unreadable(f"there is no {name!r} in it")
    for name in told:
        if name not in known:
            raise Unreadable(f"{ranges.said(name)} in it is unknown")


def _spec(told: Any) -> GraphSpec:
    if not isinstance(told, dict):
        raise Unreadable("'spec' in it is not an object")
    _check_names(told, {"nodes": True, "outputs": True, "edges": False, "level": False})
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in told.items()}
    check_types("spec", GraphSpec, values)
    ranges.whole("outputs", values["outputs"], 1, LARGEST)
    for name in ("nodes", "edges"):
        columns = values.get(name)
        for size in columns if isinstance(columns, tuple) else () if columns is None else (columns,):
            ranges.whole(name, size, 1, LARGEST)
    return GraphSpec(**values)


def _check_values(about: SavedModel) -> None:
    check_K(about.K)
    ranges.one_of("task", about.task, KINDS)
    ranges.one_of("precision", about.precision, PRECISIONS)
    for name in about.class_names:
        if name is not None and not isinstance(name, str | int | float):
            raise Unreadable(f"{ranges.said(name)} is not the name of a class")
    for module in about.modules:
        if not all(part.isidentifier() for part in module.split(".")):
            raise Unreadable(f"{ranges.said(module)} is not the name of a module")
    for kind, columns in (("nodes", about.node_columns), ("edges", about.edge_columns)):
        sizes = getattr(about.spec, kind)
        if columns and len(columns) != (len(sizes) if isinstance(sizes, tuple) else sizes):
            raise Unreadable(f"it names {len(columns)} columns of {kind}, but the model has another number")
    check_reading(about.reading)


def _plain(value: Any) -> Any:
    """Convert paths and numpy numbers, which JSON does not know."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is {type(value).__name__}, which JSON cannot store: use a number, a word or a list")
