"""Whether the kernels can be used now and on certain tensors."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor
from torch.autograd import forward_ad

from gredkit.nn.kernels.build import library
from gredkit.nn.kernels.call import PLAIN

_is_wanted: ContextVar[bool] = ContextVar("kernels", default=True)


@contextmanager
def without_kernels() -> Iterator[None]:
    """Inside this context everything is computed by PyTorch, as with `GREDKIT_KERNELS=0`."""
    token = _is_wanted.set(False)
    try:
        yield
    finally:
        _is_wanted.reset(token)


def has_kernels() -> bool:
    """Whether there are kernels, and nothing is active that must see each PyTorch operation (such as tracing)."""
    return (
        not torch.compiler.is_compiling()
        and _is_wanted.get()
        and not is_transformed()
        and torch._C._get_tracing_state() is None
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._len_torch_function_stack()
        and library() is not None
    )


def can_stack(tensor: Tensor) -> bool:
    """Whether `gredkit.nn.stacked` can be used: on any device, if nothing is active that rewrites operations."""
    return (
        not torch.compiler.is_compiling()
        and not is_transformed()
        and torch._C._get_tracing_state() is None
        and not torch._C._len_torch_function_stack()
        and not torch._C._is_any_autocast_enabled()
        and tensor.dtype in (torch.float32, torch.float64)
        and is_ordinary(tensor)
    )


def is_transformed() -> bool:
    """Whether a `torch.func` transformation or forward-mode differentiation is active."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def outlived(tensor: Tensor) -> Tensor:
    """The tensor itself, without wrappers of a `torch.func` transformation that has ended."""
    while (inner := torch._C._functorch.unwrap_if_dead(tensor)) is not tensor:
        tensor = inner
    return tensor


def can_fuse(*tensors: Tensor) -> bool:
    """Whether kernels can be used on these tensors."""
    return has_kernels() and not torch.is_autocast_enabled("cpu") and all(map(is_plain, tensors))


def is_plain(tensor: Tensor) -> bool:
    """Whether it is an ordinary float32 tensor in the CPU's memory."""
    return is_ordinary(tensor) and tensor.dtype is torch.float32 and tensor.is_cpu


def is_ordinary(tensor: Tensor) -> bool:
    """Whether it is an ordinary tensor, with no lazy or special meaning."""
    return (
        type(tensor) in PLAIN
        and tensor.layout is torch.strided
        and not tensor.is_nested
        and not tensor.is_neg()
        and not tensor._is_zerotensor()
    )
