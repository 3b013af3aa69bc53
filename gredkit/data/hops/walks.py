"""The steps that a walk can take, and how long walks can get."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch_geometric.data import Data

from gredkit.data.hops.index import HopData, check_K, links, profile_of
from gredkit.data.structures import Arrays, Structure
from gredkit.errors import UserError


@dataclass(frozen=True)
class Walks(Structure):
    """Every step of a walk, an edge with its direction, and the number of places in each node's sequence.

    Edges count as undirected; self-loops and repeated edges have no effect.

    K: the number of steps of the longest walk
    backtrack: whether a walk may go back to where it has just been
    """

    K: int | None
    backtrack: bool
    key: ClassVar[str] = "walks"

    def __post_init__(self) -> None:
        check_K(self.K)
        if self.K is None:
            raise UserError("walks have no end as distances have: set trial.K to a number, or to 'dataset'")

    def compute(self, graph: Data) -> Arrays:
        num_nodes, pairs = links(graph)
        steps = np.concatenate([pairs, pairs[:, ::-1]])
        steps = steps[np.lexsort((steps[:, 1], steps[:, 0]))]
        assert self.K is not None
        length = _lengths(steps, num_nodes, self.K, self.backtrack)
        return {"step": steps.astype(np.int32), "length": length.astype(np.int32)}

    def attach(self, graph: Data, arrays: Arrays) -> HopData:
        """hop_step_index [2, steps] is ordered by start, then by end; the rest is as in `HopData`."""
        hops = HopData()
        hops._store._mapping.update(
            graph.to_dict(),
            hop_step_index=torch.from_numpy(arrays["step"]).T.long(),
            hop_seq_length=torch.from_numpy(arrays["length"]),
            hop_K=torch.tensor([self.K]),
            hop_profile=profile_of(arrays["length"], self.K),  # type: ignore[arg-type]
        )
        return hops

    def settings(self) -> dict[str, Any]:
        return {"K": self.K, "backtrack": self.backtrack}


def _lengths(steps: np.ndarray, num_nodes: int, K: int, backtrack: bool) -> np.ndarray:
    """1 + the number of steps, at most K, of the longest walk from each node. Shape: [steps, 2] -> [nodes]"""
    start, end = steps.T
    back = np.lexsort((start, end))  # the steps ordered by end: the same steps in the other direction
    length = np.ones(num_nodes, np.int64)
    goes_on = np.ones(len(steps), bool)  # whether a walk of k steps can begin with this one
    for k in range(1, K + 1):
        length[start[goes_on]] = k + 1
        ways = np.bincount(start[goes_on], minlength=num_nodes)[end]
        longer = ways > 0 if backtrack else ways - goes_on[back] > 0
        if np.array_equal(longer, goes_on):  # no walk that is still going will end
            length[start[goes_on]] = K + 1
            break
        goes_on = longer
    return length
