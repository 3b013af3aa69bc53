"""Trained models in a folder: weights as plain numbers, and a file of JSON that says what they belong to."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import safetensors.torch
from safetensors import SafetensorError
from torch import nn

import gredkit
from gredkit.composition import PARTS, Composition
from gredkit.data.task import GraphSpec, Task
from gredkit.errors import UserError, cause
from gredkit.imports import import_own
from gredkit.registry import MODELS
from gredkit.trained import TrainedModel

FORMAT = 1  # of model.json
ABOUT, WEIGHTS = "model.json", "weights.safetensors"


@dataclass(frozen=True)
class SavedModel:
    """What is needed to build a model again and to use it: plain data."""

    composition: Composition
    spec: GraphSpec
    K: int | None
    dataset: str  # its name in the registry
    task: str  # the kind: regression, classification, balanced_classification or labels
    metric: str
    larger_is_better: bool
    dataset_settings: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)  # how tables or SMILES become such graphs
    class_names: Sequence[Any] = ()
    target_columns: Sequence[str] = ()
    node_columns: Sequence[str] = ()
    edge_columns: Sequence[str] = ()
    precision: str = "float32"  # of the forward pass
    modules: Sequence[str] = ()  # the user's own, which register components
    version: str = field(default_factory=lambda: gredkit.__version__)

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
        """A model that was trained on a task, which `dataset` gives when it is called with `dataset_settings`."""
        return cls(
            composition=composition,
            spec=task.spec,
            K=K,
            dataset=dataset,
            dataset_settings=dataset_settings or {},
            task=task.objective.kind,
            metric=task.objective.metric.name,
            larger_is_better=task.objective.metric.larger_is_better,
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
        """Whether the model reads features of edges; one of the user's own may do so without a part for them."""
        reads = self.composition.parts["edge_features"] is not None or self.composition.model.name != "gred"
        return reads and self.spec.edges is not None

    @property
    def output_names(self) -> list[Any]:
        """What the outputs are called: classes, target columns, or their numbers."""
        names = [*self.class_names] or [*self.target_columns]
        if len(names) == self.spec.outputs:
            return names
        numbers = list(range(self.spec.outputs))
        if self.task != "regression":
            return numbers
        return [f"predicted_{i}" for i in numbers] if len(numbers) > 1 else ["predicted"]

    def to_json(self) -> str:
        """What model.json holds; a setting that JSON cannot keep is a `UserError`."""
        told = {"format": FORMAT, **asdict(self), "composition": self.composition.to_dict()}
        try:
            return json.dumps(told, indent=2, default=_plain)
        except TypeError as error:
            raise UserError(f"the model cannot be stored: {error}") from None

    @classmethod
    def from_json(cls, text: str) -> "SavedModel":
        told = json.loads(text)
        if told.pop("format") > FORMAT:
            raise UserError(f"it was written by a newer gredkit, {told['version']}: update gredkit")
        lists = {name: tuple(value) for name, value in told.items() if isinstance(value, list)}
        spec: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in told["spec"].items()}
        built = {"composition": Composition.from_dict(told["composition"]), "spec": GraphSpec(**spec)}
        return cls(**{**told, **lists, **built})


def save(folder: Path, model: nn.Module, about: SavedModel) -> None:
    """Write a model's weights and what they belong to into a folder."""
    text = about.to_json()
    # A copy of each: safetensors refuses tensors that share memory, as tied weights do.
    weights = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in model.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(safetensors.torch.save(weights))  # a full disk is then an OSError
    (folder / ABOUT).write_text(f"{text}\n")


def load_folder(folder: str | Path) -> TrainedModel:
    """The model that `save` wrote into a folder."""
    return _load(Path(folder), str(folder))


def load(run_id: str, tracking_uri: str | None = None) -> TrainedModel:
    """The model of an MLflow run; runs are looked for where `gredkit.store` says."""
    from gredkit.tracked import download  # MLflow takes two seconds

    with TemporaryDirectory(prefix="gredkit-") as folder:
        return _load(download(run_id, ABOUT, Path(folder), tracking_uri), f"run {run_id}")


def _load(folder: Path, where: str) -> TrainedModel:
    """`where` is what sentences call the folder."""
    for name in (ABOUT, WEIGHTS):
        if not (folder / name).is_file():
            raise UserError(f"there is no {name} in {where}: name the folder or the run of a stored model")
    try:
        about = SavedModel.from_json((folder / ABOUT).read_text())
    except UserError as error:
        raise UserError(f"{ABOUT} in {where}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{ABOUT} in {where} is damaged ({cause(error)}): store the model again") from None
    _import_modules(about)
    model = about.composition.build(about.spec)
    try:
        weights = safetensors.torch.load((folder / WEIGHTS).read_bytes())
    except SafetensorError as error:
        raise UserError(f"{WEIGHTS} in {where} is damaged ({cause(error)}): store the model again") from None
    try:
        model.load_state_dict(weights, assign=True)  # in the precision that they have
    except RuntimeError as error:
        raise UserError(
            f"{WEIGHTS} in {where} does not fit the model that {ABOUT} describes ({cause(error)}): "
            f"use gredkit {about.version} and the modules that it was trained with"
        ) from None
    return TrainedModel(model.eval(), about)


def _import_modules(about: SavedModel) -> None:
    """The user's modules; one that is gone is missed only if nothing else registers the components."""
    for module in about.modules:
        try:
            import_own(module)
        except UserError:
            parts = [(PARTS[kind], part) for kind, part in about.composition.parts.items() if part]
            if not all(part.name in registry for registry, part in [(MODELS, about.composition.model), *parts]):
                raise


def _plain(value: Any) -> Any:
    """What JSON has no word for."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is {type(value).__name__}, which JSON cannot keep: set a number, a word or a list")
