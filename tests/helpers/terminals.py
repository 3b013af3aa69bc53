"""Commands in a real terminal of a chosen width."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
from pathlib import Path

from helpers.commands import Command

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
IGNORED = ("COLUMNS", "LINES", "NO_COLOR")


class Terminal:
    """A command in a terminal of its own, which ours can read and close."""

    def __init__(self, *arguments: str, cwd: Path, columns: int = 100):
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name not in IGNORED}
        environment["TERM"] = "xterm-256color"
        self.command = Command(arguments, cwd, environment, os.ttyname(self._theirs))

    def read(self) -> bytes:
        """What it has printed since the last time, after a moment of waiting."""
        return os.read(self._ours, 65536) if select.select([self._ours], [], [], 0.05)[0] else b""

    def close(self) -> None:
        os.close(self._theirs)
        os.close(self._ours)


def run_in_terminal(*arguments: str, cwd: Path, columns: int) -> tuple[int, str]:
    """`python ARGUMENTS` in a terminal: its exit code, and what it printed without colours."""
    terminal, printed, has_ended = Terminal(*arguments, cwd=cwd, columns=columns), b"", False
    while True:
        read = terminal.read()
        if has_ended and not read:
            break
        printed += read
        has_ended = terminal.command.returncode is not None  # asked before the last reading
    terminal.close()
    assert terminal.command.returncode is not None
    return terminal.command.returncode, CONTROL.sub("", printed.decode()).replace("\r", "")
