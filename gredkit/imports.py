"""Modules of the user's own."""

import importlib
import os
import sys
from types import ModuleType

from gredkit.errors import UserError


def import_own(name: str) -> ModuleType:
    """Import a module by its dotted name; those in the working folder are found."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # a module that theirs imports
        raise UserError(
            f"cannot import {name!r}: there is no module {error.name!r} in {os.getcwd()} or among those installed"
        ) from None
