"""The folder for compiled code. Code loaded from it is executed, so only this user may write to it."""

import os
import stat
import sys
from pathlib import Path

from gredkit.paths import compiled_root

ROOT = 0
UNMAPPED = 65534  # containers show this owner for files whose real owner does not exist inside the container
HAS_OWNERS = sys.platform != "win32"


class NotPrivate(OSError):
    """Somebody else may have written to this folder or file, so no code is loaded from it."""


def private_folder(name: str) -> Path:
    """Create (mode 0700) and check a folder in `$GREDKIT_COMPILED` or in the user's cache."""
    root = compiled_root()
    for parent in reversed(root.parents):
        parent.mkdir(mode=0o755, exist_ok=True)  # never writable for others, whatever the umask is
    folder = root / name
    for path in (root, folder):
        path.mkdir(mode=0o700, exist_ok=True)
        check_folder(path)
    for parent in root.resolve().parents:
        _check_parent(parent)
    return folder


def check_folder(path: Path) -> None:
    """Raise `NotPrivate` unless the path is a folder (not a link) that only this user can open."""
    found = _status(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(f"{path} is not a folder")
    if HAS_OWNERS and found.st_mode & 0o077:
        raise NotPrivate(f"other users can open {path}: run chmod 700 {path}")


def check_file(path: Path) -> None:
    """Raise `NotPrivate` unless the path is a file (not a link) that only this user can write."""
    found = _status(path)
    if not stat.S_ISREG(found.st_mode):
        raise NotPrivate(f"{path} is not a file")
    if HAS_OWNERS and found.st_mode & 0o022:
        raise NotPrivate(f"other users may write to {path}: remove it")


def _status(path: Path) -> os.stat_result:
    """The status of the path itself (links are not followed); it must belong to this user."""
    found = path.lstat()
    if HAS_OWNERS and found.st_uid != os.geteuid():
        raise NotPrivate(f"{path} belongs to another user")
    return found


def _check_parent(path: Path) -> None:
    """Raise `NotPrivate` if somebody else could replace our folder inside this parent folder."""
    if not HAS_OWNERS:
        return
    found = path.stat()
    if found.st_mode & stat.S_ISVTX:  # sticky bit, as on /tmp: only the owner of a folder can rename it
        return
    is_ours = found.st_uid == os.geteuid()  # then its group often has no other member
    if found.st_uid not in (os.geteuid(), ROOT, UNMAPPED):
        raise NotPrivate(f"its parent folder {path} belongs to another user")
    if found.st_mode & (stat.S_IWOTH if is_ours else stat.S_IWOTH | stat.S_IWGRP):
        raise NotPrivate(f"other users may write to its parent folder {path}")
