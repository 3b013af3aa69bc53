"""What a model needs prepared for each graph: the one interface between models and the cache."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import xxhash
from torch_geometric.data import Data

Arrays = Mapping[str, np.ndarray]  # what is stored of one graph


class Structure(ABC):
    """Something that depends on the graph alone: computed once per graph, kept in the cache, attached to the graph.

    A model lists the structures that it reads in its method `needs`. `key` names the structure in the cache; an empty
    key says that there is nothing to compute. Every graph must give arrays of the same names.
    """

    key: ClassVar[str]

    @abstractmethod
    def compute(self, graph: Data) -> Arrays:
        """The arrays of one graph; the first axis of each may differ in length from graph to graph."""

    @abstractmethod
    def attach(self, graph: Data, arrays: Arrays) -> Data:
        """The graph with these arrays; either `graph` itself or a copy that shares its tensors."""

    def settings(self) -> dict[str, Any]:
        """What the arrays depend on beside the graph, as JSON can keep it."""
        return {}

    @property
    def label(self) -> str:
        """What tells its entries in the cache apart: a short text that follows from the settings."""
        return xxhash.xxh3_64_hexdigest(json.dumps(self.settings(), sort_keys=True).encode())

    def cut_from(self, label: str) -> Callable[[Arrays], Arrays] | None:
        """A function that takes the arrays out of those with another label, if these contain them."""
        return None

    def add_to(self, graph: Data) -> Data:
        """Compute and attach, without the cache."""
        return self.attach(graph, self.compute(graph))
