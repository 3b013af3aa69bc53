"""Gin: components under `<kind>.<name>`, studies under `study`, `trial`, `fit` and `variant`.

Everything here reads gin's bindings; everything built by hand, from the classes themselves, does not.
"""

import importlib.util  # noqa: F401  gin uses it without importing it
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import gin

from gredkit.config.gin_files import ROOTS, find, texts
from gredkit.config.mistakes import check_types, explain, unknown_macros
from gredkit.config.study import Study, TrialSettings
from gredkit.data.task import GraphSpec
from gredkit.imports import working_folder
from gredkit.nn.composition import PARTS, Composition, Part
from gredkit.nn.features.base import usual_features
from gredkit.registry import MODELS, REGISTRIES, Registry, hyperparameters
from gredkit.training.recipe import Recipe

# The public knobs: macros that every gin file may set, and what they turn.
KNOBS = """
DATASETS = None
BUDGET = None
SEEDS = (0, 1, 2)
study.datasets = %DATASETS
study.budget = %BUDGET
study.seeds = %SEEDS

K = None
K_VALUES = (1, 2, 4, 8)
LAYERS = 4
DIM = 72
STATE_DIM = None
DROPOUT = 0.0
trial.K = %K
models.gred.layers = %LAYERS
models.gred.dim = %DIM
models.gred.dropout = %DROPOUT
encoders.lru.state_dim = %STATE_DIM

EPOCHS = 20
CPU_EPOCHS = 20
PAPER_EPOCHS = 200
BATCH_SIZE = 32
LEARNING_RATE = 0.001
WEIGHT_DECAY = 0.1
fit.epochs = %EPOCHS
fit.batch_size = %BATCH_SIZE
fit.learning_rate = %LEARNING_RATE
fit.weight_decay = %WEIGHT_DECAY
"""
KNOB_NAMES = frozenset(line.split(" = ")[0] for line in KNOBS.splitlines() if line[:1].isupper())

_exposed: dict[tuple[str, str], Any] = {}


def expose() -> None:
    """Make every registered component known to gin, as `encoders.lru`, `aggregators.sum`, …."""
    for registry in REGISTRIES.values():
        for name, component in registry.items():
            if _exposed.get((registry.plural, name)) is not component:
                with gin.config.interactive_mode():  # a class may be defined again, in a notebook
                    gin.register(name, module=registry.plural)(component)
                _exposed[registry.plural, name] = component


def load(files: Iterable[str], bindings: Iterable[str] = ()) -> None:
    """Read gin files, then single bindings, in place of what was read before; a mistake is a `UserError`."""
    files = list(files)
    said = texts(files)
    expose()
    gin.clear_config()
    gin.parse_config(KNOBS)
    heard = logging.root.manager.disable
    logging.disable(logging.ERROR)  # gin calls a file not found that it then finds
    try:
        with working_folder():  # gin files may import
            gin.parse_config_files_and_bindings([find(file) for file in files], list(bindings))
    except Exception as error:  # gin's own, of its tokenizer, or of a module that a file imports
        raise explain(error, _parameters()) from error
    finally:
        logging.disable(heard)
    unknown_macros(gin.config_str(), said, KNOB_NAMES)


def bound(selector: str, component: Callable[..., Any]) -> dict[str, Any]:
    """What gin binds for a configurable, of the declared types."""
    try:
        values = gin.get_bindings(selector)
    except ValueError as error:
        raise explain(error, _parameters()) from error
    check_types(selector, component, values)
    return values


def check_all() -> None:
    """Whether everything that is bound has the declared type, also what no trial may use."""
    for name, configurable in CONFIGURABLES.items():
        bound(name, configurable)
    for plural, registry in REGISTRIES.items():
        for name, component in registry.items():
            bound(f"{plural}.{name}", component)


def settings(registry: Registry, name: str) -> dict[str, Any]:
    """All that a component can be told, as gin's bindings and its own defaults have it."""
    component = registry[name]  # an unknown name raises with the nearest matches
    expose()
    return hyperparameters(component) | bound(f"{registry.plural}.{name}", component)


def configured(registry: Registry, name: str) -> Any:
    """A component as gin has configured it; the class itself stays as it is."""
    return partial(registry[name], **settings(registry, name))


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


CONFIGURABLES: dict[str, Callable[..., Any]] = {
    "study": Study,
    "trial": TrialSettings,
    "fit": Recipe,
    "variant": variant,
}
for _name, _configurable in CONFIGURABLES.items():
    gin.register(_name, module="gredkit")(_configurable)


def read(name: str) -> Any:
    """A `Study`, `TrialSettings` or `Recipe` as gin's bindings have it."""
    return CONFIGURABLES[name](**bound(name, CONFIGURABLES[name]))


def composition(spec: GraphSpec) -> Composition:
    """`variant`, with gin's bindings."""
    return variant(spec, **bound("variant", variant))


def _parameters() -> dict[str, list[str]]:
    """What can be bound: the parameters of each configurable."""
    known = {name: list(hyperparameters(configurable)) for name, configurable in CONFIGURABLES.items()}
    for plural, registry in REGISTRIES.items():
        known |= {f"{plural}.{name}": list(hyperparameters(component)) for name, component in registry.items()}
    return known


for _root in ROOTS[1:]:
    gin.add_config_file_search_path(str(_root))
