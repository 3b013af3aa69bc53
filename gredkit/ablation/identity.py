"""A trial's id: a hash of what determines its result."""

import functools
import importlib
import inspect
import json
import re
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import xxhash
from torch import nn

from gredkit.ablation.code import c_code, python_code
from gredkit.data.hops.cache import fingerprint
from gredkit.data.objectives import Loss, Objective
from gredkit.data.task import Task

WITHOUT_EFFECT = ("datasets.", "fit.device", "fit.checkpoint_seconds")  # the content of the data counts, not its path
STDLIB = Path(sysconfig.get_path("stdlib"))
INSTALLED = {"site-packages", "dist-packages"}  # also of another environment on the search path
ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of an object, in its repr
COMPUTE_NOTHING = (
    "gredkit.errors",
    "gredkit.registry",
    "gredkit.config.mistakes",
    "gredkit.names",
    "gredkit.system.private",
    "gredkit.ranges",
    "gredkit.system.own_folder",
    "gredkit.nn.kernels.compiler",
)


def trial_id(settings: Mapping[str, Any], data: str, code: str) -> str:
    """A hash of the data, the code and the settings that have an effect, including the seed."""
    counted = {key: _number(value) for key, value in settings.items() if not key.startswith(WITHOUT_EFFECT)}
    text = json.dumps([counted, data, code], sort_keys=True, default=repr)
    return xxhash.xxh3_64_hexdigest(ADDRESS.sub("", text).encode())


def _number(value: Any) -> Any:
    """1 and 1.0 are the same setting."""
    return float(value) if type(value) is int else value


def data_hash(task: Task) -> str:
    """A hash of graphs and splits."""
    digest = xxhash.xxh3_64(fingerprint(task.graphs).encode())
    for split, indices in task.splits.items():
        digest.update(f"{split} {np.asarray(indices, np.int64).tobytes().hex()}".encode())
    digest.update(repr(task.spec).encode())
    return digest.hexdigest()


def objective_hash(objective: Objective) -> str:
    """A hash of kind, loss and metric; their hyper-parameters are settings of the trial."""
    loss, metric = objective.loss, objective.metric
    asked = (objective.kind, metric.name, metric.larger_is_better, _code_of(loss), _code_of(metric.score))
    return xxhash.xxh3_64_hexdigest(repr(asked).encode())


def _code_of(function: Callable[..., Any]) -> str:
    """The syntax of the module that defines a function or an object's class, since it may call others there."""
    while isinstance(function, Loss | functools.partial):
        function = function.function if isinstance(function, Loss) else function.func
    owner = function if hasattr(function, "__qualname__") else type(function)
    return f"{owner.__qualname__} {_syntax(owner.__module__) if owner.__module__ in sys.modules else ''}"


def code_hash(model: nn.Module, *others: str) -> str:
    """A hash of the code of a model's classes, of other modules, and of everything that these use.

    A new component does not change the ids of other trials, and neither does prose: comments, layout, docstrings,
    messages, labels of metrics. If a module of gredkit has `SOURCES`, these are C files that belong to it.
    """
    waiting = {kind.__module__ for module in model.modules() for kind in type(module).__mro__}
    waiting |= {importlib.import_module(name).__name__ for name in others}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in seen or name in COMPUTE_NOTHING or module is None or not _is_ours(module):
            continue
        seen.add(name)
        if hasattr(module, "__path__"):  # the content of a package depends on what was imported before
            continue
        for value in vars(module).values():
            waiting.add(value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or "")
    text = "".join(f"{name} {_syntax(name)}" for name in sorted(seen))
    ours = [sys.modules[name] for name in sorted(seen) if name.startswith("gredkit.")]
    text += "".join(c_code(path.read_text()) for module in ours for path in getattr(module, "SOURCES", ()))
    return xxhash.xxh3_64_hexdigest(text.encode())


def _is_ours(module: ModuleType) -> bool:
    """Whether it belongs to gredkit or to the user, not to an installed package."""
    if module.__name__.split(".")[0] == "gredkit":
        return True
    file = Path(getattr(module, "__file__", None) or STDLIB)
    return not file.is_relative_to(STDLIB) and INSTALLED.isdisjoint(file.parts)


@functools.cache
def _syntax(name: str) -> str:
    try:
        return python_code(inspect.getsource(sys.modules[name]))
    except (OSError, SyntaxError, TypeError):  # defined in a notebook
        return ""
