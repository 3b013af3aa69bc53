"""gredkit: ablations of GRED, the graph model that reads hops with a linear RNN."""

import os
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gredkit.data.hops.index import HopData, add_hops, add_hops_to_all
    from gredkit.data.task import GraphSpec
    from gredkit.inference.saved import load
    from gredkit.nn.hop_index import HopIndex
    from gredkit.nn.kernels.usable import without_kernels
    from gredkit.nn.layer import GREDLayer
    from gredkit.nn.models.base import add_needs
    from gredkit.nn.models.gred import GRED
    from gredkit.nn.parameters import count_parameters
    from gredkit.nn.scan import linear_scan

__all__ = [
    "GRED",
    "GREDLayer",
    "GraphSpec",
    "HopData",
    "HopIndex",
    "add_hops",
    "add_hops_to_all",
    "add_needs",
    "count_parameters",
    "linear_scan",
    "load",
    "without_kernels",
]
__version__ = "0.1.0"

# Each is imported when it is first asked for: PyTorch Geometric takes seconds, and a report does without it.
_HOMES = {
    "gredkit.data.hops.index": ("HopData", "add_hops", "add_hops_to_all"),
    "gredkit.data.task": ("GraphSpec",),
    "gredkit.nn.kernels.usable": ("without_kernels",),
    "gredkit.nn.hop_index": ("HopIndex",),
    "gredkit.nn.layer": ("GREDLayer",),
    "gredkit.nn.models.base": ("add_needs",),
    "gredkit.nn.models.gred": ("GRED",),
    "gredkit.nn.parameters": ("count_parameters",),
    "gredkit.nn.scan": ("linear_scan",),
    "gredkit.inference.saved": ("load",),
}

if sys.argv[:1] == ["-m"] and sys.path[:1] == [os.getcwd()] != [os.path.dirname(__path__[0])]:
    # `python -m gredkit.…` would import what happens to lie in the working folder: a torch.py beside a stored model.
    del sys.path[0]

if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & set(os.environ):
    # How often a thread of PyTorch or of a kernel looks whether the others are done, before it sleeps. By default it
    # looks for milliseconds: beside busy processes a step then takes 3 to 4 times as long as alone, and can take far
    # longer. With this number it takes 2.4 times as long, and alone hardly longer (`python -m gredkit.bench busy`).
    # OpenMP reads it when PyTorch is imported.
    os.environ["GOMP_SPINCOUNT"] = "1000"

# PyTorch Geometric calls `torch.jit.script` on import, and newer versions of PyTorch (2.15) print a warning about it.
warnings.filterwarnings("ignore", r"`torch\.jit\.script` is", FutureWarning, r"torch\.jit\._script")


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = found = getattr(import_module(home), name)
            return found
    if not name.startswith("_") and find_spec(f"gredkit.{name}") is not None:
        return import_module(f"gredkit.{name}")
    raise AttributeError(f"module 'gredkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
