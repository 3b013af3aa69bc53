"""A trial's id: a hash of what determines its result."""

import ast
import functools
import importlib
import inspect
import json
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import xxhash
from torch import nn

from gredkit.data.cache import fingerprint
from gredkit.data.task import Task

WITHOUT_EFFECT = ("datasets.", "fit.device", "fit.checkpoint_seconds")  # the data itself counts, not its path
INSTALLED = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))
SENTENCES = ("gredkit.errors", "gredkit.registry", "gredkit.mistakes")  # say things, compute nothing


def trial_id(settings: Mapping[str, Any], data: str, code: str) -> str:
    """The settings that have an effect, the seed among them, the data and the code."""
    counted = {key: value for key, value in settings.items() if not key.startswith(WITHOUT_EFFECT)}
    text = json.dumps([counted, data, code], sort_keys=True, default=repr)
    return xxhash.xxh3_64_hexdigest(text.encode())


def data_hash(task: Task) -> str:
    """Graphs, splits, and what is asked of them."""
    digest = xxhash.xxh3_64(fingerprint(task.graphs).encode())
    for split, indices in task.splits.items():
        digest.update(f"{split} {np.asarray(indices, np.int64).tobytes().hex()}".encode())
    digest.update(f"{task.spec} {task.objective.metric.name} {task.objective.loss.__name__}".encode())
    return digest.hexdigest()


def code_hash(model: nn.Module, *others: str) -> str:
    """The code of the classes that a model is made of, of other modules, and of all that these use.

    A new component changes no other trial's id; neither do comments and layout.
    """
    waiting = {kind.__module__ for module in model.modules() for kind in type(module).__mro__}
    waiting |= {importlib.import_module(name).__name__ for name in others}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in seen or name in SENTENCES or module is None or not _is_ours(module):
            continue
        if hasattr(module, "__path__"):  # a package holds whatever was imported so far
            continue
        seen.add(name)
        for value in vars(module).values():
            waiting.add(value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or "")
    text = "".join(f"{name} {_syntax(name)}" for name in sorted(seen))
    return xxhash.xxh3_64_hexdigest(text.encode())


def _is_ours(module: ModuleType) -> bool:
    """gredkit, or a file of the user's; not what is installed."""
    if module.__name__.split(".")[0] == "gredkit":
        return True
    file = getattr(module, "__file__", None)
    return file is not None and not any(Path(file).is_relative_to(folder) for folder in INSTALLED)


@functools.cache
def _syntax(name: str) -> str:
    try:
        return ast.dump(ast.parse(inspect.getsource(sys.modules[name])))
    except (OSError, SyntaxError, TypeError):  # defined in a notebook
        return ""
