"""The one Registry class; every kind of component is an instance of it."""

import dataclasses
import difflib
import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gredkit.errors import UserError
from gredkit.imports import module_that_registers

Component = Callable[..., Any]
C = TypeVar("C", bound=Component)


class DuplicateName(UserError):
    """A name was registered twice."""


class UnknownName(UserError, KeyError):
    """A name that is not registered."""

    def __str__(self) -> str:  # KeyError would show the sentence in quotes
        return str(self.args[0])


class Registry(Mapping[str, Component]):
    """Short names for the components of one kind.

    A decorator line above a component registers it. The modules in the package `home` are imported at the first
    look-up, so a new file there is found and no list has to be changed.
    """

    def __init__(self, kind: str, plural: str, home: str):
        self.kind, self.plural, self.home = kind, plural, home
        self._entries: dict[str, Component] = {}
        self._loaded = self._loading = False

    def register(self, name: str) -> Callable[[C], C]:
        """Decorator: make a class (or function) known under a short name."""

        def add(component: C) -> C:
            if not component.__module__.startswith(self.home):
                self._load()  # so that gredkit's own names are taken first
            owner = self._entries.get(name)
            if owner is not None and _where(owner) != _where(component):
                raise DuplicateName(
                    f"{self.kind} {name!r} of {_where(component)} is already registered by {_where(owner)}; "
                    f"choose another name"
                )
            self._entries[name] = component
            return component

        return add

    def resolve(self, component: str | Component) -> Component:
        """The component with this name; a class or function is returned as it is."""
        return self[component] if isinstance(component, str) else component

    def __getitem__(self, name: str) -> Component:
        self._load()
        if name not in self._entries:
            if module := module_that_registers(self.plural.upper(), name):
                said = f"the module {module!r} in this folder registers it: add --import {module}"
                raise UnknownName(f"unknown {self.kind} {name!r}: {said}")
            near = difflib.get_close_matches(name, self._entries, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            known = ", ".join(self) or "none yet"
            raise UnknownName(f"unknown {self.kind} {name!r}: {hint}known {self.plural}: {known}")
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        self._load()
        return len(self._entries)

    # A registry equals only itself: a mapping would compare all entries, at every `registry in …`.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Registry({self.plural}: {', '.join(self)})"

    def _load(self) -> None:
        if self._loaded or self._loading:
            return
        self._loading = True
        try:
            package = importlib.import_module(self.home)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self.home}.{module.name}")
            self._loaded = True
        finally:
            self._loading = False


class ObjectiveRegistry(Registry):
    """Losses: functions or classes of outputs and targets, which say for which kinds of tasks they are."""

    def __init__(self, kind: str, plural: str, home: str):
        super().__init__(kind, plural, home)
        self._tasks: dict[str, tuple[str, ...]] = {}

    def register(self, name: str, tasks: Sequence[str] = ()) -> Callable[[C], C]:
        """Decorator: `tasks` are the kinds of tasks that it fits; all of them if none is named."""
        add = super().register(name)

        def remember(component: C) -> C:
            add(component)
            self._tasks[name] = tuple(tasks)
            return component

        return remember

    def fits(self, name: str, task: str) -> bool:
        """Whether it is made for a kind of task."""
        self._load()
        return not self._tasks[name] or task in self._tasks[name]


class MetricRegistry(ObjectiveRegistry):
    """Metrics, which also say what reports call them, whether a larger score is better, and between which scores.

    This is the only place that describes a metric.
    """

    def __init__(self, kind: str, plural: str, home: str):
        super().__init__(kind, plural, home)
        self._labels: dict[str, str] = {}
        self._larger_is_better: dict[str, bool] = {}
        self._ranges: dict[str, tuple[float, float] | None] = {}

    def register(
        self,
        name: str,
        tasks: Sequence[str] = (),
        label: str = "",
        larger_is_better: bool | None = None,
        range: tuple[float, float] | None = None,
    ) -> Callable[[C], C]:
        """Decorator: `label` is for readers, by default the name; `larger_is_better` has no default.

        range: the lowest and the highest score that outputs can have if they are of any use; None if there is no such
            limit, as for errors. 1 % of it is by default the difference that does not matter.
        """
        if larger_is_better is None:
            raise UserError(
                f"say whether a larger {name} is better: @METRICS.register({name!r}, larger_is_better=True) or False"
            )
        if range is not None and not (len(range) == 2 and range[0] < range[1] and math.isfinite(range[1] - range[0])):
            raise UserError(f"the range of the metric {name} is {range}: give its lowest and its highest score")
        add = super().register(name, tasks)

        def remember(component: C) -> C:
            add(component)
            self._ranges[name] = range
            self._labels[name], self._larger_is_better[name] = label or _in_words(name), larger_is_better
            return component

        return remember

    def label(self, name: str) -> str:
        """What readers call a metric; one that is not registered, of an older study, keeps its name."""
        self._load()
        return self._labels.get(name) or _in_words(name)

    def larger_is_better(self, name: str) -> bool:
        self._load()
        return self._larger_is_better[name]

    def range(self, name: str) -> tuple[float, float] | None:
        """The lowest and the highest score; None if there is no limit, or if the metric is not registered."""
        self._load()
        return self._ranges.get(name)


def _in_words(name: str) -> str:
    return name.replace("_", " ")


def _where(component: Component) -> str:
    return f"{component.__module__}.{component.__qualname__}"


def describe(component: Component) -> str:
    """The first line of a component's docstring, to the end of its last sentence, and without the shapes."""
    first, *others = (inspect.getdoc(component) or "").partition("\n\n")[0].splitlines() or [""]
    while others and not first.endswith("."):
        first = f"{first} {others.pop(0)}"
        end = first.find(". ")
        first = first[: end + 1] if end >= 0 else first
    return first.partition(" Shape: ")[0]


def hyperparameters(component: Component) -> dict[str, Any]:
    """The parameters that a user may set, with their defaults. Sizes that code passes have no default."""
    if dataclasses.is_dataclass(component):
        fields = dataclasses.fields(component)
        return {f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory() for f in fields}
    parameters = inspect.signature(component).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


AGGREGATORS = Registry("aggregator", "aggregators", "gredkit.nn.aggregators")
ENCODERS = Registry("encoder", "encoders", "gredkit.nn.encoders")
SEQUENCES = Registry("sequence extractor", "sequences", "gredkit.nn.sequences")
POSITIONAL = Registry("positional encoding", "positional", "gredkit.nn.positional")
FEATURES = Registry("feature encoder", "features", "gredkit.nn.features")
MODELS = Registry("model", "models", "gredkit.nn.models")
DATASETS = Registry("dataset", "datasets", "gredkit.data.datasets")
LOSSES = ObjectiveRegistry("loss", "losses", "gredkit.data.losses")
METRICS = MetricRegistry("metric", "metrics", "gredkit.data.metrics")
LAUNCHERS = Registry("launcher", "launchers", "gredkit.ablation.launchers")
REPORTS = Registry("report", "reports", "gredkit.reports.generators")
FIGURES = Registry("figure", "figures", "gredkit.reports.figures")

CONFIGURED: dict[str, Registry] = {  # what gin files can set
    registry.plural: registry
    for registry in (
        *(AGGREGATORS, ENCODERS, SEQUENCES, POSITIONAL, FEATURES, MODELS, DATASETS),
        *(LOSSES, METRICS, LAUNCHERS),
    )
}
REGISTRIES = {**CONFIGURED, REPORTS.plural: REPORTS, FIGURES.plural: FIGURES}
