"""The kernels are compiled once and loaded only if whole; who cannot compile them does without, and reads why."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import xxhash

pytestmark = pytest.mark.needs("compiler")

SCRIPT = """
import sys
from gredkit.nn.kernels import build
from gredkit.nn.kernels import compiler
compiler.SECONDS = float(sys.argv[1])
print("kernels" if build.library() is not None else "no kernels")
print(build.why_none())
assert build.library() is build.library()
"""
SLOW = 120.0


def start(folder: Path, seconds: float = SLOW, **environment: str) -> subprocess.Popen[str]:
    env = {**os.environ, "GREDKIT_COMPILED": str(folder), **environment}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(seconds)], env=env, stdout=-1, stderr=-1, text=True)


def outcome(folder: Path, seconds: float = SLOW, **environment: str) -> tuple[bool, str, list[str]]:
    """Whether there are kernels, why not, and the lines on stderr."""
    process = start(folder, seconds, **environment)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    said, why = out.splitlines()
    return said == "kernels", why, errors.splitlines()


def compiler(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


OUT = 'while [ "$1" != -o ]; do [ $# = 0 ] && exit; shift; done;'  # then $2 is the file to make


@pytest.fixture(scope="module")
def fast(tmp_path_factory):
    """A compiler that has compiled already."""
    folder = tmp_path_factory.mktemp("compiled")
    assert outcome(folder / "code") == (True, "", [])
    (library,) = folder.glob("code/kernels/*.so")
    return compiler(folder / "compile", f'{OUT} cp {library} "$2"')


@pytest.fixture
def library(fast, tmp_path):
    """The library of a folder, which a test may damage."""
    assert outcome(tmp_path / "code", CC=fast) == (True, "", [])
    (library,) = tmp_path.glob("code/kernels/*.so")
    return library


def test_several_processes_build_one_library_and_later_ones_use_it(tmp_path):
    folder = tmp_path / "code"
    processes = [start(folder) for _ in range(3)]
    assert [process.communicate() for process in processes] == [("kernels\n\n", "")] * 3
    (library,) = folder.glob("kernels/*.so")
    when = library.stat().st_mtime_ns
    assert outcome(folder) == (True, "", [])
    assert library.stat().st_mtime_ns == when
    for path in (folder, library.parent):
        assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kept", [0, 1, 1000, 40_000, -1])
def test_a_truncated_library_is_built_again(fast, tmp_path, library, kept):
    whole = library.read_bytes()
    library.write_bytes(whole[:kept])
    assert outcome(tmp_path / "code", CC=fast) == (True, "", [])
    assert library.read_bytes() == whole


@pytest.mark.parametrize("damage", ["flipped", "no checksum", "another checksum", "checksum of noise", "no library"])
def test_a_damaged_library_is_built_again(fast, tmp_path, library, damage):
    checksum, whole = library.with_suffix(".checksum"), library.read_bytes()
    if damage == "flipped":
        library.write_bytes(whole[:5000] + bytes([whole[5000] ^ 255]) + whole[5001:])
    elif damage == "no checksum":
        checksum.unlink()
    elif damage == "no library":
        library.unlink()
    else:
        checksum.write_bytes(b"\xff\xfe" if damage == "checksum of noise" else b"0" * 32)
    assert outcome(tmp_path / "code", CC=fast) == (True, "", [])
    assert library.read_bytes() == whole
    assert checksum.read_text() == xxhash.xxh3_128_hexdigest(whole)


BROKEN = {
    "nonsense": ("no-such-compiler", "there is no C compiler 'no-such-compiler'"),
    "a quotation mark": ("cc 'x", "$CC cannot be read"),
    "fails": ("false", "the C compiler 'false' failed: code 1"),
    "makes nothing": ("true", "cannot be loaded"),
    "an option it does not know": ("cc --no-such-option", "failed: cc: error"),
    "an empty file": (f'{OUT} : > "$2"', "cannot be loaded"),
    "half a library": (f'{OUT} FAST "$1" "$2"; truncate -s 40000 "$2"', "cannot be loaded"),
    "another library": (f'{OUT} echo "int x;" | cc -shared -fPIC -x c - -o "$2"', "cannot be loaded"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_compiler_that_is_no_use_is_named_in_one_line(fast, tmp_path, kind):
    command, expected = BROKEN[kind]
    if OUT in command:
        command = compiler(tmp_path / "compile", command.replace("FAST", fast))
    has_kernels, why, lines = outcome(tmp_path / "code", CC=command)
    assert not has_kernels
    assert expected in why
    assert len(lines) == 1
    assert lines[0].startswith("gredkit runs slower, without its compiled kernels: ")
    assert why in lines[0]


def test_without_any_compiler(tmp_path):
    has_kernels, why, lines = outcome(tmp_path / "code", PATH=str(tmp_path), CC="")
    assert (has_kernels, len(lines)) == (False, 1)
    assert "there is no C compiler 'cc'" in why


def test_a_compiler_that_hangs_is_ended_and_not_waited_for_again(tmp_path):
    waits = compiler(tmp_path / "compile", f"sleep 600 & echo $! > {tmp_path}/pid; wait")
    has_kernels, why, lines = outcome(tmp_path / "code", 1.0, CC=waits)
    assert (has_kernels, len(lines)) == (False, 1)
    assert "did not answer within 1 s" in why
    started = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(started) or psutil.Process(started).status() == psutil.STATUS_ZOMBIE
    again = outcome(tmp_path / "code", SLOW, CC=waits)
    assert again[0] is False
    assert "a short time ago" in again[1]


def test_who_wants_no_kernels_is_told_nothing(tmp_path):
    assert outcome(tmp_path / "code", GREDKIT_KERNELS="0", CC="false") == (False, "GREDKIT_KERNELS is 0", [])
    assert not (tmp_path / "code").exists()


def test_a_folder_that_others_may_write_to_is_refused(fast, tmp_path, library):
    for path in (library, library.parent, library.parents[1]):
        before = path.stat().st_mode
        path.chmod(before | 0o020)
        has_kernels, why, lines = outcome(tmp_path / "code", CC=fast)
        assert (has_kernels, len(lines)) == (False, 1)
        assert str(path) in why
        path.chmod(before)
    assert outcome(tmp_path / "code", CC=fast) == (True, "", [])


def test_the_cache_of_data_is_no_place_for_code(fast, tmp_path):
    shared = tmp_path / "shared"
    environment = {"GREDKIT_CACHE": str(shared), "GREDKIT_DATA": str(shared), "XDG_CACHE_HOME": str(tmp_path / "mine")}
    assert outcome(Path(), CC=fast, **environment, GREDKIT_COMPILED="") == (True, "", [])
    assert not shared.exists()
    assert len(list(tmp_path.glob("mine/gredkit/compiled/kernels/*.so"))) == 1
