"""The server from which the processes of trials are forked, on systems that support it.

It has imported everything, so a trial starts immediately. It has no data and no threads, so trials do not influence
each other. If it is killed, the trials that it started continue, and the next trial starts a new server. This module
imports little, because the server is started first and imports PyTorch while the main process plans the trials.
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
IMPORTED = [
    "gredkit.ablation.launchers.forking.process",
    "gredkit.ablation.worker",
    "gredkit.ablation.launchers.forking.warm",
]
INTERRUPTS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name))
TRIES = 5  # attempts to start a process, each with a new server


class NoServer(Exception):
    """The server was killed several times in a row while it started a process."""


def context() -> BaseContext:
    """The context that starts processes: the server, or a new interpreter for each where there is none."""
    return multiprocessing.get_context("forkserver" if FORKS else "spawn")


def start() -> None:
    """Start the server unless it is running; it ends after this process."""
    if FORKS:
        context().set_forkserver_preload(IMPORTED)
        for begin in (resource_tracker.ensure_running, forkserver.ensure_running):
            with deaf():  # separately for each, because the first one unblocks Ctrl-C
                begin()


def launch(target: Callable[..., object], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """Start a process that calls `target(line, *arguments)`; returns it and our end of the connection `line`.

    If the server is killed while it starts a process and the process exists nevertheless, the process finds its
    connection closed and ends.
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
    """Kill the server when a command ends: it may still be importing, and keeps the output streams open."""
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            if any("multiprocessing.forkserver" in word for word in child.cmdline()):
                child.kill()


@contextmanager
def deaf() -> Iterator[None]:
    """Processes started inside this context, and their children, ignore Ctrl-C and a closed terminal.

    In this process such a signal is only delayed.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
