"""Modules and functions of the user's own: what they raise is said in one sentence, with the line that raised it."""

import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from gredkit.errors import UserError, cause

DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def check_name(name: str) -> None:
    """Whether a module can have this name."""
    if not DOTTED.fullmatch(name) or name.endswith(".py"):
        dotted = re.sub(r"^[./\\]+|\.py$", "", name).replace("/", ".").replace("\\", ".")
        hint = f": name it as Python does, {dotted!r}" if DOTTED.fullmatch(dotted) else ": name it as Python does"
        raise UserError(f"cannot import {name!r}: this is no name of a module{hint}")


@contextmanager
def working_folder() -> Iterator[None]:
    """Modules of the working folder come first; afterwards last, so that none takes the place of an installed one."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        with suppress(ValueError):  # somebody else has removed it
            sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)


def import_own(name: str) -> ModuleType:
    """Import a module by its dotted name; those in the working folder are found."""
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
                f"cannot import {name!r}: there is no module {error.name!r} in {os.getcwd()} or among those installed"
            ) from None


def call_own(function: Callable[..., Any], what: str, **arguments: Any) -> Any:
    """Call a function of the user's."""
    with of_the_user(f"{what} gives no data"):
        return function(**arguments)


class Broken(UserError):
    """Code of the user's that raised something."""

    has_traceback = True


@contextmanager
def of_the_user(failed: str) -> Iterator[None]:
    """What the user's code raises inside becomes a `UserError` that says where."""
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
    """The last line of a traceback that is not Python's own machinery."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    return f"{frames[-1].filename}, line {frames[-1].lineno}," if frames else "it"
