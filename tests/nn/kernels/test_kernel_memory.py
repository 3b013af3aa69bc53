"""Too little memory is a MemoryError, for every request that a kernel makes, and leaves nothing behind."""

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from helpers.kernel_calls import NAMES, case_of

from gredkit.nn.kernels import build, call

pytestmark = pytest.mark.needs("compiler")

NEEDS_NONE = ("Sums", "steps.set_sum", "ops.set_sum")
SCARCE = Path(__file__).parent / "scarce.h"


@pytest.fixture
def scarce(monkeypatch):
    """The kernels, compiled so that requests are counted: the number of the one to fail can be set."""
    monkeypatch.setenv("CC", f"{os.environ.get('CC') or 'cc'} -include {SCARCE}")
    build._found.cache_clear()
    library = build.library()
    assert library is not None
    yield library
    build._found.cache_clear()


def number(library: ctypes.CDLL, name: str) -> ctypes.c_long:
    return ctypes.c_long.in_dll(library, name)


def requests(library: ctypes.CDLL, run, failing: int = -1) -> int:
    """How many requests it made, of which one failed."""
    number(library, "asked").value, number(library, "failing").value = 0, failing
    run()
    return number(library, "asked").value


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_each_request_for_memory_may_fail(scarce, name, threads):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        run = case_of(name)
        expected = run()
        number(scarce, "failing").value = -1
        asked = requests(scarce, run)
        assert asked or name in NEEDS_NONE
        for failing in range(asked):
            with pytest.raises(MemoryError, match="not enough memory"):
                requests(scarce, run, failing)
            assert number(scarce, "held").value == 0
        number(scarce, "failing").value = -1
        assert all(map(torch.equal, expected[:1], run()[:1]))  # of what is kept the padding differs
    finally:
        number(scarce, "failing").value = -1
        torch.set_num_threads(before)


def test_threads_that_cannot_be_started(scarce):
    before = torch.get_num_threads()
    errors: list[BaseException] = []

    def work() -> None:
        run = case_of("steps.set_sum")
        call._threads.count = 0
        for failing in range(requests(scarce, run)):
            call._threads.count = 0
            try:
                requests(scarce, run, failing)
            except MemoryError as error:
                errors.append(error)
        number(scarce, "failing").value = -1
        call._threads.count = 0
        assert requests(scarce, run) == 4  # the list, and three besides this one
        errors.append(StopIteration())

    try:
        torch.set_num_threads(4)
        thread = threading.Thread(target=work)  # which has had no threads yet
        thread.start()
        thread.join()
    finally:
        torch.set_num_threads(before)
    assert [type(error) for error in errors] == [*[MemoryError] * 4, StopIteration]


LIMITED = """
import resource, sys
import torch
torch.set_num_threads(1)
from helpers.kernel_calls import of_recurrence
from gredkit.nn.kernels import call
from gredkit.nn.kernels import steps
weights = [torch.zeros(shape) for shape in of_recurrence(1500, 8)]
run = lambda: steps.hop_matrices(2000, weights)  # wants 24 MB for itself
run()
call._threads.count = 0
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
torch.set_num_threads(int(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[2]), -1))
try:
    run()
except MemoryError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
run()
print("goes on")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's")
@pytest.mark.parametrize(("threads", "room"), [(1, 1 << 20), (64, 64 << 20)])
def test_a_real_limit_of_memory(threads, room):
    """In a process of its own: with a limit, threads and memory are refused by the system itself."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    command = [sys.executable, "-c", LIMITED, str(threads), str(room)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["there is not enough memory for a kernel and its threads", "goes on"]
