"""The server that trials are forked from, on machines that have such a thing.

It has imported everything, so that a trial starts at once; it has no data and no threads, so nothing of one trial is
seen by another. This module imports little: the server is started first, and imports PyTorch at the same time
as the process that plans the trials.
"""

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import BaseContext

import psutil

FORKS = "forkserver" in multiprocessing.get_all_start_methods()
IMPORTED = ["gredkit.ablation.launchers.local", "gredkit.ablation.warm"]


def context() -> BaseContext:
    """What starts processes: the server or, where there is none, a new interpreter for each."""
    return multiprocessing.get_context("forkserver" if FORKS else "spawn")


@cache
def start() -> None:
    """Start it, once; it ends after this process."""
    if FORKS:
        context().set_forkserver_preload(IMPORTED)
        with _deaf():
            forkserver.ensure_running()


def stop() -> None:
    """For a command that ends: the server may still import, and keeps open what both write to."""
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            if any("multiprocessing.forkserver" in word for word in child.cmdline()):
                child.kill()


@contextmanager
def _deaf() -> Iterator[None]:
    """What is started now ignores Ctrl-C from its first moment, and so do the processes that it forks."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
