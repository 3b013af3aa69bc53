"""What follows from the whole numbers of a batch alone: computed when it is needed or, for a GPU, ahead on the host.

A hop index takes dozens of operations on small integers. On a device without compiled kernels each of them is a launch,
so `GraphModel.prepare_batch` computes all of them before a batch moves there, and the models find them in the batch.
"""

import copy
from collections.abc import Callable, Sequence
from typing import TypeVar

from torch import Tensor
from torch_geometric.data import Data

T = TypeVar("T")
KEY = "gredkit_prepared"


def to_prepare(batch: Data) -> Data:
    """A copy of a batch (tensors are shared) that remembers all that `once` computes from it."""
    batch = copy.copy(batch)
    setattr(batch, KEY, {})
    return batch


def once(batch: Data, name: str, of: Sequence[Tensor], make: Callable[[], T]) -> T:
    """What `make` gives, or what it gave before for the same tensors of a batch that remembers it."""
    known = getattr(batch, KEY, None)
    if known is None:
        return make()
    if name not in known or any(a is not b for a, b in zip(known[name][0], of, strict=True)):
        known[name] = tuple(of), make()
    return known[name][1]
