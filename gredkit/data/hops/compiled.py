"""numba, with what it compiles in the folder for compiled code: it loads pickles, which can run anything."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import njit

from gredkit.errors import cause
from gredkit.system.own_folder import private_folder

log = logging.getLogger(__name__)
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """The function as machine code that lets other threads run; compiled in every process if it cannot be kept."""
    before = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = str(private_folder("numba"))  # read by `njit`, and by nothing else meanwhile
        return njit(cache=True, nogil=True)(function)
    except (OSError, RuntimeError) as error:  # numba raises the latter where nothing can be written
        log.info("%s is compiled again by every process: %s", function.__name__, cause(error))
        return njit(nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = before
