"""The interface of a sequence extractor."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import nn
from torch_geometric.data import Data

from gredkit.data.structures import Structure
from gredkit.nn.hop_index import HopIndex

Builder = Callable[[int], nn.Module]  # makes a module for rows of a width


class SequenceExtractor(nn.Module, ABC):
    """Says what stands at place k of a node's sequence, for k = 0 (the node itself) to K.

    `needs` is computed once per graph and kept in the cache; `forward` reads it from a batch.
    Shape: batch -> the index of its sequences
    """

    @abstractmethod
    def needs(self, K: int | None) -> list[Structure]:
        """What each graph must carry so that sequences can reach place K; None is the diameter of each graph."""

    @abstractmethod
    def forward(self, batch: Data) -> HopIndex: ...

    def aggregator(self, build: Builder) -> Builder:
        """What the layers have as their aggregator; most extractors leave it as it is."""
        return build
