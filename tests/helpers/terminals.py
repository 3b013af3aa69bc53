"""Commands in a real terminal of a chosen width."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run_in_terminal(*arguments: str, cwd: Path, columns: int) -> tuple[int, str]:
    """`python ARGUMENTS` in a terminal: its exit code, and what it printed without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    ignored = ("COLUMNS", "LINES", "NO_COLOR")
    environment = {name: value for name, value in os.environ.items() if name not in ignored}
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm-256color"},
    ) as process:
        os.close(theirs)
        printed = b""
        while True:
            try:
                read = os.read(ours, 65536)
            except OSError:  # the other end was closed
                break
            if not read:
                break
            printed += read
        process.wait()
    os.close(ours)
    return process.returncode, CONTROL.sub("", printed.decode()).replace("\r", "")
