"""Trained models in a folder: weights as plain numbers, and a JSON file that describes the model.

A stored model never runs code of its own: it can only use registered components, and a module is imported only if
the user names it when loading the model.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)

from gredkit import ranges
from gredkit.config.mistakes import check_settings
from gredkit.errors import UserError, cause
from gredkit.imports import import_own
from gredkit.inference.about import SavedModel
from gredkit.inference.mlmodel import MLMODEL, described
from gredkit.inference.trained import TrainedModel
from gredkit.names import nearest
from gredkit.nn.composition import PARTS, Part, wanted_parts
from gredkit.registry import MODELS
from gredkit.system.untrusted import MOST, Unreadable, open_file, read_bytes

ABOUT, WEIGHTS = "model.json", "weights.safetensors"
FLOATS = ("F16", "BF16", "F32", "F64")
LATER = {"sequence": "hops"}  # since format 4
SPARE = 1000  # weights that a model may create and drop while it is built
Shapes = Mapping[str, tuple[str, tuple[int, ...]]]
log = logging.getLogger(__name__)


def save(folder: Path, model: nn.Module, about: SavedModel) -> None:
    """Write a model's weights and its description into a folder, and what MLflow needs to load it."""
    # Copy each tensor: safetensors refuses tensors that share memory, as tied weights do.
    weights = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in model.state_dict().items()}
    content = safetensors.torch.save(weights)
    text = replace(about, weights_sha256=hashlib.sha256(content).hexdigest()).to_json()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(content)  # so that a full disk raises an OSError
    (folder / ABOUT).write_text(f"{text}\n")
    (folder / MLMODEL).write_text(described())


def load_folder(folder: str | Path, modules: Iterable[str] = ()) -> TrainedModel:
    """Load the model that `save` wrote into a folder; `modules` are imported to register the user's components."""
    return _load(Path(folder), str(folder), modules)


def load(run_id: str, tracking_uri: str | None = None, modules: Iterable[str] = ()) -> TrainedModel:
    """Load the model of an MLflow run.

    tracking_uri: address of the store; by default `$MLFLOW_TRACKING_URI`, or mlflow.db in the working folder
    modules: imported to register the user's own components
    """
    from gredkit.tracking.download import download  # MLflow takes two seconds to import

    with TemporaryDirectory(prefix="gredkit-") as folder:
        return _load(download(run_id, (ABOUT, WEIGHTS), Path(folder), tracking_uri), f"run {run_id}", modules)


def _load(folder: Path, where: str, modules: Iterable[str]) -> TrainedModel:
    """Load a model after checking everything; messages call the folder `where`."""
    for name in (ABOUT, WEIGHTS):
        if not (folder / name).exists():
            raise UserError(f"there is no {name} in {where}: name the folder or the run of a stored model")
    for module in modules:
        import_own(module)
    with _told(f"{ABOUT} in {where}"):
        about = with_later_parts(SavedModel.from_json(read_bytes(folder / ABOUT, MOST)))
    _check_parts(about, where)
    with _told(f"{WEIGHTS} in {where}"):
        shapes = _shapes(folder / WEIGHTS)
    _check_fit(about, shapes, where)
    with _told(f"{WEIGHTS} in {where}"):
        weights = _weights(folder / WEIGHTS, about.weights_sha256)
    if not about.weights_sha256:
        log.warning(
            "%s was stored by gredkit %s without a checksum, so damage to its weights would not be noticed; "
            "train it again to store it with one",
            where,
            about.version,
        )
    model = about.composition.build(about.spec)
    model.load_state_dict(weights, assign=True)  # keeps the precision of the weights
    return TrainedModel(model.eval(), about)


def with_later_parts(about: SavedModel) -> SavedModel:
    """The description with the parts that models had not yet when it was stored; they were what is now the default."""
    model = about.composition.model.name
    wanted = wanted_parts(MODELS[model]) if model in MODELS else ()
    parts = {kind: Part(name, {}) for kind, name in LATER.items() if kind in wanted} | dict(about.composition.parts)
    return replace(about, composition=replace(about.composition, parts=parts))


