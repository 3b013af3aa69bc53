"""What a study and a trial can be told: the classes behind gin's `study`, `trial` and `variant`."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from gredkit import ranges
from gredkit.config.axes import Bindings, Conditions, check_conditions, grid, one_at_a_time, pairs
from gredkit.config.fractions import basic, check_switches, columns_of, fraction
from gredkit.config.looks import FIRST, UNTIL_DECIDED, looks_until
from gredkit.errors import UserError

COMBINATIONS = {"grid": grid, "zip": pairs, "one_at_a_time": one_at_a_time}
BASE, ALL = "base", "all"  # with which variants each one is compared
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
    sequence: str = "hops"


@dataclass(frozen=True)
class Study:
    """Axes, and how they combine; datasets and seeds; how the comparison is made fair.

    An axis is any gin binding or macro with a list of values. `combine` is 'grid' (every combination), 'zip' (the
    first values together, then the second, …), 'one_at_a_time' (what the files say, then each value alone) or
    'fraction': of axes of two values, the smallest fraction of all combinations that has the `resolution` (3 to 5).
    `only` says where an axis applies: {'encoders.lru.mode': {'variant.encoder': ('lru',)}} varies the mode of lru and
    leaves the other encoders alone. The condition is about another axis or a binding of the variants.
    `variants` are named bundles of bindings; with axes beside them, each is combined with each point. 'include' in the
    place of a binding reads a gin file: {'GCN': {'include': 'gin/models/zinc/gcn.gin'}}.
    `match_params` gives each variant as many parameters as the first one has (True), or a number of them.
    `seeds` is a list, or 'until_decided': rounds of 5, 8 and 12 seeds (half as many again, up to `most_seeds`), and the
    later ones only for variants whose comparison is still open.
    `tune` is a grid of bindings that each variant searches with `tune_seeds`; validation chooses.
    `replicates` are bindings that repeat a variant beside seeds, such as the folds of a dataset: {'FOLD': (0, 1, 2)}.
    `margin` is how small a difference of the test score does not matter, one number or one per metric; None is 1 % of
    the metric's range, or of the base's mean. `compare` is 'base' (each variant with the first one) or 'all' (pairs).
    A study of more than `most_trials` is taken for a mistake.
    """

    name: str | None = None
    datasets: Sequence[str] | None = None
    budget: str | None = None
    seeds: Sequence[int] | Literal["until_decided"] = (0, 1, 2)
    most_seeds: int = 12
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    combine: str = "grid"
    resolution: int = 4
    only: Conditions = field(default_factory=dict)
    variants: Mapping[str, Bindings] = field(default_factory=dict)
    match_params: bool | int = False
    tune: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    tune_seeds: Sequence[int] = (0,)
    replicates: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    margin: float | Mapping[str, float] | None = None
    compare: str = BASE
    most_trials: int = 10_000

    def __post_init__(self) -> None:
        ranges.one_of("study.combine", self.combine, (*COMBINATIONS, "fraction"))
        ranges.whole("study.resolution", self.resolution, 3, 5)
        ranges.one_of("study.compare", self.compare, (BASE, ALL))
        for name, margin in (self.margin if isinstance(self.margin, Mapping) else {"": self.margin}).items():
            if margin is not None:
                ranges.positive(f"study.margin[{name!r}]" if name else "study.margin", margin)
        ranges.whole("study.most_trials", self.most_trials, 1, 10**9)
        if not isinstance(self.match_params, bool):
            ranges.whole("study.match_params, a number of parameters or True,", self.match_params, 0, 10**10)
        ranges.whole("study.most_seeds", self.most_seeds, FIRST, 10_000)
        if isinstance(self.seeds, str):
            ranges.one_of("study.seeds", self.seeds, (UNTIL_DECIDED,))
        for name, seeds in (("seeds", self.every_seed), ("tune_seeds", self.tune_seeds)):
            if not seeds or len(set(seeds)) < len(seeds):
                raise UserError(f"study.{name} needs at least one seed, and none twice, not {seeds!r}")
            for seed in seeds:
                ranges.seed(seed, f"a seed of study.{name}")
        if isinstance(self.datasets, str) or (self.datasets is not None and not self.datasets):
            hint = f": write ({self.datasets!r},)" if isinstance(self.datasets, str) else ""
            raise UserError(f"study.datasets is a list with at least one name, not {self.datasets!r}{hint}")
        if self.name is not None and not NAME.fullmatch(self.name):
            raise UserError(f"a study's name is made of letters, digits, '.', '-', '_' and blanks, not {self.name!r}")
        for axis, values in (*self.axes.items(), *self.tune.items(), *self.replicates.items()):
            if isinstance(values, str) or not values:
                raise UserError(f"the axis {axis!r} needs a list of values, not {values!r}")
            if axis in self.replicates and (axis in self.axes or axis in self.tune):
                raise UserError(f"{axis!r} is an axis and in study.replicates: it is either compared or averaged over")
        if self.combine == "zip" and len({len(values) for values in self.axes.values()}) > 1:
            lengths = ", ".join(f"{axis} {len(values)}" for axis, values in self.axes.items())
            raise UserError(f"axes that are paired need equally many values: {lengths}")
        if self.combine == "fraction":
            check_switches(self.axes, self.only, tuple(self.variants))
        check_conditions(self.only, self.axes, self.tune, self.variants.values(), self.combine == "one_at_a_time")

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of seeds after which open comparisons get more; none if the seeds are a list."""
        return looks_until(self.most_seeds) if self.seeds == UNTIL_DECIDED else ()

    @property
    def every_seed(self) -> Sequence[int]:
        """All seeds that a variant may be trained with."""
        return range(self.most_seeds) if isinstance(self.seeds, str) else self.seeds

    def check_size(self, datasets: int) -> None:
        """Raise if there are more trials than `most_trials`; they are counted without being made."""
        datasets *= math.prod(map(len, self.replicates.values()))
        points, trials = self._counted(datasets) if self.only else self._computed(datasets)
        if trials > self.most_trials:
            least = "at least " if self.only else ""  # counting ended there
            raise UserError(
                f"the study has {least}{points:,} variants and {trials:,} trials in all: take values out of its axes, "
                f"or set study.most_trials = {trials if not self.only else 'a larger number'}"
            )

    def points(self) -> list[Point]:
        """Every variant, the base first; the labels are as short as tells them apart."""
        found = list(self._bound())
        for style in (_short, _named, _full):
            points = [
                Point(_label(name, axes, style) or "base", {**self.variants.get(name, {}), **axes})
                for name, axes in found
            ]
            if len({point.label for point in points}) == len({str(point.bindings) for point in points}):
                break
        return points

    def repeated(self) -> list[Point]:
        """The replicates of each variant beside its seeds; one that binds nothing if there are none."""
        return [Point(_label("", found, _named), found) for found in grid(self.replicates, {}, {})]

    def margin_of(self, metric: str) -> float | None:
        """The margin that the study sets for a metric."""
        return self.margin.get(metric) if isinstance(self.margin, Mapping) else self.margin

    def tuning_points(self, variant: Bindings) -> list[Point]:
        """The grid that a variant searches."""
        return [Point(_label("", found, _full), found) for found in grid(self.tune, self.only, variant)]

    def _bound(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each named variant ("" if there are none) with each combination of the axes."""
        if self.combine == "fraction" and self.axes:
            yield from (("", axes) for axes in fraction(self.axes, self.resolution))
            return
        for name in self.variants or ("",):
            combined = COMBINATIONS[self.combine if self.axes else "one_at_a_time"]
            yield from ((name, axes) for axes in combined(self.axes, self.only, self.variants.get(name, {})))

    def _computed(self, datasets: int) -> tuple[int, int]:
        """Variants and trials, if no axis has a condition."""
        lengths = [len(values) for values in self.axes.values()]
        if self.combine == "grid":
            points = math.prod(lengths)
        elif self.combine == "fraction":
            points = 2 ** basic(columns_of(len(self.axes), self.resolution))
        else:
            points = max(lengths, default=1) if self.combine == "zip" else 1 + sum(lengths)
        points *= max(len(self.variants), 1)
        searched = math.prod(map(len, self.tune.values())) * len(self.tune_seeds) if self.tune else 0
        return points, points * datasets * (len(self.every_seed) + searched)

    def _counted(self, datasets: int) -> tuple[int, int]:
        """Variants and trials, one by one, until there are too many."""
        points = trials = 0
        for name, axes in self._bound():
            bound = {**self.variants.get(name, {}), **axes}
            tried = islice(grid(self.tune, self.only, bound) if self.tune else (), self.most_trials + 1)
            points += 1
            trials += datasets * (len(self.every_seed) + sum(1 for _ in tried) * len(self.tune_seeds))
            if trials > self.most_trials:
                break
        return points, trials


def _label(variant: str, bindings: Bindings, style: Style) -> str:
    return ", ".join(filter(None, (variant, *(style(name, value) for name, value in bindings.items()))))


def _short(binding: str, value: Any) -> str:
    """Of a component its own name."""
    return value if binding.startswith("variant.") and isinstance(value, str) else _named(binding, value)


def _named(binding: str, value: Any) -> str:
    return _full(binding.rpartition(".")[2], value)


def _full(binding: str, value: Any) -> str:
    is_diameter = value is None and binding.rpartition(".")[2] == "K"
    return f"{binding}={'diameter' if is_diameter else value}"
