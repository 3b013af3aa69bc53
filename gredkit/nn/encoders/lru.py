import math

import torch
from torch import Tensor, nn

from gredkit import ranges
from gredkit.nn import hop_matrices
from gredkit.nn.dense import scaled_normal_
from gredkit.nn.encoders.base import SequenceEncoder, check_state
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels import known, ops
from gredkit.nn.kernels.shapes import Weights
from gredkit.nn.kernels.usable import can_fuse
from gredkit.nn.scan import linear_scan
from gredkit.registry import ENCODERS

MODES = ("auto", "kernel", "scan", "loop")
NO_PHASE = -200.0  # as θ: exp(θ) is 0 in float32, and 1e-87 in float64


@ENCODERS.register("lru")
@known.known
class LRU(SequenceEncoder):
    """Diagonal linear recurrence over hops, farthest first, read at the target: the paper's encoder.

    s_v = Σ_k Λ^k (exp(γ) ⊙ W_in z_{v,k}),  Λ = exp(-exp(ν) + i exp(θ));  y_v = Re[W_out s_v]
    Three ways to the same result: `kernel` folds all that is linear into one real matrix a hop, `scan` is
    the parallel scan, `loop` the recurrence as written. `auto` is the kernel or, where compiled code runs the
    recurrence and nodes share most of their sets, a projection of every set and the recurrence. An empty hop
    that is read adds Λ^k W_in z_∅; one that is not read adds nothing, and the state only decays. torch.compile
    gains nothing on `scan` and `loop`: it runs their complex numbers as they are.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    state_dim: number of states; None is the width of the model. r_min, r_max, max_phase: where |λ| and the phase of λ
    start. mode: 'auto', 'kernel', 'scan' or 'loop', see above. eigenvalues: 'complex', or 'real' for θ = -∞, no phase;
    as W_in and W_out stay complex, each λ then belongs to two real states. learned: whether ν and θ are trained.
    shared: whether all states have the same λ. gamma: whether γ, which starts as log √(1 - |λ|²), scales the input;
    without it γ is 0.
    """

    def __init__(
        self,
        dim: int,
        state_dim: int | None = None,
        r_min: float = 0.9,
        r_max: float = 1.0,
        max_phase: float = 2 * math.pi,
        mode: str = "auto",
        eigenvalues: str = "complex",
        learned: bool = True,
        shared: bool = False,
        gamma: bool = True,
    ):
        super().__init__()
        check_state(dim, state_dim)
        ranges.one_of("mode", mode, MODES)
        ranges.one_of("eigenvalues", eigenvalues, ("complex", "real"))
        self.dim, self.state_dim, self.shared, self.mode = dim, state_dim or dim, shared, mode
        nu_log, theta_log, gamma_log = initial_eigenvalues(1 if shared else self.state_dim, r_min, r_max, max_phase)
        is_real = eigenvalues == "real"
        # What is switched off is a constant in the place of the parameter: all that computes stays as it is.
        self.nu_log = nn.Parameter(nu_log, requires_grad=learned)
        self.theta_log = nn.Parameter(
            torch.full_like(theta_log, NO_PHASE) if is_real else theta_log, requires_grad=learned and not is_real
        )
        gamma_log = gamma_log.expand(self.state_dim).contiguous() if gamma else torch.zeros(self.state_dim)
        self.gamma_log = nn.Parameter(gamma_log, requires_grad=gamma)
        # Real and imaginary parts of W_in [state_dim, dim] and W_out [dim, state_dim].
        self.in_re = nn.Parameter(scaled_normal_(torch.empty(self.state_dim, dim), 0.5 / dim))
        self.in_im = nn.Parameter(scaled_normal_(torch.empty(self.state_dim, dim), 0.5 / dim))
        self.out_re = nn.Parameter(scaled_normal_(torch.empty(dim, self.state_dim), 1 / self.state_dim))
        self.out_im = nn.Parameter(scaled_normal_(torch.empty(dim, self.state_dim), 1 / self.state_dim))

    def recurrent_parameters(self) -> list[nn.Parameter]:
        return [self.nu_log, self.theta_log, self.gamma_log, self.in_re, self.in_im]  # as published

    def eigenvalues(self) -> Tensor:
        """Λ. Shape: [state_dim], complex"""
        decay, angle = self._polar()
        return torch.polar((-decay).exp(), angle).expand(self.state_dim)

    def hop_weights(self, width: int) -> Tensor:
        return torch.linalg.matrix_norm(self.hop_matrices(width)) / math.sqrt(self.dim)

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        if (recurrence := self._for_kernels(z, hops)) is not None:
            if self.is_folded(hops):
                return ops.hop_filter(z, ops.hop_matrices(hops.width, *recurrence), hops.index)
            state = ops.hop_scan(self._inputs(z), self._parts(), hops.index)
            return state @ torch.cat([self.out_re, -self.out_im], 1).mT
        if self.mode in ("auto", "kernel"):
            rows = hops.grid.sum(z).view(hops.num_nodes, hops.width * self.dim)
            return rows @ self.hop_matrices(hops.width).to(z.dtype).flatten(0, 1)
        state = self.states(z, hops)[:, 0]
        return (state.real @ self.out_re.mT.to(state.real) - state.imag @ self.out_im.mT.to(state.real)).to(z.dtype)

    def is_folded(self, hops: HopIndex) -> bool:
        """Whether a matrix product for every row costs no more than projecting every set once."""
        by_set = (hops.num_sets + hops.num_nodes) * 2 * self.state_dim
        return self.mode == "kernel" or by_set >= hops.seq_set.numel() * self.dim

    def hop_matrices(self, width: int) -> Tensor:
        """Re[W_out Λ^k exp(γ) W_in] for k = 0..width - 1, transposed. Shape: [width, dim in, dim out]"""
        weights = self.gamma_log, self.in_re, self.in_im, self.out_re, self.out_im
        return hop_matrices.hop_matrices(width, *self._polar(), *weights)

    def states(self, z: Tensor, hops: HopIndex) -> Tensor:
        """The state after reading hops width - 1..k, for every k. Shape: [nodes, width, state_dim], complex"""
        eigenvalues = self.eigenvalues()
        inputs = hops.grid.sum(self._inputs(z)).view(hops.num_nodes, hops.width, 2, self.state_dim)
        inputs = torch.complex(inputs[:, :, 0], inputs[:, :, 1])
        if self.mode == "scan":
            return linear_scan(eigenvalues, inputs, reverse=True)
        state, states = torch.zeros_like(inputs[:, 0]), []
        for k in reversed(range(hops.width)):
            state = eigenvalues * state + inputs[:, k]
            states.append(state)
        return torch.stack(states[::-1], 1)

    def _inputs(self, z: Tensor) -> Tensor:
        """exp(γ) W_in z, real parts before imaginary ones. Shape: [sets + 1, dim] -> [sets + 1, 2 state_dim]"""
        full = torch.promote_types(self.gamma_log.dtype, torch.float32)
        gain = self.gamma_log.to(full).exp()[:, None]
        into = torch.cat([gain * self.in_re, gain * self.in_im])
        return (z.to(full) @ into.mT).to(full)  # autocast makes the product a type that has no complex twin

    def _parts(self) -> Tensor:
        """Real and imaginary parts of Λ. Shape: [2, state_dim]"""
        decay, angle = self._polar()
        return ((-decay).exp() * torch.stack([angle.cos(), angle.sin()])).expand(2, self.state_dim)

    def _for_kernels(self, z: Tensor, hops: HopIndex) -> Weights | None:
        """All weights, if kernels can make this of these rows."""
        if not can_fuse(z) or not known.is_itself(hops) or z.shape[:-1] != (hops.num_sets + 1,):
            return None
        found = known.read((known.RECURRENCE, self), d=z.shape[1])
        return None if found is None else ops.for_each_state(found.weights[0])

    def _polar(self) -> tuple[Tensor, Tensor]:
        """-log|Λ| and the phase of Λ, never in half precision: they are multiplied by the hop."""
        full = torch.promote_types(self.nu_log.dtype, torch.float32)
        return self.nu_log.to(full).exp(), self.theta_log.to(full).exp()

    def extra_repr(self) -> str:
        return f"{self.dim}, state_dim={self.state_dim}, shared={self.shared}, mode={self.mode!r}"


def initial_eigenvalues(size: int, r_min: float, r_max: float, max_phase: float) -> tuple[Tensor, Tensor, Tensor]:
    """ν, θ and γ for |λ|² uniform in [r_min², r_max²] and a phase uniform in [0, max_phase]. Shape: [size] each"""
    for name, value in (("r_min", r_min), ("r_max", r_max)):
        ranges.number(name, value, lambda r: 0 <= r <= 1, "the size of an eigenvalue, from 0 to 1")
    ranges.number("r_min", r_min, lambda r: r <= r_max, f"at most r_max, which is {r_max}")
    ranges.number("max_phase", max_phase, lambda phase: 0 <= phase < 6.3, "an angle from 0 to 2π")
    squared = torch.rand(size) * (r_max**2 - r_min**2) + r_min**2
    squared = squared.clamp(1e-12, 1 - 1e-6)  # the logarithms below stay finite
    nu_log = (-0.5 * squared.log()).log()
    theta_log = (torch.rand(size) * max_phase).clamp(min=1e-12).log()
    return nu_log, theta_log, 0.5 * (1 - squared).log()
