import os
import signal
import tempfile

import pytest
import torch
from hypothesis import settings

# Whatever a test prepares goes to a folder of its own, not to the user's cache. Commands inherit it.
CACHE = tempfile.TemporaryDirectory(prefix="gredkit-tests-")  # removed when the tests end
os.environ["GREDKIT_CACHE"] = CACHE.name

# Compiled code as well, in one folder for all processes of a session: the first one compiles for the others.
if "GREDKIT_COMPILED" not in os.environ:
    COMPILED = tempfile.TemporaryDirectory(prefix="gredkit-compiled-")
    os.environ["GREDKIT_COMPILED"] = COMPILED.name

# The tests run side by side, one for each core.
torch.set_num_threads(1)
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

# A shell that starts the tests in the background has them ignore Ctrl-C, and would so all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow machine is no failure.
settings.register_profile("gredkit", deadline=None)
settings.load_profile("gredkit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="the long form of the chaos tests, as `make chaos` runs them")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rounds(short, long): run once for each seed, so many times")
