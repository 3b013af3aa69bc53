from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.nn.convolutions.norm import norm_of
from gredkit.nn.dense import Dense, dtype_of, gelu_mlp
from gredkit.nn.positional.base import PositionalEncoding
from gredkit.nn.positional.graph import adjacency_matrix, normalised
from gredkit.registry import POSITIONAL

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CELLS = 2**22  # numbers in the dense block that is held at a time


@POSITIONAL.register("rwse")
class RWSE(PositionalEncoding):
    """Probability that a random walk is back at its start after t steps, followed by two dense layers.

    Dense(gelu(Dense(p_v))),  p_{v,t} = ((D^-1 A)^t)_{vv},  t = 1 … steps;  p_v = 0 for an isolated node
    GraphGPS and the baselines that use its code have Dense(BN(p_v)): batch_norm=True, dense_layers=1.
    Shape: [nodes, steps] -> [nodes, width]

    steps: longest walk
    width: number of columns added to the node features
    batch_norm: whether a batch norm comes first
    dense_layers: 2 or 1
    gelu: 'erf' (exact) or 'tanh' (as published); None takes the model's
    """

    key = "pe_rwse"
    depends_on = ("steps",)

    def __init__(
        self,
        steps: int = 16,
        width: int = 16,
        gelu: str | None = None,
        batch_norm: bool = False,
        dense_layers: int = 2,
    ):
        super().__init__()
        ranges.width("steps", steps)
        ranges.width("width", width)
        ranges.whole("dense_layers", dense_layers, 1, 2)
        self.steps, self.width = steps, width
        self.norm = norm_of("batch" if batch_norm else "none", steps)
        self.mlp = gelu_mlp(steps, width, width, gelu) if dense_layers == 2 else Dense(steps, width)

    def precompute(self, data: Data) -> Tensor:
        return torch.from_numpy(return_probabilities(adjacency_matrix(data), self.steps)).float()

    def encode(self, values: Tensor, batch: Data) -> Tensor:
        return self.mlp(self.norm(values.to(dtype_of(self.mlp))))


def return_probabilities(A: csr_array, steps: int, cells: int = CELLS) -> np.ndarray:
    """The diagonals of (D^-1 A)^t for t = 1 … steps, computed for a block of columns at a time.

    S = D^-1/2 A D^-1/2 has the same diagonals. Because S is symmetric, half of the powers are enough:
    (S^{a+b})_vv = <S^a e_v, S^b e_v>.
    Shape: [nodes, nodes] -> [nodes, steps]
    """
    S, nodes = normalised(A), A.shape[0]
    result = np.zeros((nodes, steps))
    block = max(cells // max(nodes, 1), 1)
    for start in range(0, nodes, block):
        columns = np.arange(start, min(start + block, nodes))
        power = np.zeros((nodes, len(columns)))
        power[columns, columns - start] = 1
        for t in range(1, steps + 1, 2):
            last, power = power, S @ power
            result[columns, t - 1] = np.einsum("uv,uv->v", last, power)
            if t < steps:
                result[columns, t] = np.einsum("uv,uv->v", power, power)
    return result
