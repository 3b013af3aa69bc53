"""What gin's files and bindings say, as plain data: nothing here reads gin."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from gredkit.config.study import Study, TrialSettings, Variant
from gredkit.data.task import GraphSpec
from gredkit.nn.composition import PARTS, Composition, Part, wanted_parts
from gredkit.nn.features.base import usual_features
from gredkit.registry import MODELS, Registry, hyperparameters
from gredkit.training.recipe import Recipe

SETTINGS: dict[str, Callable[..., Any]] = {  # what can be configured beside the components of the registries
    "study": Study,
    "trial": TrialSettings,
    "fit": Recipe,
    "variant": Variant,
}


@dataclass(frozen=True)
class Configuration:
    """All that is bound, by the name of what it configures: 'study', 'fit', 'encoders.lru', …."""

    values: Mapping[str, Mapping[str, Any]]

    @cached_property
    def study(self) -> Study:
        return Study(**self.values["study"])

    @cached_property
    def trial(self) -> TrialSettings:
        return TrialSettings(**self.values["trial"])

    @cached_property
    def recipe(self) -> Recipe:
        return Recipe(**self.values["fit"])

    @cached_property
    def variant(self) -> Variant:
        return Variant(**self.values["variant"])

    def settings(self, registry: Registry, name: str) -> dict[str, Any]:
        """All settings of a component: what is bound, and its own defaults for the rest."""
        component = registry[name]  # an unknown name raises with the nearest matches
        return hyperparameters(component) | dict(self.values.get(f"{registry.plural}.{name}", {}))

    def component(self, registry: Registry, name: str) -> Any:
        """A component with its settings, to be called; the class itself stays as it is."""
        return partial(registry[name], **self.settings(registry, name))

    def composition(self, spec: GraphSpec) -> Composition:
        """The model for graphs of a kind, with the parts that its constructor asks for."""
        names = vars(self.variant) | {"features": self.variant.features or usual_features(spec.nodes)}
        model = names["model"]
        parts = {
            kind: Part(names[kind], self.settings(PARTS[kind], names[kind])) if names[kind] else None
            for kind in wanted_parts(MODELS[model])
        }
        own = {key: value for key, value in self.settings(MODELS, model).items() if key not in PARTS}
        return Composition(Part(model, own), parts)
