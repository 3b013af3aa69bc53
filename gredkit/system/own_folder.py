"""The folder for compiled code. What is loaded from it runs, so nobody but this user may write to it."""

import os
import stat
import sys
from pathlib import Path

from gredkit.paths import compiled_root

ROOT = 0
UNMAPPED = 65534  # whom containers show as the owner of what belongs to nobody inside
HAS_OWNERS = sys.platform != "win32"


class NotPrivate(OSError):
    """A folder or file that somebody else may have written to, so that no code is loaded from it."""


def private_folder(name: str) -> Path:
    """A folder in `$GREDKIT_COMPILED` or in the user's cache, made with mode 0700 and checked."""
    root = compiled_root()
    for parent in reversed(root.parents):
        parent.mkdir(mode=0o755, exist_ok=True)  # whatever the umask
    folder = root / name
    for path in (root, folder):
        path.mkdir(mode=0o700, exist_ok=True)
        check_folder(path)
    for parent in root.resolve().parents:
        _check_parent(parent)
    return folder


def check_folder(path: Path) -> None:
    """Refuse a folder that is not this user's alone, or a link to one."""
    found = _status(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(f"{path} is not a folder")
    if HAS_OWNERS and found.st_mode & 0o077:
        raise NotPrivate(f"{path} is open to others: chmod 700 {path}")


def check_file(path: Path) -> None:
    """Refuse a file that somebody else could have written, or a link to one."""
    found = _status(path)
    if not stat.S_ISREG(found.st_mode):
        raise NotPrivate(f"{path} is not a file")
    if HAS_OWNERS and found.st_mode & 0o022:
        raise NotPrivate(f"others may write to {path}: remove it")


def _status(path: Path) -> os.stat_result:
    """Of the path itself, not of what a link leads to; it must be this user's."""
    found = path.lstat()
    if HAS_OWNERS and found.st_uid != os.geteuid():
        raise NotPrivate(f"{path} belongs to another user")
    return found


def _check_parent(path: Path) -> None:
    """Refuse a folder in which somebody else may put another one in our folder's place."""
    if not HAS_OWNERS:
        return
    found = path.stat()
    if found.st_mode & stat.S_ISVTX:  # as /tmp has: only owners rename
        return
    is_ours = found.st_uid == os.geteuid()  # whose group is often the user's own
    if found.st_uid not in (os.geteuid(), ROOT, UNMAPPED):
        raise NotPrivate(f"{path}, in which it lies, belongs to another user")
    if found.st_mode & (stat.S_IWOTH if is_ours else stat.S_IWOTH | stat.S_IWGRP):
        raise NotPrivate(f"others may write to {path}, in which it lies")
