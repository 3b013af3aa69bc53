from typing import Any

import torch
from torch import Tensor


class _SignedRoot(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.sign() * x.abs().sqrt()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (root,) = ctx.saved_tensors
        return torch.where(root == 0, 0, grad / (2 * root.abs()))


def signed_root(x: Tensor) -> Tensor:
    """sign(x) sqrt(|x|), with the gradient 1 / (2 sqrt(|x|)), which is 0 at 0. Shape: any -> the same

    Only the result is kept for the backward pass.
    """
    return _SignedRoot.apply(x)
