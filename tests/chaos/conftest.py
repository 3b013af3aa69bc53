"""What the chaos tests share: how many rounds they run, and the table of figures at the end.

`make test` runs the short form, `make chaos` the long one (`--long`).
"""

from collections import Counter
from collections.abc import Callable

import pytest

Count = Callable[..., None]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test marked `rounds(short=…, long=…)` runs once for each `seed` in range(short or long)."""
    if (marker := metafunc.definition.get_closest_marker("rounds")) is not None:
        form = "long" if metafunc.config.getoption("--long") else "short"
        metafunc.parametrize("seed", range(marker.kwargs[form]))


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Count:
    """`count('kill -9 of a worker')`, or with how many: what a test tried, for the table at the end."""

    def add(what: str, tried: int = 1) -> None:
        record_property("chaos", (what, tried))

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was tried, and how much of it was in tests that failed."""
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for what, number in [v for n, v in getattr(report, "user_properties", []) if n == "chaos"]:
                tried[what] += number
                failed[what] += number * (outcome == "failed")
    if tried:
        terminalreporter.section("chaos: what was tried")
        for what, number in sorted(tried.items()):
            terminalreporter.line(f"{number:6d} {what}, {failed[what]} failed")
