"""What numba compiles lies in the folder for compiled code, and in no other."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import numba
from gredkit.data.hops.search import hop_sets
print(numba.config.CACHE_DIR or "numba's own")
print(hop_sets._cache.cache_path)
"""


@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_it_is_kept_where_nobody_else_may_write_or_not_at_all(tmp_path, mode):
    folder = tmp_path / "code"
    folder.mkdir()
    folder.chmod(mode)
    env = {**os.environ, "GREDKIT_COMPILED": str(folder)}
    env.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    others, ours = done.stdout.splitlines()
    assert others == "numba's own"
    if mode == 0o700:
        assert ours.startswith(str(folder / "numba"))
    else:
        assert ours == "None"
