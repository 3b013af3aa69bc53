"""A trial as plain data, from which any process can train it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from gredkit.config.configuration import Configuration
from gredkit.config.source import Source


@dataclass(frozen=True)
class Trial:
    """One training run: a variant on a dataset with a seed, as gin describes it.

    `id`, `settings` and the fields after them are filled in by `resolve`.
    """

    study: str
    variant: str
    dataset: str
    seed: int
    source: Source
    entry: str | None = None  # the entry of DATASETS
    budget: str | None = None
    point: tuple[str, ...] = ()  # the gin bindings of the variant
    axes: Mapping[str, Any] = field(default_factory=dict)  # the values that define the variant
    role: str = "final"  # or 'tune', for a trial that only chooses hyper-parameters
    tuning: str = ""  # the point of the tuning grid
    replicate: str = ""  # what repeats the variant beside the seed, such as a fold
    id: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    parameters: int = 0
    metric: str = ""
    larger_is_better: bool = True
    diameters: tuple[float, float] | None = None  # median and largest, of a sample of the graphs
    data: Mapping[str, Any] = field(default_factory=dict)  # 'digest' of graphs and splits; 'sizes' of the splits
    compared: Mapping[str, Any] = field(default_factory=dict)  # columns that tell a report how to compare it

    @property
    def repetition(self) -> str:
        """Which one of the trials of a variant this is: `seed 0`, or `FOLD=1, seed 0`."""
        return f"{self.replicate}, seed {self.seed}" if self.replicate else f"seed {self.seed}"

    def configuration(self) -> Configuration:
        """The configuration that gin describes for this trial."""
        return self.source.load(self.entry, self.budget, self.point)

    def to_dict(self) -> dict[str, Any]:
        """The trial as values that JSON can store."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Trial":
        source = Source(**{key: tuple(value) for key, value in stored["source"].items()})
        diameters = tuple(stored["diameters"]) if stored.get("diameters") else None
        return cls(**{**stored, "source": source, "point": tuple(stored["point"]), "diameters": diameters})
