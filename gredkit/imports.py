"""The user's own modules and functions: an error in them becomes one sentence that names the line."""

import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from gredkit.errors import UserError, cause

DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
MOST_FILES, LARGEST_FILE = 500, 10**6  # that are searched for a component


def check_name(name: str) -> None:
    """Raise an error if no module can have this name."""
    if not DOTTED.fullmatch(name) or name.endswith(".py"):
        dotted = re.sub(r"^[./\\]+|\.py$", "", name).replace("/", ".").replace("\\", ".")
        hint = f": write {dotted!r}" if DOTTED.fullmatch(dotted) else ": write its name as in an import statement"
        raise UserError(f"cannot import {name!r}: this is not the name of a module{hint}")


@contextmanager
def working_folder() -> Iterator[None]:
    """Inside, modules of the working folder are found first; afterwards last, so that none hides an installed one."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        with suppress(ValueError):  # other code has removed it
            sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)


def import_own(name: str) -> ModuleType:
    """Import a module by its dotted name, from the working folder or from the installed packages."""
    check_name(name)
    with of_the_user(f"cannot import {name!r}"), working_folder():
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None:
                raise
            if not f"{name}.".startswith(f"{error.name}."):
                raise UserError(f"cannot import {name!r}: it needs {error.name!r}, which is not installed") from None
            raise UserError(
                f"cannot import {name!r}: there is no module {error.name!r} in {os.getcwd()}, and none is installed"
            ) from None


def module_that_registers(registry: str, name: str) -> str | None:
    """The module in the working folder that registers a component, found without importing it.

    `registry` is the variable that a module calls `register` on, such as ENCODERS.
    """
    line = re.compile(rf"\b{registry}\s*\.\s*register\(\s*(['\"]){re.escape(name)}\1")
    files: list[Path] = []
    with suppress(OSError):  # somebody removes a folder while it is searched, or it cannot be read
        files = [path for pattern in ("*.py", "*/*.py") for path in sorted(Path().glob(pattern))]
    for path in files[:MOST_FILES]:
        module = ".".join(path.with_suffix("").parts)
        if not DOTTED.fullmatch(module) or module in sys.modules:
            continue
        with suppress(OSError, UnicodeDecodeError):
            if path.stat().st_size <= LARGEST_FILE and line.search(path.read_text(encoding="utf-8")):
                return module
    return None


def call_own(function: Callable[..., Any], what: str, **arguments: Any) -> Any:
    """Call one of the user's functions."""
    with of_the_user(f"{what} gives no data"):
        return function(**arguments)


class Broken(UserError):
    """The user's own code raised an error."""

    has_traceback = True


@contextmanager
def of_the_user(failed: str) -> Iterator[None]:
    """An error that the user's code raises inside becomes a `UserError` that names the line."""
    try:
        yield
    except UserError:
        raise
    except SyntaxError as error:
        place = f"{error.filename}, line {error.lineno}: " if error.filename else ""
        raise UserError(f"{failed}: {place}{error.msg}") from error
    except SystemExit as error:
        raise UserError(f"{failed}: {_place(error)} calls sys.exit: let it return instead") from error
    except Exception as error:
        raise Broken(f"{failed}: {_place(error)} raised {type(error).__name__}: {cause(error)}") from error


def _place(error: BaseException) -> str:
    """The last line of a traceback that is not inside Python's import system."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    return f"{frames[-1].filename}, line {frames[-1].lineno}," if frames else "it"
