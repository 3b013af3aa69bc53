"""The machine's C compiler, which may be missing, broken, or never answer."""

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

SECONDS = 300.0  # for an answer; it takes 4 on a machine that does nothing else
REST = 600.0  # seconds until a compiler that gave none is asked again


class CannotCompile(Exception):
    """Why nothing can be compiled here, in a few words."""


class Compiler:
    """`$CC`, or `cc`. One that does not answer is remembered in a folder: other processes need not wait for it, too."""

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
        """What it prints."""
        with suppress(OSError):
            if time.time() - self._hung.stat().st_mtime < REST:
                raise CannotCompile(f"the C compiler {self.name!r} gave no answer a short time ago")
        try:
            return output([*self.command, *arguments])
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                self._hung.touch()
            raise CannotCompile(f"the C compiler {self.name!r} gave no answer in {SECONDS:.0f} s") from None
        except subprocess.CalledProcessError as error:
            said = next((line for line in error.stderr.splitlines() if "error" in line), f"code {error.returncode}")
            raise CannotCompile(f"the C compiler {self.name!r} failed: {cause(Exception(said))}") from None


def output(command: list[str]) -> str:
    """Of a command that ends, with all that it started, after `SECONDS`."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, said = process.communicate(timeout=SECONDS)
        except BaseException:  # Ctrl-C, too, does not reach it by itself
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, out, said)
    return out
