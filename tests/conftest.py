import os

# The tests run side by side. This stands before the imports: NumPy reads it only then, and
# threads that wait for each other beside another test make eigenvalue problems many times slower.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import gc
import signal
import tempfile
from pathlib import Path

import joblib
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

LONGEST = (
    *("test_package.py", "test_tutorial.py", "test_examples.py", "test_launchers.py", "test_bad_connection.py"),
    *("test_kills.py", "test_claims.py", "test_tracking.py", "test_survival.py", "test_killed.py", "test_run.py"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="more rounds of tests by chance, as `make chaos` runs them")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, because many tests wait: for a disk, an answer that does not come, a signal."""
    return joblib.cpu_count() + 1


def pytest_configure(config: pytest.Config) -> None:
    # A slow machine is no failure.
    settings.register_profile("gredkit", deadline=None, max_examples=200 if config.getoption("--long") else 40)
    settings.load_profile("gredkit")
    config.addinivalue_line("markers", "rounds(short, long): run once for each seed, so many times")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest tests first, so that no core waits for one of them at the end, and not all in one process.

    Each process is given one piece of the list, and takes tests from the end of another one's when it has none left.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    long: dict[str, list[pytest.Item]] = {name: [] for name in LONGEST}
    others: list[pytest.Item] = []
    for item in items:
        long.get(item.path.name, others).append(item)
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        ours = [item for name in LONGEST[worker::workers] for item in long[name]]
        size = max((len(items) - len(ordered)) // (workers - worker) - len(ours), 0)
        ordered += ours + others[:size]
        del others[:size]
    items[:] = ordered + others


def pytest_collection_finish() -> None:
    """Exclude what was imported from garbage collection: each training begins with one, which took half of its time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def is_long(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--long")


def pytest_runtest_setup(item: pytest.Item) -> None:
    check_needs(item)
