from typing import Any

import torch
from torch import Tensor


class _SignedRoot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        root = x.sign() * x.abs().sqrt()
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (root,) = ctx.saved_tensors
        return torch.where(root == 0, 0, grad / (2 * root.abs()))


def signed_root(x: Tensor) -> Tensor:
    """sign(x) sqrt(|x|), with the gradient 1 / (2 sqrt(|x|)), which is 0 at 0. Shape: any -> the same"""
    return _SignedRoot.apply(x)
