"""Gin: components under `<kind>.<name>`, and the settings `study`, `trial`, `fit` and `variant`.

Gin's bindings are global to a process. They are read here and nowhere else: `load` hands them over as plain data.
"""

import importlib.util  # noqa: F401  gin uses it without importing it
from collections.abc import Callable, Iterable
from typing import Any

import gin

from gredkit.config.configuration import SETTINGS, Configuration
from gredkit.config.gin_files import ROOTS, find, texts
from gredkit.config.mistakes import check_types, explain, unknown_macros
from gredkit.imports import working_folder
from gredkit.registry import AGGREGATORS, CONFIGURED, ENCODERS, MODELS, Registry, hyperparameters

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
READOUT = None
HEAD_LAYERS = None
SCATTER = "native"
trial.K = %K
knobs.layers = %LAYERS
knobs.dim = %DIM
knobs.state_dim = %STATE_DIM
knobs.dropout = %DROPOUT
knobs.readout = %READOUT
knobs.head_layers = %HEAD_LAYERS
knobs.backend = %SCATTER

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

# The components whose parameter of this name a knob sets, unless a binding of their own does. A knob that is None
# leaves the component's default.
REACH: dict[str, tuple[Registry, ...]] = {
    "layers": (MODELS,),
    "dim": (MODELS,),
    "state_dim": (MODELS, ENCODERS),
    "dropout": (MODELS, ENCODERS),
    "readout": (MODELS,),
    "head_layers": (MODELS,),
    "backend": (AGGREGATORS,),
}

MOST_LOADED = 1000  # configurations that are kept
Key = tuple[tuple[str, ...], tuple[str, ...], tuple[Any, ...]]  # texts, bindings and components

_exposed: dict[tuple[str, str], Any] = {}
_loaded: dict[Key, Configuration] = {}


def load_once(files: list[str], bindings: list[str]) -> Configuration:
    """The same as `load`, which is called once for the same texts: a plan, its trials and their estimates ask again."""
    _expose()
    key = tuple(texts(files)), tuple(bindings), tuple(_exposed.values())
    if key not in _loaded:
        if len(_loaded) >= MOST_LOADED:
            _loaded.clear()
        _loaded[key] = load(files, bindings)
    return _loaded[key]


def load(files: Iterable[str] = (), bindings: Iterable[str] = ()) -> Configuration:
    """What gin files, and then single bindings, say; later lines win, and a mistake is a `UserError`."""
    files, bindings = list(files), list(bindings)
    said = texts(files)
    _expose()
    gin.clear_config()
    gin.parse_config(KNOBS)
    try:
        with working_folder():  # gin files may import
            gin.parse_config_files_and_bindings([find(file) for file in files], bindings)
    except Exception as error:  # gin's own, of its tokenizer, or of a module that a file imports
        raise explain(error, _parameters(), bindings) from error
    unknown_macros(gin.config_str(), said, KNOB_NAMES)
    _expose()  # what a file has imported
    return _read()


def _read() -> Configuration:
    """All that gin binds, of the declared types."""
    values = {name: _bound(name, settings) for name, settings in SETTINGS.items()}
    knobs = _bound("knobs", _knobs)
    for plural, registry in CONFIGURED.items():
        for name, component in registry.items():
            known = hyperparameters(component)
            turned = {
                knob: knobs[knob]
                for knob, reached in REACH.items()
                if registry in reached and knob in known and knobs[knob] is not None
            }
            if found := turned | _bound(f"{plural}.{name}", component):
                check_types(f"{plural}.{name}", component, found)
                values[f"{plural}.{name}"] = found
    return Configuration(values)


def _bound(selector: str, component: Callable[..., Any]) -> dict[str, Any]:
    try:
        values = gin.get_bindings(selector)
    except ValueError as error:
        raise explain(error, _parameters()) from error
    if values:
        check_types(selector, component, values)
    return values


def _expose() -> None:
    """Make every registered component known to gin, as `encoders.lru`, `aggregators.sum`, …."""
    for registry in CONFIGURED.values():
        for name, component in registry.items():
            if _exposed.get((registry.plural, name)) is not component:
                # After an earlier load; and in a notebook a class may be defined again.
                with gin.unlock_config(), gin.config.interactive_mode():
                    gin.register(name, module=registry.plural)(component)
                _exposed[registry.plural, name] = component


def _parameters() -> dict[str, list[str]]:
    """What can be bound: the parameters of each setting and component."""
    known = {name: list(hyperparameters(settings)) for name, settings in SETTINGS.items()}
    for plural, registry in CONFIGURED.items():
        known |= {f"{plural}.{name}": list(hyperparameters(component)) for name, component in registry.items()}
    return known


def _knobs(
    layers: Any = None,
    dim: Any = None,
    state_dim: Any = None,
    dropout: Any = None,
    readout: Any = None,
    head_layers: Any = None,
    backend: Any = None,
) -> None:
    """The knobs that reach components; never called."""


for _name, _settings in SETTINGS.items():
    gin.register(_name, module="gredkit")(_settings)
gin.register("knobs", module="gredkit")(_knobs)
# Gin would also look for files in packages, where it fails on a folder without Python files, such as `ablations`.
gin.config._FILE_READERS[1:] = []
for _root in ROOTS[1:]:
    gin.add_config_file_search_path(str(_root))
