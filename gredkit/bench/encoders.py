"""The sequence encoders, forward and backward, compared with plain PyTorch modules on the same sequences."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from rich.table import Table
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_sequence
from torch_geometric.data import Batch

from gredkit import HopIndex, add_hops
from gredkit.bench.measure import interleave, milliseconds, show
from gredkit.bench.settings import Setting, chosen
from gredkit.nn.encoders.lru import LRU, MODES
from gredkit.registry import ENCODERS

BATCHES = ("zinc", "peptides")
KERNELS: dict[str, Callable[[int, int], nn.RNNBase]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
REPEATS = 5

Kernel = Callable[[int, list[Tensor]], Callable[[], object]]  # makes a forward and backward pass over sequences


def run(quick: bool = False) -> dict[str, Any]:
    """Every encoder on every batch, in turns with the PyTorch module; then the modes of the LRU."""
    return {name: _batch(chosen(name, quick), 1 if quick else REPEATS) for name in BATCHES}


def _batch(setting: Setting, repeats: int) -> dict[str, Any]:
    torch.manual_seed(0)
    batch = Batch.from_data_list([add_hops(graph, setting.K) for graph in setting.graphs(setting.batch)])
    hops = HopIndex.of(batch).with_empty_hops  # as in a layer
    z = torch.randn(hops.num_sets + 1, setting.dim, requires_grad=True)
    sequences = [z.detach()[sets].flip(0) for sets in hops.seq_set.split(hops.seq_length.tolist())]
    kernels: dict[str, Kernel] = {name: partial(_recurrent, name) for name in KERNELS}
    kernels["attention"] = _attention
    rows = {
        name: _race(ENCODERS[name](setting.dim), z, hops, kernel(setting.dim, sequences), repeats)
        for name, kernel in kernels.items()
    }
    ways = {mode: _reading(LRU(setting.dim, setting.state_dim, mode=mode), z, hops) for mode in MODES}
    timings = interleave(ways, repeats)
    return {
        "size": {"nodes": hops.num_nodes, "sets": hops.num_sets, "rows": hops.seq_set.numel(), "dim": setting.dim},
        "graphs": setting.source,
        "encoders": rows,
        "lru": {mode: milliseconds(timing) for mode, timing in timings.items()},
    }


def _race(encoder: nn.Module, z: Tensor, hops: HopIndex, kernel: Callable[[], object], repeats: int) -> dict[str, Any]:
    timings = interleave({"gredkit": _reading(encoder, z, hops), "kernel": kernel}, repeats)
    return {
        "time_vs_kernel": timings["gredkit"].median / timings["kernel"].median,
        "contestants": {name: milliseconds(timing) for name, timing in timings.items()},
    }


def _reading(encoder: nn.Module, z: Tensor, hops: HopIndex) -> Callable[[], object]:
    """An encoder's forward and backward pass; what is computed once per batch for all layers is not timed."""
    encoder(z, hops)
    return partial(_backward, partial(encoder, z, hops))


def _backward(forward: Callable[[], Tensor]) -> None:
    out = forward()
    out.backward(torch.ones_like(out))


def _recurrent(name: str, dim: int, sequences: list[Tensor]) -> Callable[[], object]:
    """The PyTorch module over packed sequences, read at its last state."""
    kernel = KERNELS[name](dim, dim)
    lengths = torch.tensor([len(one) for one in sequences])
    packed = pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=False)
    leaf = packed.data.requires_grad_()
    ready = PackedSequence(leaf, packed.batch_sizes)

    def last() -> Tensor:
        _, state = kernel(ready)
        return state[0] if isinstance(state, tuple) else state

    return partial(_backward, last)


def _attention(dim: int, sequences: list[Tensor]) -> Callable[[], object]:
    """PyTorch's multi-head attention over padded sequences; only the target is a query."""
    kernel = nn.MultiheadAttention(dim, 8, batch_first=True)
    padded = pad_sequence(sequences, batch_first=True).requires_grad_()
    target = torch.stack([one[-1] for one in sequences])[:, None].requires_grad_()
    lengths = torch.tensor([len(one) for one in sequences])
    hidden = torch.arange(padded.shape[1]) >= lengths[:, None]
    return partial(_backward, lambda: kernel(target, padded, padded, key_padding_mask=hidden, need_weights=False)[0])


def table(result: dict[str, Any]) -> Table:
    """One row per batch and encoder."""
    title = "the encoder of one layer, forward and backward, ms: median (quartiles)"
    shown = Table(title=title, title_justify="left", title_style="bold")
    for column in ("batch", "rows", "encoder", "gredkit", "plain PyTorch module", "gredkit takes"):
        shown.add_column(column, justify="right")
    for name, found in result.items():
        about = (f"{name} ({found['graphs']})", f"{found['size']['rows']:,}")
        for encoder, row in found["encoders"].items():
            times = [show(row["contestants"][one]) for one in ("gredkit", "kernel")]
            shown.add_row(*about, encoder, *times, f"{row['time_vs_kernel']:.2f} x")
            about = ("", "")
        for mode, row in found["lru"].items():
            shown.add_row("", "", f"lru, {mode}", show(row), "", "")
        shown.add_section()
    return shown
