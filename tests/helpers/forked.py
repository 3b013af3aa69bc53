"""What a forked process does to become a command."""

import atexit
import os
import runpy
import signal
import sys
from pathlib import Path


def become(arguments: list[str], cwd: str, environment: dict[str, str], output: Path) -> None:
    """Make this process `python -m ARGUMENTS`, writing to two files."""
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ |= environment
    for number, stream in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(output / stream, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[:] = [cwd, *(path for path in sys.path if path not in ("", str(Path(__file__).parents[1])))]
    sys.argv = arguments
    try:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()
