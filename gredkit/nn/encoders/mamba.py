from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gredkit import ranges
from gredkit.nn.dense import Dense
from gredkit.nn.encoders.base import SequenceEncoder, by_hop, initial_steps, weights
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels.usable import is_transformed
from gredkit.nn.scan import before
from gredkit.registry import ENCODERS

AT_ONCE = {"cpu": 2**18}  # numbers of the states that are computed at the same time: they stay in a processor's cache
ON_OTHERS = 2**24


@ENCODERS.register("mamba")
class Mamba(SequenceEncoder):
    """Selective state space model over hops: step, input and output matrix depend on what is read (Gu and Dao, 2023).

    Δ = softplus(W_2 W_1 z + b) [dim];  B = W_B z [states];  C = W_C z [states];  A = -exp(a) [dim, states]
    For channel c:  s_k = exp(Δ_{v,k,c} A_c) ⊙ s_{k+1} + Δ_{v,k,c} z_{v,k,c} B_{v,k}
    y_{v,c} = C_{v,0} · s_0 + D_c z_{v,0,c}
    This is the selective scan (S6) alone; the gate around it is that of the layer, and there is no convolution.
    C and D read the target, in whatever direction hops are read.
    A starts as -(1..states), D as 1, softplus(b) log-uniform in [dt_min, dt_max] as in the published code, W_2 uniform
    in ±rank^-1/2, the other matrices with variance 1 / fan_in. W_1 has rank ⌈dim / 16⌉.
    Δ, B and C are computed once per set. Read at the target, the state is s_0 = Σ_k exp(A Σ_{j<k} Δ_{v,j}) Δ_{v,k}
    z_{v,k} B_{v,k}. It is computed for some rows at a time, and once more for the gradient: the states of all hops are
    never in memory.
    With empty_hops='constant', an empty hop is one more step on z_∅; with 'zero' it is skipped.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    states: number of states for each channel
    dt_min, dt_max: range of the initial steps. The published one is made for thousands of places: with it a hop adds at
        most a tenth of itself to a state, beside D = 1 for the target. 0.1 to 1 suits sequences of 4 to 40 hops
    """

    def __init__(self, dim: int, states: int = 16, dt_min: float = 0.001, dt_max: float = 0.1):
        super().__init__()
        ranges.width("dim", dim)
        ranges.width("states", states)
        self.dim, self.states = dim, states
        rank = -(-dim // 16)
        steps = initial_steps(dim, dt_min, dt_max).exp()
        self.step_down, self.step_up = Dense(dim, rank, bias=False), nn.Linear(rank, dim)
        nn.init.uniform_(self.step_up.weight, -(rank**-0.5), rank**-0.5)
        self.step_up.bias = nn.Parameter(steps + torch.log(-torch.expm1(-steps)))  # the inverse of softplus
        self.input, self.output = Dense(dim, states, bias=False), Dense(dim, states, bias=False)
        self.log_decay = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(dim, 1))
        self.skip = nn.Parameter(torch.ones(dim))

    def recurrent_parameters(self) -> list[nn.Parameter]:
        """As in the LRU: A, Δ and the weights from the input to the state."""
        return [self.log_decay, *weights(self.step_down, self.input), *self.step_up.parameters()]

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        full = torch.promote_types(z.dtype, torch.float32)
        target = hops.targets.sum(z)
        dt = F.softplus(self.step_up(self.step_down(z)).to(full))
        passed = before(by_hop(dt, hops))  # [nodes, width, dim] the steps from a hop to the target
        mixed = by_hop(self.input(z).to(full), hops) * self.output(target).to(full)[:, None]  # B_{v,k} ⊙ C_{v,0}
        weight = mixture(passed.flatten(0, 1), mixed.flatten(0, 1), self.log_decay.to(full).exp()).view(passed.shape)
        read = (weight * by_hop(dt * z.to(full), hops)).sum(1)
        return (read + self.skip.to(full) * target.to(full)).to(z.dtype)

    def extra_repr(self) -> str:
        return f"{self.dim}, states={self.states}"


def mixture(t: Tensor, weight: Tensor, rate: Tensor) -> Tensor:
    """Σ_n weight_{r,n} exp(-rate_{c,n} t_{r,c}), some rows at a time.

    Shape: t [rows, d], weight [rows, states], rate [d, states] -> [rows, d]
    """
    return _some(t, weight, rate) if is_transformed() else _Mixture.apply(t, weight, rate)


def _some(t: Tensor, weight: Tensor, rate: Tensor) -> Tensor:
    return ((-t[..., None] * rate).exp() * weight[:, None]).sum(-1)


class _Mixture(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: Tensor, weight: Tensor, rate: Tensor) -> Tensor:
        ctx.save_for_backward(t, weight, rate)
        total = torch.empty_like(t)
        for at in _parts(t, rate):
            total[at] = _some(t[at], weight[at], rate)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        t, weight, rate = ctx.saved_tensors
        into_t, into_weight, into_rate = torch.empty_like(t), torch.empty_like(weight), torch.zeros_like(rate)
        for at in _parts(t, rate):
            kept = (-t[at][..., None] * rate).exp() * grad[at][..., None]
            into_weight[at] = kept.sum(1)
            kept = kept * weight[at][:, None]
            into_t[at] = -(kept * rate).sum(-1)
            into_rate = into_rate - (kept * t[at][..., None]).sum(0)
        return into_t, into_weight, into_rate


def _parts(t: Tensor, rate: Tensor) -> list[slice]:
    """Parts of the rows, as many at once as the device can well hold."""
    rows = max(AT_ONCE.get(t.device.type, ON_OTHERS) // rate.numel(), 1)
    return [slice(first, first + rows) for first in range(0, len(t), rows)]
