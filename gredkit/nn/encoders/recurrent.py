from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from gredkit import ranges
from gredkit.nn.dense import Dense, scaled_normal_
from gredkit.nn.encoders.base import SequenceEncoder, check_state
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels import encoder_ops, known
from gredkit.nn.kernels.encoders import Encoder
from gredkit.nn.kernels.usable import can_fuse

INITS = ("orthogonal", "pytorch")


class Recurrent(SequenceEncoder):
    """One of PyTorch's recurrent networks over packed sequences, farthest hop first: y_v = W_out s_v.

    `state_dim` is the width of the state (None: that of the model), `stacked_layers` the number of recurrent layers,
    of which each reads the states of the one before it. `init='orthogonal'` is the start from which such networks are
    known to learn over long distances, and close to that of the LRU, whose eigenvalues begin near the unit circle:
    each gate's recurrent matrix is orthogonal, input weights have variance 1 / fan_in, biases are zero, and the bias
    of the gate that keeps the state is 1. `init='pytorch'` is PyTorch's own start, uniform in ±1/√state_dim, whose
    recurrence shrinks a state to about 0.6 of its size with each hop.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    torch_class: Callable[..., nn.RNNBase]
    gates: ClassVar[int] = 1  # blocks of rows in PyTorch's matrices
    keeps: ClassVar[int | None] = None  # which of them is the gate that keeps the state

    def __init__(self, dim: int, state_dim: int | None = None, stacked_layers: int = 1, init: str = "orthogonal"):
        super().__init__()
        check_state(dim, state_dim)
        ranges.whole("stacked_layers", stacked_layers, 1, 100)
        ranges.one_of("init", init, INITS)
        state_dim = state_dim or dim
        self.init = init
        self.rnn = self.torch_class(dim, state_dim, stacked_layers)
        self.out = Dense(state_dim, dim)
        if init == "orthogonal":
            self._reset()

    @torch.no_grad()
    def _reset(self) -> None:
        for name, parameter in self.rnn.named_parameters():
            if name.startswith("weight_hh"):
                for gate in parameter.chunk(self.gates):
                    nn.init.orthogonal_(gate)
            elif name.startswith("weight_ih"):
                scaled_normal_(parameter, 1 / parameter.shape[1])
            else:
                nn.init.zeros_(parameter)
                if self.keeps is not None and name.startswith("bias_ih"):  # PyTorch adds two biases: 1 in all
                    nn.init.ones_(parameter.chunk(self.gates)[self.keeps])

    def recurrent_parameters(self) -> list[nn.Parameter]:
        """As in the LRU: the weights from the input to the state, and from state to state."""
        return [parameter for name, parameter in self.rnn.named_parameters() if name.startswith("weight")]

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        if (y := self._by_kernels(z, hops)) is not None:
            return y
        rows, batch_sizes, place = hops.packed
        # PyTorch's LSTM does not check the width of packed sequences, and would read and write beyond their memory.
        if isinstance(self.rnn, nn.LSTM) and z.shape[-1] != self.rnn.input_size:
            raise RuntimeError(f"this LSTM takes rows of {self.rnn.input_size} numbers, not of {z.shape[-1]}")
        _, state = self.rnn(PackedSequence(rows.sum(z), batch_sizes))
        last = state[0] if isinstance(state, tuple) else state  # an LSTM's cell state is not read
        return self.out(last[-1][place])

    def _by_kernels(self, z: Tensor, hops: HopIndex) -> Tensor | None:
        """The same function, if kernels can compute it from these rows. Shape: [nodes, dim]

        They share the inputs of the gates among the nodes that read a set, and states among nodes whose sequences agree
        from the farthest hop on.
        """
        kind = known.kind_of(self)
        if not can_fuse(z) or not known.is_itself(hops) or z.shape[:-1] != (hops.num_sets + 1,):
            return None
        if kind not in known.RECURRENT or (found := known.read((known.RECURRENT[kind], self), d=z.shape[1])) is None:
            return None
        return encoder_ops.encoder(Encoder(kind, hops.states), z, hops.index, found.weights[0])

    def extra_repr(self) -> str:
        return f"init={self.init!r}"
