"""The GRED layer."""

from collections.abc import Callable

from torch import Tensor, nn

from gredkit import ranges
from gredkit.nn.dense import GELU, Dense
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels import known
from gredkit.nn.kernels.choice import fused_layer, fused_stack
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

    x_s = MLP2(AGG{h_u : u∈s});  z = LN(x);  y_v = ENC(z_{v,K}, …, z_{v,0})
    h'_v = drop(GLU(drop(gelu(y_v)))) + x_{v,0}

    dim: width of the rows. aggregator, encoder: a name, or anything that builds one from a width. expand: width of
    the set MLP as a multiple of dim. glu: 'full' or 'half'. gelu: 'erf' or 'tanh'. dropout: the share that is dropped.
    empty_hops: 'constant' reads a hop without nodes as the row of the empty set, as published; with 'zero' there is
    no such hop, as the theorem pads.
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
        if (fused := fused_layer(self, h, hops)) is not None:  # the same function, by compiled kernels
            return fused
        x = self.mlp(self.aggregator(h, hops))  # eqs. 2 and 3: one row per hop set
        sequences = self.sequences(hops)
        y = self.encoder(self.norm(x), sequences)  # eqs. 4 to 6: from the farthest hop to the node itself
        return self.gated(y) + sequences.targets.sum(x)  # eq. 7, and the skip connection

    def sequences(self, hops: HopIndex) -> HopIndex:
        """The hops as the encoder reads them."""
        return hops.with_empty_hops if self.empty_hops == "constant" else hops

    def gated(self, y: Tensor) -> Tensor:
        """drop(GLU(drop(gelu(y)))). Shape: [nodes, dim] -> [nodes, dim]"""
        return self.dropout(self.glu(self.dropout(self.gelu(y))))

    def extra_repr(self) -> str:
        return f"empty_hops={self.empty_hops!r}"


def through(layers: nn.ModuleList, h: Tensor, hops: HopIndex) -> Tensor:
    """Apply all layers, in one call if kernels can do that. Shape: h [nodes, dim] -> [nodes, dim]"""
    if (fused := fused_stack(layers, h, hops)) is not None:
        return fused
    for layer in layers:
        h = layer(h, hops)
    return h
