"""The GRED layer."""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from gredkit import ranges
from gredkit.kernels import ops
from gredkit.kernels.ops import can_fuse
from gredkit.nn.aggregators.sum import SumAggregator
from gredkit.nn.dense import GELU, Dense
from gredkit.nn.encoders.base import SequenceEncoder
from gredkit.nn.hop_index import HopIndex
from gredkit.registry import AGGREGATORS, ENCODERS

EPS = 1e-6  # of all layer norms, as published


class GLU(nn.Module):
    """Gated linear unit: W1 y ⊙ σ(W2 y), or y ⊙ σ(W2 y) in its `half` form. Shape: [..., dim] -> [..., dim]"""

    def __init__(self, dim: int, form: str = "full"):
        super().__init__()
        ranges.one_of("glu", form, ("full", "half"))
        self.value = Dense(dim, dim) if form == "full" else nn.Identity()
        self.gate = Dense(dim, dim)

    def forward(self, y: Tensor) -> Tensor:
        return self.value(y) * self.gate(y).sigmoid()


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
        a, sequences = self.aggregator(h, hops), self.sequences(hops)
        is_fit = can_fuse(a) and a.shape == (sequences.num_sets + 1, self.dim)
        parts = self.encoder, self.mlp, self.norm, self.gelu, self.glu, self.dropout
        if is_fit and not _is_watched(*parts) and (weights := self.folded(sequences)) is not None:
            return ops.layers(a, sequences.index, None, sequences.width, [weights], *self.form)
        z, x = self.rows(a, sequences)
        return self.gated(self.encoder(z, sequences), x)

    def sequences(self, hops: HopIndex) -> HopIndex:
        """The hops as the encoder reads them."""
        return hops.with_empty_hops if self.empty_hops == "constant" else hops

    def folded(self, hops: HopIndex) -> ops.LayerWeights | None:
        """What kernels need for all that comes behind the aggregator, if the encoder can be folded; else None."""
        if not isinstance(self.encoder, SequenceEncoder) or (recurrence := self.encoder.folded(hops)) is None:
            return None
        weights = ops.LayerWeights(self._of_rows(), recurrence, self._of_gate())
        return weights if can_fuse(*weights.all) and weights.fit(self.dim) else None

    @property
    def form(self) -> tuple[str, float, float]:
        """Of gelu, the norms' small number, and the share that dropout drops."""
        return self.gelu.approximate, EPS, self.dropout.p if self.dropout.training else 0.0

    def rows(self, a: Tensor, hops: HopIndex) -> tuple[Tensor, Tensor]:
        """z of every set, and x of every node's own. Shape: a [sets + 1, dim] -> [sets + 1, dim], [nodes, dim]"""
        weights = self._of_rows()
        is_fit = can_fuse(a, *weights) and a.shape == (hops.num_sets + 1, self.dim)
        if is_fit and not _is_watched(self.mlp, self.norm):
            return ops.set_mlp(a, hops.index, weights, self.gelu.approximate, EPS)
        x = self.mlp(a)
        return self.norm(x), hops.targets.sum(x)

    def gated(self, y: Tensor, x: Tensor) -> Tensor:
        """What becomes of what was read. Shape: [nodes, dim], [nodes, dim] -> [nodes, dim]"""
        weights = self._of_gate()
        if can_fuse(y, x, *weights) and y.shape == x.shape and not _is_watched(self.gelu, self.glu, self.dropout):
            gelu, _, dropout = self.form
            return ops.gate(y, x, weights, gelu, dropout)
        return self.dropout(self.glu(self.dropout(self.gelu(y)))) + x

    def _of_rows(self) -> tuple[Tensor, ...]:
        return *_affine(self.mlp.norm), *_affine(self.mlp.up), *_affine(self.mlp.down), *_affine(self.norm)

    def _of_gate(self) -> tuple[Tensor, ...]:
        value = _affine(self.glu.value) if isinstance(self.glu.value, Dense) else ()
        return *value, *_affine(self.glu.gate)

    def extra_repr(self) -> str:
        return f"empty_hops={self.empty_hops!r}"


def through(layers: nn.ModuleList, h: Tensor, hops: HopIndex) -> Tensor:
    """h behind all the layers: at once if they add up their sets and kernels can do the rest, else one by one.

    Shape: [nodes, dim] -> [nodes, dim]
    """
    weights = _of_stack(layers, h, hops)
    if weights is None:
        for layer in layers:
            h = layer(h, hops)
        return h
    first: GREDLayer = layers[0]  # type: ignore[assignment]
    sequences = first.sequences(hops)
    return ops.layers(h, sequences.index, hops.sets, sequences.width, weights, *first.form)


def _of_stack(layers: nn.ModuleList, h: Tensor, hops: HopIndex) -> list[ops.LayerWeights] | None:
    """The weights of all layers, or None if these are not the layers of one stack that kernels know."""
    if not can_fuse(h):
        return None
    weights: list[ops.LayerWeights] = []
    for layer in layers:
        if type(layer) is not GREDLayer or type(layer.aggregator) is not SumAggregator:
            return None
        if _is_watched(layer) or (found := layer.folded(layer.sequences(hops))) is None:
            return None
        weights.append(found)
    if not weights or h.shape != (hops.num_nodes, layers[0].dim):
        return None
    kinds = {
        (layer.form, layer.empty_hops, *map(Tensor.size, of.all)) for layer, of in zip(layers, weights, strict=True)
    }
    return weights if len(kinds) == 1 else None


def _is_watched(*modules: nn.Module) -> bool:
    """Whether somebody asks to be told when a module, or one in it, is called, or has put something in its place.

    Then it is called as it would be without kernels.
    """
    return _has_any_global_hook() or any(
        part._forward_hooks
        or part._forward_pre_hooks
        or part._backward_hooks
        or part._backward_pre_hooks
        or "forward" in vars(part)
        for module in modules
        for part in module.modules()
    )


def _affine(module: nn.Module) -> tuple[Tensor, Tensor]:
    return module.weight, module.bias  # type: ignore[return-value]
