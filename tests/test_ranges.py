"""Every number that a component can be told makes sense, or is refused in a sentence, before anything is computed."""

import inspect
import math
import resource
from collections.abc import Callable
from typing import Any

import pytest

from gredkit import GraphSpec, GREDLayer, ranges
from gredkit.config.configuration import SETTINGS
from gredkit.data.hops.index import check_K
from gredkit.errors import UserError
from gredkit.registry import REGISTRIES

SPEC = GraphSpec(nodes=(3,), outputs=2)
DIMENSIONS: dict[str, Any] = {"dim": 8, "columns": (3,), "spec": SPEC, "jobs": 1}
SMALL = {"graphs": 20, "lines": 20}  # datasets that are soon made
REAL = {"features.dense": {"columns": 3}}  # reads numbers, not categories
ODD = (-1, 0, math.nan, math.inf, -math.inf, 10**30, 10**5000, 1e300, "seven", "", None, True, [1], 2.5)
NUMBERS = (int, float, "int", "float", "int | None", "float | None", int | None, float | None)
NETWORK = ("tu", "nci1", "proteins")  # a fold that makes sense is looked for in files that have to be downloaded


def is_number(parameter: inspect.Parameter) -> bool:
    return parameter.annotation in NUMBERS


def parameters() -> list[Any]:
    """Every numeric parameter of every component, of the settings, and of the layer."""
    owners: dict[str, Callable[..., Any]] = {
        f"{plural}.{name}": component for plural, registry in REGISTRIES.items() for name, component in registry.items()
    }
    owners |= {name: owner for name, owner in SETTINGS.items() if name != "variant"} | {"layer": GREDLayer}
    return [
        pytest.param(owner, name, component, id=f"{owner}.{name}")
        for owner, component in owners.items()
        for name, parameter in inspect.signature(component).parameters.items()
        if is_number(parameter) and owner.partition(".")[2] not in NETWORK
    ]


@pytest.fixture
def little_memory():
    """What would take much memory fails at once, and as something else than a `UserError`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize(("owner", "name", "component"), parameters())
def test_a_number_is_taken_or_refused_in_a_sentence(owner, name, component, little_memory):
    known = inspect.signature(component).parameters
    needed = {key: value for key, value in (DIMENSIONS | SMALL | REAL.get(owner, {})).items() if key in known}
    sentences = []
    for value in (odd for odd in ODD if odd != known[name].default):
        try:
            component(**{**needed, name: value})
        except UserError as error:
            sentences.append(str(error))
    assert all(len(sentence.splitlines()) == 1 and len(sentence) < 500 for sentence in sentences)
    if name != "dim" and owner != "trial":  # what no component multiplies with may be as wide as it likes
        assert len(sentences) >= 5


def test_walks_what_there_is():
    walked = {parameter.id for parameter in parameters()}
    assert {"encoders.lru.r_min", "aggregators.attention.heads", "datasets.tree_match.depth", "fit.epochs"} <= walked
    assert len(walked) > 60


def test_K_is_a_number_of_hops():
    for value in ODD:
        if value not in (0, None):
            with pytest.raises(UserError, match="K counts hops"):
                check_K(value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"nodes": -1, "outputs": 2}, "nodes is a whole number"),
        ({"nodes": (0,), "outputs": 2}, "a vocabulary of nodes"),
        ({"nodes": 1, "outputs": 0}, "outputs is a whole number"),
        ({"nodes": 1, "outputs": 2, "edges": (10**30,)}, "a vocabulary of edges"),
    ],
)
def test_what_graphs_carry(settings, said):
    with pytest.raises(UserError, match=said):
        GraphSpec(**settings)


def test_a_sentence_stays_short():
    assert ranges.said("x" * 1000) == f"'{'x' * 49} …"
    assert ranges.said(10**5000) == "a number of thousands of digits"
    assert ranges.said([1, "a\nb"]) == "[1, 'a\\nb']"
