"""Output streams of a long command, which may be closed before the command ends."""

import io
import signal
import sys
from typing import Any, TextIO


class _Lasting(io.FileIO):
    """A stream whose reader may disappear; output that nobody can read any more is dropped."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:  # the terminal was closed, or the reader of a pipe has ended
            return len(data)


def outlive_the_terminal() -> None:
    """Keep running when the terminal is closed: printing never fails, and the hang-up acts like Ctrl-C.

    Under `nohup` the hang-up is ignored, as usual.
    """
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) != signal.SIG_IGN:
        signal.signal(hangup, signal.default_int_handler)


def _lasting(stream: TextIO) -> TextIO:
    raw = _Lasting(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True)
