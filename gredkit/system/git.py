"""The commit that a folder is at."""

import subprocess
from pathlib import Path


def git_commit(folder: Path) -> str:
    """The commit that a folder is at, with `+` if something in it is not committed; empty if there is none."""
    try:
        at = ["git", "-C", str(folder)]
        commit = subprocess.run([*at, "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10)
        changed = subprocess.run([*at, "status", "--porcelain", "-uno"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")
