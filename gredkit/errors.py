"""Errors that a user can cause, and how a command ends on one of them."""

import os
import signal
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Callable

from gredkit.system.private import portable, shown
from gredkit.system.wrapping import print_error


class UserError(ValueError):
    """A mistake that the user can correct: one plain sentence that says what to do."""

    exit_code = 2
    has_traceback = False  # whether the traceback helps: it does for the user's own code


def cause(error: BaseException) -> str:
    """The message of another library's error, short enough to fit into a sentence."""
    return textwrap.shorten(shown(str(error)), 200, placeholder=" …")


def command(main: Callable[[], None]) -> None:
    """Run a command and choose its exit code.

    A `UserError` prints one sentence to stderr and exits with the error's own code. Ctrl-C exits with 130. A closed
    pipe exits silently. An unexpected error prints a sentence that names the file with the traceback and exits with 1.
    """
    try:
        main()
        sys.stdout.flush()
    except UserError as error:
        said = shown(str(error)).splitlines() or [type(error).__name__]
        kept = f" ({_kept(traceback.format_exc())})" if error.has_traceback else ""
        print_error(f"error: {said[0]}{kept}")  # gin adds lines of its own
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C during cleanup would print a traceback
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more when it exits
        sys.exit(128 + 13)  # the code of a program that SIGPIPE ended
    except Exception as error:
        kept = _kept(traceback.format_exc())
        print_error(f"error: gredkit did not expect {type(error).__name__}: {cause(error)} ({kept})")
        sys.exit(1)


def _kept(text: str) -> str:
    """Write a traceback to a temporary file that only this user can read, and say where it is."""
    try:
        number, path = tempfile.mkstemp(prefix="gredkit-", suffix=".txt")
        with open(number, "w", encoding="utf-8") as file:
            file.write(portable(text))
    except OSError:
        return "the traceback could not be written to a file"
    return f"the traceback is in {path}"
