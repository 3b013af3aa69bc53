"""The GRED layer."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from gredkit import ranges
from gredkit.nn.dense import GELU, Dense
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels import known, ops
from gredkit.nn.kernels.usable import can_fuse
from gredkit.registry import AGGREGATORS, ENCODERS

EPS = 1e-6  # of all layer norms, as published


@known.known
class GLU(nn.Module):
    """Gated linear unit: W1 y ⊙ σ(W2 y), or y ⊙ σ(W2 y) in its `half` form. Shape: [..., dim] -> [..., dim]"""

    def __init__(self, dim: int, form: str = "full"):
        super().__init__()
        ranges.one_of("glu", form, ("full", "half"))
        self.value = Dense(dim, dim) if form == "full" else nn.Identity()
        self.gate = Dense(dim, dim)

    def forward(self, y: Tensor) -> Tensor:
        return self.value(y) * self.gate(y).sigmoid()


@known.known
class SetMLP(nn.Module):
    """The paper's MLP2 with its residual branch: a + Dense(gelu(Dense(LN(a)))). Shape: [..., dim] -> [..., dim]"""

    def __init__(self, dim: int, expand: int = 1, gelu: str = "erf"):
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=EPS)
        self.up = Dense(dim, expand * dim)
        self.gelu = GELU(gelu)
        self.down = Dense(expand * dim, dim)

    def forward(self, a: Tensor) -> Tensor:
        return a + self.down(self.gelu(self.up(self.norm(a))))


@known.known
class GREDLayer(nn.Module):
    """Aggregates every hop set, reads each node's sequence of hops, and gates what was read.

    x_s = MLP2(AGG{h_u : u∈s});  z = LN(x);  y_v = drop(gelu(ENC(z_{v,K}, …, z_{v,0})))
    h'_v = drop(GLU(y_v)) + x_{v,0}
    With `empty_hops='constant'` a hop without nodes is read as the row of the empty set, as published; with
    `'zero'` it is not there, as the theorem pads.
    Shape: h [nodes, dim] -> [nodes, dim]
    """

    def __init__(
        self,
        dim: int,
        aggregator: str | Callable[[int], nn.Module] = "sum",
        encoder: str | Callable[[int], nn.Module] = "lru",
        expand: int = 1,
        glu: str = "full",
        gelu: str = "erf",
        dropout: float = 0.0,
        empty_hops: str = "constant",
    ):
        super().__init__()
        ranges.width("dim", dim)
        ranges.whole("expand", expand, 1, 100)
        ranges.number("dropout", dropout, lambda p: 0 <= p < 1, "a share from 0 to less than 1")
        ranges.one_of("empty_hops", empty_hops, ("constant", "zero"))
        self.dim, self.empty_hops = dim, empty_hops
        self.aggregator = AGGREGATORS.resolve(aggregator)(dim)
        self.mlp = SetMLP(dim, expand, gelu)
        self.norm = nn.LayerNorm(dim, eps=EPS)
        self.encoder = ENCODERS.resolve(encoder)(dim)
        self.gelu = GELU(gelu)
        self.glu = GLU(dim, glu)
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        a = self.aggregator(h, hops)
        if (fused := _at_once([self], known.BEHIND_SUMS, a, hops)) is not None:
            return fused
        sequences = self.sequences(hops)
        z, x = self.rows(a, sequences)
        return self.gated(self.encoder(z, sequences), x)

    def sequences(self, hops: HopIndex) -> HopIndex:
        """The hops as the encoder reads them."""
        return hops.with_empty_hops if self.empty_hops == "constant" else hops

    def rows(self, a: Tensor, hops: HopIndex) -> tuple[Tensor, Tensor]:
        """z of every set, and x of every node's own. Shape: a [sets + 1, dim] -> [sets + 1, dim], [nodes, dim]"""
        if can_fuse(a) and known.is_itself(hops) and a.shape[:-1] == (hops.num_sets + 1,):
            found = known.read((known.MLP, self.mlp), (known.NORM, self.norm), d=a.shape[1])
            if found is not None:
                return ops.set_mlp(a, hops.index, [*found.weights[0], *found.weights[1]], found.gelu, found.eps)
        x = self.mlp(a)
        return self.norm(x), hops.targets.sum(x)

    def gated(self, y: Tensor, x: Tensor) -> Tensor:
        """What becomes of what was read. Shape: [nodes, dim], [nodes, dim] -> [nodes, dim]"""
        if can_fuse(y, x) and y.dim() == 2 and y.shape == x.shape:
            parts = (known.GELU, self.gelu), (known.GLU, self.glu), (known.DROPOUT, self.dropout)
            if (found := known.read(*parts, d=y.shape[1])) is not None:
                return ops.gate(y, x, found.weights[1], found.gelu, found.dropout)
        return self.dropout(self.glu(self.dropout(self.gelu(y)))) + x

    def extra_repr(self) -> str:
        return f"empty_hops={self.empty_hops!r}"


def through(layers: nn.ModuleList, h: Tensor, hops: HopIndex) -> Tensor:
    """h behind all the layers: at once if they add up their sets and kernels can do the rest, else one by one.

    Shape: [nodes, dim] -> [nodes, dim]
    """
    if (fused := _at_once(list(layers), known.LAYER, h, hops)) is not None:
        return fused
    for layer in layers:
        h = layer(h, hops)
    return h


def _at_once(layers: Sequence[nn.Module], part: known.Part, x: Tensor, hops: HopIndex) -> Tensor | None:
    """What the layers make of x by kernels, or None where those do not know them or another way is faster.

    Shape: x [nodes, dim], or [sets + 1, dim] if it is `BEHIND_SUMS` -> [nodes, dim]
    """
    if not can_fuse(x) or not known.is_itself(hops):
        return None
    sets = None if part is known.BEHIND_SUMS else hops.sets
    rows = hops.num_sets + 1 if sets is None else hops.num_nodes
    if x.shape[:-1] != (rows,) or not (sets is None or known.is_itself(sets)):
        return None
    found = known.read(*((part, layer) for layer in layers), d=x.shape[1])
    if found is None or len(set(map(len, found.weights))) != 1:  # no layer, or gates of both forms
        return None
    sequences: HopIndex = layers[0].sequences(hops)  # type: ignore[operator]
    if not all(layer.encoder.is_folded(sequences) for layer in layers):  # type: ignore[operator, union-attr]
        return None
    weights = [ops.LayerWeights(one[:8], one[8:15], one[15:]) for one in found.weights]
    return ops.layers(x, sequences.index, sets, sequences.width, weights, found.gelu, found.eps, found.dropout)
