"""The hop matrices of an LRU: those of one layer, and those of all layers at once with a backward pass of its own."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


def hop_matrices(
    width: int, decay: Tensor, angle: Tensor, gamma: Tensor, in_re: Tensor, in_im: Tensor, out_re: Tensor,
    out_im: Tensor,
) -> Tensor:  # fmt: skip
    """Re[W_out Λ^k exp(γ) W_in] for k = 0..width - 1, transposed, in the precision of -log|Λ| and the phase of Λ.

    Shape: [width, dim in, dim out]
    """
    k = torch.arange(width, device=decay.device, dtype=decay.dtype)[:, None]
    size = (gamma.to(decay) - k * decay).exp()
    # Λ^k exp(γ) times W_in, then the real part of the product with W_out, in real numbers.
    re, im = (size * (k * angle).cos())[..., None], (size * (k * angle).sin())[..., None]
    in_re, in_im = in_re.to(decay), in_im.to(decay)
    filtered = torch.cat([re * in_re - im * in_im, re * in_im + im * in_re], 1)  # [width, 2 state, in]
    return filtered.mT @ torch.cat([out_re, -out_im], 1).to(decay).mT


class HopMatrices(NamedTuple):
    """Re[W_out Λ^k exp(γ) W_in] for k = 0..width - 1, transposed, of every layer; and what the backward pass reads.

    Shape: matrices [layers, width * dim in, dim out]
    """

    matrices: Tensor
    rates: Tensor  # [2, layers, 1, n] -log|Λ| and the phase of Λ
    hops: Tensor  # [width, 1]
    powers: Tensor  # [layers, width, n] Λ^k exp(γ), complex
    into: Tensor  # [layers, dim in, n] W_in transposed, complex
    filtered: Tensor  # [layers, width * dim in, 2 n] Λ^k exp(γ) W_in, real beside imaginary parts
    out: Tensor  # [layers, 2 n, dim out] W_out conjugated and transposed, real beside imaginary parts

    @classmethod
    def of(cls, recurrences: Sequence[Sequence[Tensor]], width: int) -> "HopMatrices":
        """From ν, θ, γ and both parts of W_in [n, d] and W_out [d, n] of each layer."""
        layers, (n, d) = len(recurrences), recurrences[0][3].shape
        # Where all states share one Λ, its ν and θ have the size 1.
        kinds = zip(*recurrences, strict=True)
        flat = torch.cat([one.expand(n) if one.dim() == 1 else one.flatten() for kind in kinds for one in kind])
        rate, re, im, from_re, from_im = flat.split([3 * layers * n, *[layers * n * d] * 4])
        rates, gammas = rate.view(3, layers, 1, n).split([2, 1])
        rates = rates.exp()
        hops = torch.arange(width, device=flat.device, dtype=flat.dtype)[:, None]
        decay, angle = (rates * hops).unbind()
        powers = torch.polar((gammas[0] - decay).exp_(), angle)
        into = torch.complex(re, im).view(layers, n, d).mT
        filtered = torch.empty(layers, width, d, n, dtype=powers.dtype, device=powers.device)
        torch.mul(powers[:, :, None], into[:, None], out=filtered)
        filtered = torch.view_as_real(filtered).view(layers, width * d, 2 * n)
        out = torch.view_as_real(torch.complex(from_re, from_im.neg_()).view(layers, d, n)).flatten(2).mT
        return cls(torch.bmm(filtered, out), rates, hops, powers, into, filtered, out)

    def backward(self, into_matrices: Tensor, shared: bool) -> list[tuple[Tensor, ...]]:
        """The gradients of what `of` was given, for each layer.

        Shape: into_matrices [layers, width * dim in, dim out]

        shared: whether all states of a layer share one Λ
        """
        layers, width, n = self.powers.shape
        d = self.into.shape[1]
        into_out = torch.empty(2, layers, d, n, device=self.rates.device, dtype=self.rates.dtype)
        into_out.copy_(torch.bmm(into_matrices.mT, self.filtered).view(layers, d, n, 2).permute(3, 0, 1, 2))
        into_out[1].neg_()
        filtered = torch.view_as_complex(torch.bmm(into_matrices, self.out.mT).view(layers, width, d, n, 2))
        into_in = torch.empty(2, layers, n, d, device=self.rates.device, dtype=self.rates.dtype)
        into_in.copy_(torch.view_as_real((filtered * self.powers.conj()[:, :, None]).sum(1)).permute(3, 0, 2, 1))
        # With q = conj(∂Λ^k exp(γ)) Λ^k exp(γ), Re q belongs to its logarithm and -Im q to its phase.
        into_powers = (filtered.mul_(self.into.conj()[:, None])).sum(2)
        q = torch.view_as_real(into_powers.conj() * self.powers)
        into_gamma = q[..., 0].sum(1)
        into_rates = (q * self.hops[:, None]).sum(1).neg_().permute(2, 0, 1) * self.rates[:, :, 0]
        into_rates = into_rates.sum(-1, keepdim=True) if shared else into_rates
        return list(zip(*into_rates.contiguous(), into_gamma, *into_in, *into_out, strict=True))
