"""The GRED layer."""

from collections.abc import Callable

from torch import Tensor, nn

from gredkit import ranges
from gredkit.errors import UserError
from gredkit.nn.dense import GELU, Dense
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels import known
from gredkit.nn.kernels.choice import fused_layer, fused_stack
from gredkit.registry import AGGREGATORS, ENCODERS

EPS = 1e-6  # of all layer norms, as published
DIRECTIONS = ("far_to_near", "near_to_far")


def layer_norm(dim: int) -> nn.LayerNorm:
    return nn.LayerNorm(dim, eps=EPS)


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
    """The paper's MLP2 with its residual branch: a + Dense(gelu(Dense(LN(a)))). Shape: [..., dim] -> [..., dim]

    expand: width inside, as a multiple of dim. gelu: 'erf' or 'tanh'. norm: whether LN is applied. skip: whether a is
    added.
    """

    def __init__(self, dim: int, expand: int = 1, gelu: str = "erf", norm: bool = True, skip: bool = True):
        super().__init__()
        self.skip = skip
        self.norm = layer_norm(dim) if norm else nn.Identity()
        self.up = Dense(dim, expand * dim)
        self.gelu = GELU(gelu)
        self.down = Dense(expand * dim, dim)

    def forward(self, a: Tensor) -> Tensor:
        update = self.down(self.gelu(self.up(self.norm(a))))
        return a + update if self.skip else update


@known.known
class GREDLayer(nn.Module):
    """Aggregates every hop set, reads each node's sequence of hops, and gates what was read.

    x_s = MLP2(AGG{h_u : u∈s});  z = LN(x);  y_v = ENC(z_{v,K}, …, z_{v,0})
    h'_v = drop(GLU(drop(gelu(y_v)))) + x_{v,0}

    dim: width of the rows. aggregator, encoder: a name, or anything that builds one from a width. expand: width of
    the set MLP as a multiple of dim. glu: 'full', 'half' or 'none', with which h'_v = drop(gelu(y_v)) + x_{v,0}.
    gelu: 'erf' or 'tanh'. dropout: the share that is dropped. empty_hops: 'constant' reads a hop without nodes as the
    row of the empty set, as published; with 'zero' there is no such hop, as the theorem pads. direction: 'far_to_near'
    or 'near_to_far', which reads the target first. set_mlp: whether there is MLP2; without it x_s is the aggregate
    itself. norm: whether there are layer norms, here and in MLP2. skip: whether x_{v,0} is added at the end. set_skip:
    whether MLP2 adds its input.
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
        direction: str = "far_to_near",
        set_mlp: bool = True,
        norm: bool = True,
        skip: bool = True,
        set_skip: bool = True,
    ):
        super().__init__()
        ranges.width("dim", dim)
        ranges.whole("expand", expand, 1, 100)
        ranges.number("dropout", dropout, lambda p: 0 <= p < 1, "a share from 0 to less than 1")
        ranges.one_of("empty_hops", empty_hops, ("constant", "zero"))
        ranges.one_of("direction", direction, DIRECTIONS)
        ranges.one_of("glu", glu, ("full", "half", "none"))
        self.dim, self.skip, self.empty_hops, self.direction = dim, skip, empty_hops, direction
        self.aggregator = AGGREGATORS.resolve(aggregator)(dim)
        self.mlp = SetMLP(dim, expand, gelu, norm, set_skip) if set_mlp else nn.Identity()
        self.norm = layer_norm(dim) if norm else nn.Identity()
        self.encoder = ENCODERS.resolve(encoder)(dim)
        self.gelu = GELU(gelu)
        self.glu = GLU(dim, glu) if glu != "none" else None
        self.dropout = nn.Dropout(dropout)
        if direction != DIRECTIONS[0] and not getattr(self.encoder, "has_direction", True):
            raise UserError(
                f"{type(self.encoder).__name__} reads all hops at once, from near and far alike: "
                f"direction={direction!r} needs a recurrent encoder"
            )

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        if (fused := fused_layer(self, h, hops)) is not None:  # the same function, by compiled kernels
            return fused
        x = self.mlp(self.aggregator(h, hops))  # eqs. 2 and 3: one row per hop set
        sequences = self.sequences(hops)
        y = self.gated(self.encoder(self.norm(x), sequences))  # eqs. 4 to 7: from the farthest hop to the node itself
        return y + sequences.targets.sum(x) if self.skip else y  # the skip connection

    def sequences(self, hops: HopIndex) -> HopIndex:
        """The hops as the encoder reads them."""
        hops = hops.with_empty_hops if self.empty_hops == "constant" else hops
        return hops.near_to_far if self.direction == "near_to_far" else hops

    def gated(self, y: Tensor) -> Tensor:
        """drop(GLU(drop(gelu(y)))), or drop(gelu(y)) without a GLU. Shape: [nodes, dim] -> [nodes, dim]"""
        y = self.dropout(self.gelu(y))
        return y if self.glu is None else self.dropout(self.glu(y))

    def hop_weights(self, width: int) -> Tensor | None:
        """Those of the encoder for a sequence of `width` hops; from near to far it reads hop 0 first. Shape: [width]"""
        own = getattr(self.encoder, "hop_weights", None)
        weights: Tensor | None = own(width) if callable(own) else None
        return weights.flip(0) if weights is not None and self.direction == "near_to_far" else weights

    def extra_repr(self) -> str:
        return f"skip={self.skip}, empty_hops={self.empty_hops!r}, direction={self.direction!r}"


def through(layers: nn.ModuleList, h: Tensor, hops: HopIndex) -> Tensor:
    """Apply all layers, at once if there is a faster way than one by one. Shape: h [nodes, dim] -> [nodes, dim]"""
    if (fused := fused_stack(layers, h, hops)) is not None:
        return fused
    for layer in layers:
        h = layer(h, hops)
    return h
