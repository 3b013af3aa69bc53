"""The interface of a sequence encoder."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from gredkit import ranges
from gredkit.nn.hop_index import HopIndex


class SequenceEncoder(nn.Module, ABC):
    """Reads the sequence of each node's hops, from the farthest to the target, into one row per node.

    The sequences are those of `hops`, at their true lengths. The layer decides whether they contain empty
    hops; an empty hop reads the row of the empty set, which is the last row of z.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    dim: width of the rows, the only argument that the layer passes
    """

    has_direction: ClassVar[bool] = True  # whether it reads one hop after another, so that from where to where matters

    @abstractmethod
    def forward(self, z: Tensor, hops: HopIndex) -> Tensor: ...

    def recurrent_parameters(self) -> list[nn.Parameter]:
        """The parameters of the recurrence, which have no weight decay and their own learning rate."""
        return []

    def eigenvalues(self) -> Tensor | None:
        """The eigenvalues of a linear recurrence, which multiply the state at each hop. Shape: [state_dim], complex"""
        return None

    def hop_weights(self, width: int) -> Tensor | None:
        """How strongly hops k = 0..width - 1 contribute, for encoders with y_v = Σ_k M_k z_{v,k}; else None.

        The weight ‖M_k‖_F / sqrt(dim) is the root mean square of what hop k adds to an output if the entries of
        z are independent with variance 1, which the layer norm before roughly ensures. Shape: [width]
        """
        return None


def check_state(dim: int, state_dim: int | None) -> None:
    """Raise if the width of a model or of its state is invalid; state_dim=None means the model's width."""
    ranges.width("dim", dim)
    if state_dim is not None:
        ranges.width("state_dim", state_dim)


def by_hop(x: Tensor, hops: HopIndex) -> Tensor:
    """What stands at each hop of each node, zero beyond the end. Shape: x [sets + 1, d] -> [nodes, width, d]"""
    return hops.grid.sum(x).view(hops.num_nodes, hops.width, x.shape[1])


def weights(*layers: nn.Linear) -> list[nn.Parameter]:
    """The matrices of linear layers, without their biases."""
    return [one for layer in layers for name, one in layer.named_parameters() if name == "weight"]


def initial_steps(size: int, dt_min: float, dt_max: float) -> Tensor:
    """log Δ for steps that are log-uniform in [dt_min, dt_max], as state space models start. Shape: [size]"""
    ranges.positive("dt_min", dt_min)
    ranges.number("dt_max", dt_max, lambda dt: dt_min <= dt <= 100, f"a step from dt_min, which is {dt_min}, to 100")
    return math.log(dt_min) + torch.rand(size) * (math.log(dt_max) - math.log(dt_min))
