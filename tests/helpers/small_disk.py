"""A disk of a few kilobytes."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SmallDisk:
    """Mounted at a folder, until it is taken away."""

    def __init__(self, folder: Path, kilobytes: int):
        self.folder = folder
        folder.mkdir()
        size = f"size={kilobytes}k"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", folder], check=True)

    def make_room(self) -> None:
        subprocess.run(["mount", "-o", "remount,size=50m", self.folder], check=True)


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[SmallDisk]:
    disk = SmallDisk(folder, kilobytes)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
