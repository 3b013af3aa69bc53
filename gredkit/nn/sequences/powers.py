from collections.abc import Iterator

from torch import Tensor

from gredkit import ranges
from gredkit.data.hops.walks import Walks
from gredkit.data.structures import Structure
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.sequences.walks import WalkSequence, degrees
from gredkit.registry import SEQUENCES

NORMALISATIONS = ("row", "symmetric")


@SEQUENCES.register("powers")
class Powers(WalkSequence):
    """Powers of the normalised adjacency matrix, as in SGC and SIGN: what walks of k steps lead to, forth and back.

    Place k of node v has row v of P^k h with P = D⁻¹A ('row', the mean over random walks) or D^-½ A D^-½ ('symmetric').
    (Wu et al., ICML 2019; Frasca et al., 2020.) Needs the aggregator 'sum' and a number K.
    Shape: batch -> the index of its sequences

    normalisation: 'row' or 'symmetric'
    """

    def __init__(self, normalisation: str = "row"):
        super().__init__()
        ranges.one_of("normalisation", normalisation, NORMALISATIONS)
        self.normalisation = normalisation

    def needs(self, K: int | None) -> list[Structure]:
        return [Walks(K, backtrack=True)]

    def walk(self, h: Tensor, hops: HopIndex) -> Iterator[Tensor]:
        degree, of_ends = degrees(h, hops).clamp(min=1), 0.0 if self.normalisation == "row" else 0.5
        before, after = degree**of_ends, degree ** (1 - of_ends)
        while True:
            h = hops.steps_from.sum(hops.step_end.sum(h / before)) / after
            yield h

    def extra_repr(self) -> str:
        return f"normalisation={self.normalisation!r}"
