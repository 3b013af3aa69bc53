"""Run a command of the package as a real process."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """`python ARGUMENTS` in a folder, with what it printed."""
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=600)


def fails_with_a_sentence(result: subprocess.CompletedProcess[str]) -> str:
    """The one line that a mistake of the user ends in, with exit code 2 and no traceback."""
    assert result.returncode == 2, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]
