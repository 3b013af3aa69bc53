"""Whether kernels can be used here and now, and on these tensors."""

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
    """While it lasts, all is computed by PyTorch, as with `GREDKIT_KERNELS=0`."""
    token = _is_wanted.set(False)
    try:
        yield
    finally:
        _is_wanted.reset(token)


def has_kernels() -> bool:
    """Whether there are kernels, and nothing looks on that has to see each operation of PyTorch."""
    return (
        not torch.compiler.is_compiling()
        and _is_wanted.get()
        and not is_transformed()
        and torch._C._get_tracing_state() is None
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._len_torch_function_stack()
        and library() is not None
    )


def is_transformed() -> bool:
    """Whether `torch.func` or forward-mode differentiation is at work."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def outlived(tensor: Tensor) -> Tensor:
    """The tensor itself, without what `torch.func` put around it while it was at work."""
    while (inner := torch._C._functorch.unwrap_if_dead(tensor)) is not tensor:
        tensor = inner
    return tensor


def can_fuse(*tensors: Tensor) -> bool:
    """Whether kernels can be used on these tensors."""
    return has_kernels() and not torch.is_autocast_enabled("cpu") and all(map(is_plain, tensors))


def is_plain(tensor: Tensor) -> bool:
    """Whether it is nothing but float32 numbers in a CPU's memory, which mean what they are."""
    return (
        type(tensor) in PLAIN
        and tensor.dtype is torch.float32
        and tensor.is_cpu
        and tensor.layout is torch.strided
        and not tensor.is_nested
        and not tensor.is_neg()
        and not tensor._is_zerotensor()
    )
