"""The hop matrices of an LRU: those of one layer, and those of all layers at once with a backward pass of its own."""

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

    Signs come as tensors, so that they are part of products and copies that are needed anyhow.

    Shape: matrices [layers, width * dim in, dim out]
    """

    matrices: Tensor
    rates: Tensor  # [2, layers, n] -log|Λ| and the phase of Λ
    places: Tensor  # [width, 1, 2] -k and k
    signs: Tensor  # [2, 2] 1, 1 and 1, -1
    powers: Tensor  # [layers, width, n] Λ^k exp(γ), complex
    filtered: Tensor  # [layers, width * dim in, 2 n] Λ^k exp(γ) W_in, real beside imaginary parts
    out: Tensor  # [2, layers, 2 n, dim out] W_out transposed and the same conjugated, real beside imaginary parts

    @classmethod
    def of(cls, rates: Tensor, into: Tensor, out: Tensor, places: Tensor, signs: Tensor) -> "HopMatrices":
        """From the weights as `gredkit.nn.stacked_weights.Stacks` has them, and whole numbers.

        Shape: rates [4, layers, n], into [2, layers, n, dim in], out [2, layers, n, dim out]
        """
        (_, layers, n, d), width = into.shape, len(places)
        exponents = into.new_empty(layers, width, n, 2)
        rates, added = rates[:2].exp(), rates[2:]
        first, second = (part[:, :, None].permute(1, 2, 3, 0) for part in (added, rates))
        torch.addcmul(first, second, places, out=exponents)
        powers = torch.view_as_complex(exponents).exp_()
        filtered = powers.new_empty(layers, width, d, n)
        torch.mul(powers[:, :, None], torch.complex(*into).mT[:, None], out=filtered)
        filtered = torch.view_as_real(filtered).view(layers, width * d, 2 * n)
        both = out.new_empty(2, layers, n, 2, out.shape[-1])
        torch.mul(out.permute(1, 2, 0, 3), signs[:, None, None, :, None], out=both)
        both = both.flatten(2, 3)
        return cls(torch.bmm(filtered, both[1]), rates, places, signs, powers, filtered, both)

    def backward(self, into_matrices: Tensor, into: Tensor, shared: bool) -> list[tuple[Tensor, ...]]:
        """The gradients of ν, θ, γ and both parts of W_in [n, d] and W_out [d, n] of each layer.

        Shape: into_matrices [layers, width * dim in, dim out], into [2, layers, n, dim in] as for `of`

        shared: whether all states of a layer share one Λ
        """
        (_, layers, n, d), width = into.shape, len(self.places)
        signs = self.signs[1].view(2, 1, 1, 1)
        into_out = into.new_empty(2, layers, self.out.shape[-1], n)
        product = torch.bmm(into_matrices.mT, self.filtered).view(layers, -1, n, 2)
        torch.mul(product.permute(3, 0, 1, 2), signs, out=into_out)
        # All that follows is the conjugate of a gradient: then nothing has to be conjugated before it is multiplied.
        filtered = torch.view_as_complex(torch.bmm(into_matrices, self.out[0].mT).view(layers, width, d, n, 2))
        product = torch.view_as_real((filtered * self.powers[:, :, None]).sum(1))
        into_in = torch.empty_like(into)
        torch.mul(product.permute(3, 0, 2, 1), signs, out=into_in)
        # The real part of ∂Λ^k exp(γ) conjugated times Λ^k exp(γ) belongs to the logarithm, the other to the phase.
        exponents = filtered.mul_(torch.view_as_complex(self.filtered.view(layers, width, d, n, 2))).sum(2)
        exponents = torch.view_as_real(exponents)
        into_gamma = exponents[..., 0].sum(1)
        into_rates = torch.empty_like(self.rates)
        products = (exponents * self.places[..., :1]).sum(1)
        torch.mul(products.permute(2, 0, 1), self.rates, out=into_rates)
        into_rates = into_rates.sum(-1, keepdim=True) if shared else into_rates
        return list(zip(*into_rates, into_gamma, *into_in, *into_out, strict=True))
