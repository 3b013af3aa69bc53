"""Errors that a user can cause, and how a command ends on one of them."""

import os
import signal
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Callable

from gredkit.system.private import portable, shown


class UserError(ValueError):
    """Something the user can mend: one plain sentence that says what to do."""

    exit_code = 2
    has_traceback = False  # whether the one behind it helps: that of the user's own code


def cause(error: BaseException) -> str:
    """What another library says, short enough to stand in a sentence."""
    return textwrap.shorten(shown(str(error)), 200, placeholder=" …")


def command(main: Callable[[], None]) -> None:
    """Run a command line to its end, whatever that is.

    A `UserError` ends it with one sentence on stderr and its exit code, Ctrl-C with 130, a reader that has gone without
    a word, and what nobody expected with a sentence that names the file of the traceback, and 1.
    """
    try:
        main()
        sys.stdout.flush()
    except UserError as error:
        said = shown(str(error)).splitlines() or [type(error).__name__]
        kept = f" ({_kept(traceback.format_exc())})" if error.has_traceback else ""
        print(f"error: {said[0]}{kept}", file=sys.stderr)  # gin adds lines of its own
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # again, while all is put in order, would show a traceback
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more at its end
        sys.exit(128 + 13)  # as a program that SIGPIPE ended
    except Exception as error:
        kept = _kept(traceback.format_exc())
        print(f"error: gredkit did not expect {type(error).__name__}: {cause(error)} ({kept})", file=sys.stderr)
        sys.exit(1)


def _kept(text: str) -> str:
    """Write a traceback to a file of the user's own, and say where it is."""
    try:
        number, path = tempfile.mkstemp(prefix="gredkit-", suffix=".txt")
        with open(number, "w", encoding="utf-8") as file:
            file.write(portable(text))
    except OSError:
        return "its traceback could not be written anywhere"
    return f"its traceback is in {path}"
