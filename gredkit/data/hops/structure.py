"""The hop index as a structure that a model can ask for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch_geometric.data import Data

from gredkit.data.hops.index import HopArrays, HopData, attach_hops, check_K, cut_arrays, hop_arrays
from gredkit.data.structures import Arrays, Structure

ALL = "all"  # in place of the number: up to the diameter of each graph


@dataclass(frozen=True)
class Hops(Structure):
    """The hop sets of each node up to distance K; None stands for the diameter of each graph."""

    K: int | None
    key: ClassVar[str] = "hops"

    def __post_init__(self) -> None:
        check_K(self.K)

    def compute(self, graph: Data) -> Arrays:
        return hop_arrays(graph, self.K)._asdict()

    def attach(self, graph: Data, arrays: Arrays) -> HopData:
        return attach_hops(graph, HopArrays(**arrays), self.K)

    def settings(self) -> dict[str, Any]:
        return {"K": self.K}

    @property
    def label(self) -> str:
        return f"K{ALL if self.K is None else self.K}"

    def cut_from(self, label: str) -> Callable[[Arrays], Arrays] | None:
        """An index that reaches farther contains this one."""
        K, reach = self.K, label[1:]
        if K is None or not (reach == ALL or (reach.isdecimal() and int(reach) > K)):
            return None
        return lambda arrays: cut_arrays(HopArrays(**arrays), K)._asdict()


class DirectedHops(Hops):
    """The hop sets along the edges: hop k of a node has those nodes from which k steps, and no fewer, lead to it."""

    key: ClassVar[str] = "directed_hops"

    def compute(self, graph: Data) -> Arrays:
        return hop_arrays(graph, self.K, directed=True)._asdict()
