import os

# The tests run side by side, one for each core. This stands before the imports: NumPy reads it only then, and
# threads that wait for each other beside another test make eigenvalue problems many times slower.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import gc
import signal
import tempfile
from pathlib import Path

import pytest
import torch
from helpers.needs import check_needs
from hypothesis import settings

# Whatever a test prepares goes to a folder of its own, not to the user's cache. Commands inherit it.
CACHE = tempfile.TemporaryDirectory(prefix="gredkit-tests-")  # removed when the tests end
os.environ["GREDKIT_CACHE"] = CACHE.name

# Compiled code is kept from one session to the next, as on a user's machine: its name has a checksum of its source.
os.environ.setdefault("GREDKIT_COMPILED", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled"))

torch.set_num_threads(1)

# A shell that starts the tests in the background has them ignore Ctrl-C, and would so all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow machine is no failure.
settings.register_profile("gredkit", deadline=None)
settings.load_profile("gredkit")

LONGEST = ("test_kills.py", "test_package.py", "test_tutorial.py", "test_examples.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="the long form of the chaos tests, as `make chaos` runs them")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rounds(short, long): run once for each seed, so many times")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests first, so that no core waits for one of them at the end."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish() -> None:
    """Exclude what was imported from garbage collection: each training begins with one, which took half of its time."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    check_needs(item)
