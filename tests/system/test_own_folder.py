"""Code is loaded from folders of this user alone."""

import os
from pathlib import Path

import pytest

from gredkit.system.own_folder import NotPrivate, check_file, private_folder

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
SOMEBODY = 12345


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("GREDKIT_COMPILED", str(tmp_path / "a" / "compiled"))
    return tmp_path / "a" / "compiled"


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_it_is_made_for_its_user_alone_whatever_the_umask(root):
    before = os.umask(0)
    try:
        folder = private_folder("kernels")
    finally:
        os.umask(before)
    assert folder == root / "kernels"
    assert (mode(root), mode(folder)) == (0o700, 0o700)
    assert private_folder("kernels") == folder


@pytest.mark.parametrize("which", ["root", "folder"])
@pytest.mark.parametrize("bits", [0o777, 0o770, 0o707, 0o750, 0o720, 0o702])
def test_a_folder_that_is_open_to_others_is_refused(root, which, bits):
    folder = private_folder("kernels")
    path = root if which == "root" else folder
    path.chmod(bits)
    with pytest.raises(NotPrivate, match=f"chmod 700 {path}"):
        private_folder("kernels")


@pytest.mark.parametrize("which", ["root", "folder"])
def test_a_link_in_place_of_a_folder_is_refused(root, tmp_path, which):
    folder = private_folder("kernels")
    path = root if which == "root" else folder
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotPrivate, match="not a folder"):
        private_folder("kernels")


def test_a_folder_above_that_anybody_may_write_to_is_refused_unless_only_owners_rename(root):
    private_folder("kernels")
    root.parent.chmod(0o777)
    with pytest.raises(NotPrivate, match=f"other users may write to its parent folder {root.parent}"):
        private_folder("kernels")
    root.parent.chmod(0o1777)
    assert private_folder("kernels").is_dir()


@pytest.mark.needs("root")
@pytest.mark.parametrize("which", ["root", "folder", "parent"])
def test_the_folder_of_another_user_is_refused(root, which):
    folder = private_folder("kernels")
    os.chown({"root": root, "folder": folder, "parent": root.parent}[which], SOMEBODY, SOMEBODY)
    with pytest.raises(NotPrivate, match="another user"):
        private_folder("kernels")


def test_a_file_that_others_may_write_or_a_link_is_refused(tmp_path):
    file = tmp_path / "library"
    file.write_text("")
    file.chmod(0o755)
    check_file(file)
    for bits in (0o775, 0o757):
        file.chmod(bits)
        with pytest.raises(NotPrivate, match="other users may write"):
            check_file(file)
    (tmp_path / "link").symlink_to(file)
    for path in (tmp_path / "link", tmp_path):
        with pytest.raises(NotPrivate, match="not a file"):
            check_file(path)
    if IS_ROOT:
        file.chmod(0o700)
        os.chown(file, SOMEBODY, SOMEBODY)
        with pytest.raises(NotPrivate, match="another user"):
            check_file(file)


def test_no_place_to_write_is_an_os_error(root):
    root.parent.write_text("a file")
    with pytest.raises(OSError, match="exists"):
        private_folder("kernels")
