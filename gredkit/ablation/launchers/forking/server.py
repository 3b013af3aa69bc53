"""The server that trials are forked from, on machines that have such a thing.

It has imported everything, so that a trial starts at once; it has no data and no threads, so nothing of one trial is
seen by another. If it is killed, the trials that it started go on, and the next one starts a new server. This module
imports little: the server is started first, and imports PyTorch at the same time as the process that plans the trials.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

import psutil

FORKS = "forkserver" in multiprocessing.get_all_start_methods()
IMPORTED = ["gredkit.ablation.launchers.local", "gredkit.ablation.launchers.forking.warm"]
INTERRUPTS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name))
TRIES = 5  # to start a process, each with a new server


class NoServer(Exception):
    """The server was ended again and again while it started a process."""


def context() -> BaseContext:
    """What starts processes: the server or, where there is none, a new interpreter for each."""
    return multiprocessing.get_context("forkserver" if FORKS else "spawn")


def start() -> None:
    """Start it, unless it runs; it ends after this process."""
    if FORKS:
        context().set_forkserver_preload(IMPORTED)
        for begin in (resource_tracker.ensure_running, forkserver.ensure_running):
            with _deaf():  # for each: the first lets Ctrl-C through again
                begin()


def launch(target: Callable[..., object], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A process that calls `target(line, *arguments)`, and our end of the line.

    The server may be killed while it starts a process. Should the process be there nevertheless, it finds its line
    closed, and ends.
    """
    for _ in range(TRIES):
        ours, theirs = context().Pipe()
        try:
            start()
            process = context().Process(target=target, args=(theirs, *arguments))  # type: ignore[attr-defined]
            process.start()
            return process, ours
        except (OSError, EOFError):
            ours.close()
        finally:
            theirs.close()
    raise NoServer(f"the server that starts trials was ended {TRIES} times in a row")


def stop() -> None:
    """For a command that ends: the server may still import, and keeps open what both write to."""
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            if any("multiprocessing.forkserver" in word for word in child.cmdline()):
                child.kill()


@contextmanager
def _deaf() -> Iterator[None]:
    """What is started now never hears Ctrl-C or a closed terminal, nor do the processes that it forks.

    For this process such a signal only comes a little later.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
