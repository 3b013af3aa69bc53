"""What a study and a trial can be told: the classes behind gin's `study`, `trial` and `variant`."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from gredkit import ranges
from gredkit.errors import UserError

COMBINATIONS = ("grid", "zip", "one_at_a_time")
Bindings = Mapping[str, Any]  # gin bindings or macros, by name
Style = Callable[[str, Any], str]  # a label of a binding and its value
NAME = re.compile(r"\w[\w .-]{0,99}")  # of a study: it is a folder, too


@dataclass(frozen=True)
class Point:
    """One variant of a study: its label and what it binds."""

    label: str
    bindings: Bindings


@dataclass(frozen=True)
class TrialSettings:
    """What a trial trains on, and for what.

    dataset: a name in the registry
    K: the last hop that is read; None is each graph's own diameter
    loss: what training minimises, a name in the registry of losses; None is the dataset's own
    metric: what is reported and chosen by, a name in the registry of metrics; None is the dataset's own
    """

    dataset: str = "ring_transfer"
    K: int | Literal["dataset"] | None = None
    loss: str | None = None
    metric: str | None = None


@dataclass(frozen=True)
class Variant:
    """The names of a model and its parts; a part that the model's constructor does not ask for has no effect.

    `features=None` is `categorical` or `dense`, as the nodes' columns are; `edge_features=None` reads no edges.
    """

    model: str = "gred"
    features: str | None = None
    edge_features: str | None = None
    positional: str = "none"
    aggregator: str = "sum"
    encoder: str = "lru"


@dataclass(frozen=True)
class Study:
    """Axes, and how they combine; datasets and seeds; how the comparison is made fair.

    An axis is any gin binding or macro with a list of values. `combine` is 'grid' (every combination), 'zip' (the
    first values together, then the second, …) or 'one_at_a_time' (what the files say, then each value alone).
    `variants` are named bundles of bindings; with axes beside them, each is combined with each point.
    `match_params` gives each variant as many parameters as the first one has (True), or a number of them.
    `tune` is a grid of bindings that each variant searches with `tune_seeds`; validation chooses.
    A study of more than `most_trials` is taken for a mistake.
    """

    name: str | None = None
    datasets: Sequence[str] | None = None
    budget: str | None = None
    seeds: Sequence[int] = (0, 1, 2)
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    combine: str = "grid"
    variants: Mapping[str, Bindings] = field(default_factory=dict)
    match_params: bool | int = False
    tune: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    tune_seeds: Sequence[int] = (0,)
    most_trials: int = 10_000

    def __post_init__(self) -> None:
        ranges.one_of("study.combine", self.combine, COMBINATIONS)
        ranges.whole("study.most_trials", self.most_trials, 1, 10**9)
        if not isinstance(self.match_params, bool):
            ranges.whole("study.match_params, a number of parameters or True,", self.match_params, 0, 10**10)
        for name, seeds in (("seeds", self.seeds), ("tune_seeds", self.tune_seeds)):
            if not seeds or len(set(seeds)) < len(seeds):
                raise UserError(f"study.{name} needs at least one seed, and none twice, not {seeds!r}")
            for seed in seeds:
                ranges.seed(seed, f"a seed of study.{name}")
        if isinstance(self.datasets, str) or (self.datasets is not None and not self.datasets):
            hint = f": write ({self.datasets!r},)" if isinstance(self.datasets, str) else ""
            raise UserError(f"study.datasets is a list with at least one name, not {self.datasets!r}{hint}")
        if self.name is not None and not NAME.fullmatch(self.name):
            raise UserError(f"a study's name is made of letters, digits, '.', '-', '_' and blanks, not {self.name!r}")
        for axis, values in (*self.axes.items(), *self.tune.items()):
            if isinstance(values, str) or not values:
                raise UserError(f"the axis {axis!r} needs a list of values, not {values!r}")
        if self.combine == "zip" and len({len(values) for values in self.axes.values()}) > 1:
            lengths = ", ".join(f"{axis} {len(values)}" for axis, values in self.axes.items())
            raise UserError(f"axes that are paired need equally many values: {lengths}")

    def check_size(self, datasets: int) -> None:
        """Whether there are no more trials than were thought of; they are counted without being made."""
        lengths = [len(values) for values in self.axes.values()]
        if self.combine == "grid":
            points = math.prod(lengths)
        else:
            points = max(lengths, default=1) if self.combine == "zip" else 1 + sum(lengths)
        points *= max(len(self.variants), 1)
        searched = math.prod(map(len, self.tune.values())) * len(self.tune_seeds) if self.tune else 0
        trials = points * datasets * (len(self.seeds) + searched)
        if trials > self.most_trials:
            raise UserError(
                f"the study has {points:,} variants and {trials:,} trials in all: take values out of its axes, or set "
                f"study.most_trials = {trials}"
            )

    def points(self) -> list[Point]:
        """Every variant, the base first; the labels are as short as tells them apart."""
        for style in (_short, _named, _full):
            points = self._points(style)
            if len({point.label for point in points}) == len({str(point.bindings) for point in points}):
                break
        return points

    def tuning_points(self) -> list[Point]:
        """The grid that every variant searches."""
        return [_point(zip(self.tune, values, strict=True), _full) for values in product(*self.tune.values())]

    def _points(self, style: Style) -> list[Point]:
        named = [Point(name, bindings) for name, bindings in self.variants.items()] or [Point("", {})]
        both = [(variant, point) for variant in named for point in self._points_of_axes(style)]
        return [
            Point(", ".join(filter(None, (a.label, b.label))) or "base", {**a.bindings, **b.bindings}) for a, b in both
        ]

    def _points_of_axes(self, style: Style) -> list[Point]:
        axes = self.axes
        if self.combine == "grid":
            return [_point(zip(axes, values, strict=True), style) for values in product(*axes.values())]
        if self.combine == "zip" and axes:
            return [_point(zip(axes, values, strict=True), style) for values in zip(*axes.values(), strict=True)]
        # One at a time; without axes that is what the files say.
        alone = (_point([(axis, value)], style) for axis, values in axes.items() for value in values)
        return [Point("", {}), *alone]


def _point(bindings: Iterable[tuple[str, Any]], style: Style) -> Point:
    chosen = dict(bindings)
    return Point(", ".join(style(name, value) for name, value in chosen.items()), chosen)


def _short(binding: str, value: Any) -> str:
    """Of a component its own name."""
    return value if binding.startswith("variant.") and isinstance(value, str) else _named(binding, value)


def _named(binding: str, value: Any) -> str:
    return _full(binding.rpartition(".")[2], value)


def _full(binding: str, value: Any) -> str:
    is_diameter = value is None and binding.rpartition(".")[2] == "K"
    return f"{binding}={'diameter' if is_diameter else value}"
