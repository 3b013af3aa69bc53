"""The sequence encoders: a training step compared with the LRU's, and a layer compared with PyTorch's own module."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from rich.table import Table
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_sequence
from torch_geometric.data import Batch, Data

from gredkit import HopIndex, add_hops
from gredkit.bench.measure import Timing, interleave, milliseconds, show
from gredkit.bench.settings import SETTINGS, Setting, chosen
from gredkit.bench.training import training
from gredkit.nn.encoders.lru import LRU, MODES
from gredkit.registry import ENCODERS

BASE = "lru"
RECURRENT: dict[str, Callable[[int, int], nn.RNNBase]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
GRAPHS = {"zinc": 32, "peptides": 8, "cifar10": 16}  # in the batch
REPEATS = 9

Pass = Callable[[], object]  # forward and backward
Module = Callable[[int, list[Tensor]], Pass]  # of PyTorch, over sequences


def run(quick: bool = False) -> dict[str, Any]:
    """Every encoder in every setting, in turns."""
    return {name: _setting(chosen(name, quick), 4 if quick else GRAPHS[name], quick) for name in SETTINGS}


def _setting(setting: Setting, graphs: int, quick: bool) -> dict[str, Any]:
    repeats = 1 if quick else REPEATS
    batch = Batch.from_data_list([add_hops(graph, setting.K) for graph in setting.graphs(graphs)])
    steps = interleave({name: _step(setting, name, batch) for name in ENCODERS}, repeats)
    rows: dict[str, Any] = {name: _row(timing.per(graphs), steps[BASE].per(graphs)) for name, timing in steps.items()}
    hops = HopIndex.of(batch).with_empty_hops  # as in a layer
    z = torch.randn(hops.num_sets + 1, setting.dim, requires_grad=True)
    sequences = [z.detach()[sets].flip(0) for sets in hops.seq_set.split(hops.seq_length.tolist())]
    modules: dict[str, Module] = {name: partial(_recurrent, name) for name in RECURRENT}
    for name, module in (modules | {"attention": _attention}).items():
        ours, theirs = _reading(ENCODERS[name](setting.dim), z, hops), module(setting.dim, sequences)
        timings = interleave({"gredkit": ours, "torch": theirs}, repeats)
        rows[name]["vs_torch"] = timings["torch"].median / timings["gredkit"].median
        rows[name]["one_layer"] = {who: milliseconds(timing) for who, timing in timings.items()}
    ways = {mode: _reading(LRU(setting.dim, setting.state_dim, mode=mode), z, hops) for mode in MODES}
    modes = {mode: milliseconds(timing) for mode, timing in interleave(ways, repeats).items()}
    return {
        name: {**row, "graphs": setting.source, **({"modes": modes} if name == BASE else {})}
        for name, row in rows.items()
    }


def _row(timing: Timing, base: Timing) -> dict[str, Any]:
    return {"vs_lru": timing.median / base.median, **milliseconds(timing, "ms_per_graph")}


def _step(setting: Setting, encoder: str, batch: Data) -> Pass:
    """A training step of the whole model."""
    torch.manual_seed(0)
    return partial(training(setting.build(encoder), setting.loss), batch)


def _reading(encoder: nn.Module, z: Tensor, hops: HopIndex) -> Pass:
    """An encoder's forward and backward pass; what is computed once per batch for all layers is not timed."""
    encoder(z, hops)
    return partial(_backward, partial(encoder, z, hops))


def _backward(forward: Callable[[], Tensor]) -> None:
    out = forward()
    out.backward(torch.ones_like(out))


def _recurrent(name: str, dim: int, sequences: list[Tensor]) -> Pass:
    """The PyTorch module over packed sequences, read at its last state."""
    module = RECURRENT[name](dim, dim)
    lengths = torch.tensor([len(one) for one in sequences])
    packed = pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=False)
    leaf = packed.data.requires_grad_()
    ready = PackedSequence(leaf, packed.batch_sizes)

    def last() -> Tensor:
        _, state = module(ready)
        return state[0] if isinstance(state, tuple) else state

    return partial(_backward, last)


def _attention(dim: int, sequences: list[Tensor]) -> Pass:
    """PyTorch's multi-head attention over padded sequences; only the target is a query."""
    module = nn.MultiheadAttention(dim, 8, batch_first=True)
    padded = pad_sequence(sequences, batch_first=True).requires_grad_()
    target = torch.stack([one[-1] for one in sequences])[:, None].requires_grad_()
    lengths = torch.tensor([len(one) for one in sequences])
    hidden = torch.arange(padded.shape[1]) >= lengths[:, None]
    return partial(_backward, lambda: module(target, padded, padded, key_padding_mask=hidden, need_weights=False)[0])


def table(result: dict[str, Any]) -> Table:
    """One row per setting and encoder."""
    title = """the encoders: a training step of the model; of one layer, forward and backward: median (quartiles)
PyTorch's modules read the same sequences, packed or padded; `lru` also by each of its modes"""
    shown = Table(title=title, title_justify="left", title_style="bold")
    for column in ("setting", "encoder", "ms per graph", "takes", "one layer, ms", "PyTorch's module", "faster"):
        shown.add_column(column, justify="right")
    for name, found in result.items():
        about = f"{name} ({found[BASE]['graphs']})"
        for encoder, row in found.items():
            layer = row.get("one_layer")
            times = [show(layer["gredkit"]), show(layer["torch"]), f"{row['vs_torch']:.2f} x"] if layer else [""] * 3
            shown.add_row(about, encoder, show(row, "ms_per_graph"), f"{row['vs_lru']:.2f} x", *times)
            about = ""
        for mode, row in found[BASE]["modes"].items():
            shown.add_row("", f"{BASE}, {mode}", "", "", show(row), "", "")
        shown.add_section()
    return shown
