"""How a batch reaches a device: all of its tensors in one copy, with what the model needs of its whole numbers."""

import copy
import io
import pickle
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch

from gredkit.nn.prepared import KEY, to_prepare

UNIT = 16  # bytes, the size of the largest number; every tensor begins at a multiple of it


def moved(batch: Batch, device: torch.device, model: nn.Module | None = None) -> Batch:
    """A batch on a device. A CPU needs no copy, and its kernels make what they need themselves.

    model: what will read it; if it is compiled, nothing is computed ahead
    """
    if device.type == "cpu":
        return batch.to(device)
    model = None if hasattr(model, "_orig_mod") else model  # what `torch.compile` makes has it
    return pack(batch, model, pin=device.type == "cuda").to(device)


class Parcel(NamedTuple):
    """A batch, and its tensors one after another in one."""

    rest: Batch  # without these tensors
    names: list[str]  # of the tensors in the batch
    prepared: bytes  # what the model computed ahead, with numbers in the place of its tensors
    flat: Tensor
    views: list[tuple[int, torch.dtype, torch.Size]]  # where a tensor begins

    def to(self, device: torch.device, copies: bool = False) -> Batch:
        """The batch on a device, without waiting for it; `copies` also if it is there already."""
        flat = self.flat.to(device, non_blocking=True, copy=copies)
        tensors = [
            flat[start : start + shape.numel() * dtype.itemsize].view(dtype).view(shape)
            for start, dtype, shape in self.views
        ]
        batch = copy.copy(self.rest).to(device, non_blocking=True)
        for name, tensor in zip(self.names, tensors, strict=False):
            batch[name] = tensor
        batch[KEY] = _Reader(io.BytesIO(self.prepared), tensors).load()
        return batch


@torch.no_grad()
def pack(batch: Batch, model: nn.Module | None = None, pin: bool = False) -> Parcel:
    """A batch in main memory, ready to be moved; `pin` for a copy that does not hold up the host."""
    batch = to_prepare(batch)
    if (prepare := getattr(model, "prepare_batch", None)) is not None:
        prepare(batch)
    rest = copy.copy(batch)
    names = [name for name, value in batch.to_dict().items() if _is_plain(value)]
    for name in (*names, KEY):
        del rest[name]
    written = io.BytesIO()
    writer = _Writer(written, [batch[name] for name in names])
    writer.dump(batch[KEY])
    parts, views, end = [], [], 0
    for one in writer.tensors:
        raw = one.contiguous().flatten().view(torch.uint8)
        gap = -len(raw) % UNIT
        parts += [raw, raw.new_zeros(gap)]
        views.append((end, one.dtype, one.shape))
        end += len(raw) + gap
    flat = torch.empty(end, dtype=torch.uint8, pin_memory=pin)
    torch.cat(parts, out=flat)
    return Parcel(rest, names, written.getvalue(), flat, views)


def _is_plain(value: Any) -> bool:
    return type(value) is Tensor and value.is_cpu and value.layout is torch.strided and not value.requires_grad


class _Writer(pickle.Pickler):
    """Writes the number of a tensor instead of the tensor."""

    def __init__(self, file: io.BytesIO, tensors: list[Tensor]):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.tensors = tensors
        self.numbers = {id(one): number for number, one in enumerate(tensors)}

    def persistent_id(self, one: Any) -> int | None:
        if type(one) is not Tensor:
            return None
        if id(one) not in self.numbers:
            self.numbers[id(one)] = len(self.tensors)
            self.tensors.append(one)
        return self.numbers[id(one)]


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, tensors: list[Tensor]):
        super().__init__(file)
        self.tensors = tensors

    def persistent_load(self, number: int) -> Tensor:
        return self.tensors[number]
