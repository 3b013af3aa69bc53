from collections.abc import Iterator

from torch import Tensor

from gredkit.data.hops.walks import Walks
from gredkit.data.structures import Structure
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.sequences.walks import WalkSequence, degrees
from gredkit.registry import SEQUENCES


@SEQUENCES.register("non_backtracking")
class NonBacktracking(WalkSequence):
    """The mean over random walks of k steps that never go back to where they have just been.

    Place k of node v has Σ_w m_k(v→w) / d_v with m_1(v→w) = h_w and m_k(v→w) = Σ_{x≠v} m_{k-1}(w→x) / (d_w - 1), which
    is Hashimoto's matrix of steps, normalised. In a node without another neighbour a walk ends, and adds nothing to
    later places. On a tree the walks of k steps lead to the nodes at distance k. Needs the aggregator 'sum' and a
    number K.
    Shape: batch -> the index of its sequences
    """

    def needs(self, K: int | None) -> list[Structure]:
        return [Walks(K, backtrack=False)]

    def walk(self, h: Tensor, hops: HopIndex) -> Iterator[Tensor]:
        degree = degrees(h, hops)
        others = hops.step_end.sum(degree - 1).clamp(min=1)
        message = hops.step_end.sum(h)
        while True:
            onwards = hops.steps_from.sum(message)
            yield onwards / degree.clamp(min=1)
            message = (hops.step_end.sum(onwards) - hops.step_back.sum(message)) / others
