from torch import nn

from gredkit.nn.encoders.recurrent import Recurrent
from gredkit.nn.kernels import known
from gredkit.registry import ENCODERS


@ENCODERS.register("lstm")
@known.known
class LSTM(Recurrent):
    """Long short-term memory over hops, farthest first, read at the target: GRED_LSTM in the paper.

    (s_k, c_k) = LSTM(z_{v,k}, (s_{k+1}, c_{k+1}));  y_v = W_out s_0
    Starts with an orthogonal recurrence and a forget bias of 1, unless init='pytorch'.
    With empty_hops='constant', an empty hop is one more step on z_∅; with 'zero' it is skipped.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    state_dim: width of the state; None takes the model's
    stacked_layers: number of recurrent layers, each of which reads the states of the one before
    init: 'orthogonal', or 'pytorch' for PyTorch's own initialisation
    """

    torch_class = nn.LSTM
    gates, keeps = 4, 1  # input, forget, cell, output