@contextmanager
def _told(which: str) -> Iterator[None]:
    """Turn errors about a file into one sentence."""
    try:
        yield
    except (Unreadable, SafetensorError, FileNotFoundError) as error:
        raise UserError(f"{which} is damaged ({cause(error)}): copy or store the model again") from None
    except UserError as error:
        raise UserError(f"{which}: {error}") from None


def _check_parts(about: SavedModel, where: str) -> None:
    """Raise unless all components of the model are registered and accept their settings."""
    parts = [(PARTS[kind], part) for kind, part in about.composition.parts.items() if part]
    for registry, part in [(MODELS, about.composition.model), *parts]:
        if part.name not in registry:
            if not about.modules:
                hint = f"{nearest(part.name, registry)} --import names a module that registers others"
                raise UserError(f"the model in {where} has the unknown {registry.kind} {part.name!r}: {hint}")
            named = " ".join(f"--import {module}" for module in about.modules)
            raise UserError(
                f"the model in {where} needs the {registry.kind} {part.name!r} of a module that was given in training, "
                f"and a stored model imports none by itself: give {named} (in Python, modules={list(about.modules)})"
            )
        check_settings(f"{registry.plural}.{part.name}", registry[part.name], part.settings)
    wanted = wanted_parts(MODELS[about.composition.model.name])
    if set(wanted) != set(about.composition.parts):
        raise UserError(
            f"{ABOUT} in {where} does not fit the model {about.composition.model.name!r}, whose parts are "
            f"{', '.join(wanted) or 'none'}: use gredkit {about.version} and the modules that it was trained with"
        )


def _shapes(path: Path) -> Shapes:
    """Type and shape of each weight in a file, without reading the weights."""
    with open_file(path), safe_open(path, "pt") as file:
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  it is no mapping
        return {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in parts.items()}


def _check_fit(about: SavedModel, shapes: Shapes, where: str) -> None:
    """Raise unless the weights fit the described model, which is built without memory for this check."""
    try:
        with torch.device("meta"), _at_most(2 * len(shapes) + SPARE):
            wanted = about.composition.build(about.spec).state_dict()
    except UserError:
        raise
    except Exception as error:  # a component may raise anything for invalid settings
        raise UserError(f"the model that {ABOUT} in {where} describes cannot be built: {cause(error)}") from None
    for name in {**wanted, **shapes}:
        ours = tuple(wanted[name].shape) if name in wanted else "nothing"
        kind, theirs = shapes.get(name, ("", "nothing"))
        if ours != theirs or (kind in FLOATS) != wanted[name].is_floating_point():
            raise UserError(
                f"{WEIGHTS} in {where} does not fit the model that {ABOUT} describes ({ranges.said(name)} is "
                f"{kind} {ranges.said(theirs)} there and {ranges.said(ours)} here): "
                f"use gredkit {about.version} and the modules that it was trained with"
            )


@contextmanager
def _at_most(count: int) -> Iterator[None]:
    """Raise when a model that is being built gets more parameters and buffers than this."""
    made = 0

    def add(module: nn.Module, name: str, value: Tensor | None) -> None:
        nonlocal made
        made += value is not None
        if made > count:
            raise UserError(f"{ABOUT} describes a model that has more weights than {WEIGHTS}: store the model again")

    hooks = [register_module_parameter_registration_hook(add), register_module_buffer_registration_hook(add)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _weights(path: Path, checksum: str) -> dict[str, Tensor]:
    content = read_bytes(path)
    if checksum and hashlib.sha256(content).hexdigest() != checksum:
        raise Unreadable("its checksum differs: something in it was changed")
    weights = safetensors.torch.load(content)
    for name, values in weights.items():
        if values.is_floating_point() and not values.isfinite().all():
            raise Unreadable(f"{ranges.said(name)} contains NaN or infinity")
    return weights
