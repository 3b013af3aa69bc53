"""Errors that a user can cause, and how a command ends on one of them."""

import sys
import textwrap
from collections.abc import Callable

from gredkit.private import shown


class UserError(ValueError):
    """Something the user can mend: one plain sentence that says what to do."""

    exit_code = 2


def cause(error: Exception) -> str:
    """What another library says, short enough to stand in a sentence."""
    return textwrap.shorten(shown(str(error)), 200, placeholder=" …")


def command(main: Callable[[], None]) -> None:
    """Run a command line; a `UserError` ends it with one sentence on stderr and its exit code, Ctrl-C with 130."""
    try:
        main()
    except UserError as error:
        print(f"error: {shown(str(error)).splitlines()[0]}", file=sys.stderr)  # gin adds lines of its own
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
