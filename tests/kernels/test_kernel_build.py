"""The kernels are compiled once, and a machine that cannot compile them does without."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import logging
logging.basicConfig(level=logging.INFO)
from gredkit.kernels.build import library
print("kernels" if library() is not None else "no kernels")
"""


def start(cache: Path, **environment: str) -> subprocess.Popen[str]:
    env = {**os.environ, "GREDKIT_CACHE": str(cache), **environment}
    return subprocess.Popen([sys.executable, "-c", SCRIPT], env=env, stdout=-1, stderr=-1, text=True)


def test_several_processes_build_one_library_and_later_ones_use_it(tmp_path):
    processes = [start(tmp_path) for _ in range(3)]
    assert [process.communicate()[0] for process in processes] == ["kernels\n"] * 3
    (built,) = tmp_path.glob("kernels/*.so")
    when = built.stat().st_mtime_ns
    assert start(tmp_path).communicate()[0] == "kernels\n"
    assert built.stat().st_mtime_ns == when


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"CC": "no-such-compiler"}, "there is no C compiler"),
        ({"CC": "false"}, "cannot be compiled"),
        ({"GREDKIT_KERNELS": "0"}, ""),
    ],
)
def test_without_a_compiler_there_are_none(tmp_path, environment, said):
    out, errors = start(tmp_path, **environment).communicate()
    assert out == "no kernels\n"
    assert said in errors
    assert "Traceback" not in errors
