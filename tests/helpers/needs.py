"""What some tests need beside Python: `@pytest.mark.needs("compiler")`.

A test whose need is missing is skipped and says why. On CI, which has all of it, it fails instead. Only the workflow on
GitHub must be root and may mount disks: elsewhere .ci/run may be in a container that is not allowed to.
"""

import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable

import pytest

from helpers import browser, postgres, slurm


def has_compiler() -> bool:
    return shutil.which((shlex.split(os.environ.get("CC", "")) or ["cc"])[0]) is not None


@functools.cache
def can_mount() -> bool:
    """Whether this process may mount a disk, which even root may not in most containers."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", folder]
        if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


NEEDS: dict[str, tuple[Callable[[], bool], str]] = {
    "compiler": (has_compiler, "there is no C compiler: install one, or set $CC"),
    "c++": (lambda: shutil.which("c++") is not None, "there is no C++ compiler, which torch.compile uses"),
    "browser": (lambda: browser.executable() is not None, f"none of {', '.join(browser.NAMES)} is installed"),
    "root": (lambda: hasattr(os, "geteuid") and os.geteuid() == 0, "only root gives files away"),
    "mount": (can_mount, "only root may mount a disk, and in a container only with --privileged"),
    "postgresql": (postgres.is_installed, "install postgresql (Debian's name)"),
    "slurm": (slurm.is_installed, "install slurmctld, slurmd and slurm-client (Debian's names)"),
    "ray": (lambda: importlib.util.find_spec("ray") is not None, "pip install 'gredkit[ray]'"),
    "torch-scatter": (lambda: importlib.util.find_spec("torch_scatter") is not None, "run make scatter"),
    "mkdocs": (lambda: importlib.util.find_spec("mkdocs") is not None, "pip install 'gredkit[docs]'"),
    "nbclient": (lambda: importlib.util.find_spec("nbclient") is not None, "pip install 'gredkit[dev]'"),
}
OPTIONAL = () if os.environ.get("GITHUB_ACTIONS") == "true" else ("root", "mount")  # what even CI may be without


def check_needs(item: pytest.Item) -> None:
    for what in [what for marker in item.iter_markers("needs") for what in marker.args]:
        is_there, advice = NEEDS[what]
        if not is_there():
            if os.environ.get("CI") == "true" and what not in OPTIONAL:
                pytest.fail(f"CI must have what this test needs: {what} ({advice})")
            pytest.skip(f"needs {what}: {advice}")
