"""This machine's C compiler, which may be missing, broken, or hang."""

import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import xxhash

from gredkit.errors import cause

SECONDS = 300.0  # time limit; compiling takes 4 s on an idle machine
REST = 600.0  # seconds until a compiler that did not answer is tried again


class CannotCompile(Exception):
    """Nothing can be compiled here; the message gives the reason."""


class Compiler:
    """The compiler `$CC` or `cc`.

    If it does not answer, a file in the folder records this, so that other processes do not wait for it too.
    """

    def __init__(self, folder: Path):
        try:
            self.command = shlex.split(os.environ.get("CC", "")) or ["cc"]
        except ValueError as error:  # a quotation mark that is not closed
            raise CannotCompile(f"$CC cannot be read: {error}") from None
        self.name = shlex.join(self.command)
        found = shutil.which(self.command[0])
        if found is None:
            raise CannotCompile(f"there is no C compiler {self.name!r}: install one, or correct $CC")
        when = Path(found).stat().st_mtime_ns
        self._hung = folder / f"{xxhash.xxh3_64_hexdigest(f'{self.name} {found} {when}'.encode())}.hung"

    def output(self, *arguments: str) -> str:
        """Run the compiler and return what it prints."""
        with suppress(OSError):
            if time.time() - self._hung.stat().st_mtime < REST:
                raise CannotCompile(f"the C compiler {self.name!r} did not answer a short time ago")
        try:
            return output([*self.command, *arguments])
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                self._hung.touch()
            raise CannotCompile(f"the C compiler {self.name!r} did not answer within {SECONDS:.0f} s") from None
        except subprocess.CalledProcessError as error:
            said = next((line for line in error.stderr.splitlines() if "error" in line), f"code {error.returncode}")
            raise CannotCompile(f"the C compiler {self.name!r} failed: {cause(Exception(said))}") from None


def output(command: list[str]) -> str:
    """Run a command and return what it prints; after `SECONDS` it is killed with all processes it started."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, said = process.communicate(timeout=SECONDS)
        except BaseException:  # even Ctrl-C does not reach it, since it has its own session
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, out, said)
    return out
