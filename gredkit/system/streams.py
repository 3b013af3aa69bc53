"""What a long command prints to: streams that may go away before it ends."""

import io
import signal
import sys
from typing import Any, TextIO


class _Lasting(io.FileIO):
    """A stream whose other end may go: what nobody can read any more is dropped."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:  # the terminal was closed, or the reader of a pipe has ended
            return len(data)


def outlive_the_terminal() -> None:
    """From now on nothing fails for want of a terminal, and its end is heard as Ctrl-C, but under `nohup`."""
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) != signal.SIG_IGN:
        signal.signal(hangup, signal.default_int_handler)


def _lasting(stream: TextIO) -> TextIO:
    raw = _Lasting(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True)
