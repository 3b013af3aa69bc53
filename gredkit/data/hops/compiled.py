"""numba with its cache in the private folder for compiled code: the cache holds pickles, which can run any code."""

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
    """The function as machine code that releases the GIL; each process compiles it again if it cannot be cached."""
    before = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = str(private_folder("numba"))  # only `njit` reads it
        return njit(cache=True, nogil=True)(function)
    except (OSError, RuntimeError) as error:  # numba raises a RuntimeError if it cannot write
        log.info("%s is compiled again by every process: %s", function.__name__, cause(error))
        return njit(nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = before
