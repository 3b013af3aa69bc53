"""What a forked process does to become a command."""

import atexit
import fcntl
import os
import runpy
import signal
import sys
import termios
from collections.abc import Sequence
from multiprocessing import util
from pathlib import Path
from typing import Any

# When this variable is set, the server that a command forks its trials from imports PyTorch, as it usually does.
IMPORTING_SERVER = "GREDKIT_TESTS_IMPORTING_SERVER"

start_program = util.spawnv_passfds


def become(
    how: str, arguments: list[str], cwd: str, environment: dict[str, str], output: Path, terminal: str | None
) -> None:
    """Make this process `python HOW ARGUMENTS`, where HOW is -m or -c, writing to two files or to a terminal."""
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ |= environment
    if terminal is not None:
        for number in range(3):
            os.dup2(os.open(terminal, os.O_RDWR), number)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    else:
        for number, stream in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(output / stream, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[:] = [cwd, *(path for path in sys.path if path not in ("", str(Path(__file__).parents[1])))]
    sys.argv = arguments if how == "-m" else ["-c", *arguments[1:]]
    if IMPORTING_SERVER not in environment:
        util.spawnv_passfds = fork_server
    try:
        if how == "-m":
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            exec(arguments[0], {"__name__": "__main__"})
    finally:
        atexit._run_exitfuncs()


def fork_server(path: bytes, args: Sequence[Any], passfds: Sequence[int]) -> int:
    """Start the server that trials are forked from as a fork of this command, which has imported what it needs.

    Only the first one, which a command starts before it has threads, files or a study of its own. All other programs,
    and a server that takes the place of one that was killed, start as they usually do.
    """
    code = str(args[-1])
    if "multiprocessing.forkserver" not in code:
        return start_program(path, args, passfds)
    util.spawnv_passfds = start_program
    sys.stdout.flush()
    sys.stderr.flush()
    if pid := os.fork():
        return pid
    try:
        for number in (signal.SIGHUP, signal.SIGTERM):
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        begin = 3
        for end in (*sorted(passfds), os.sysconf("SC_OPEN_MAX")):
            os.closerange(begin, end)
            begin = end + 1
        exec(code, {})
    finally:
        os._exit(0)
