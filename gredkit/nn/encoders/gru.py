from torch import nn

from gredkit.nn.encoders.recurrent import Recurrent
from gredkit.nn.kernels import known
from gredkit.registry import ENCODERS


@ENCODERS.register("gru")
@known.known
class GRU(Recurrent):
    """Gated recurrent unit over hops, farthest first, read at the target.

    s_k = GRU(z_{v,k}, s_{k+1});  y_v = W_out s_0
    Starts with an orthogonal recurrence and a bias of 1 in the update gate (which in PyTorch keeps the state, as
    the forget gate of an LSTM does), unless init='pytorch'.
    With empty_hops='constant', an empty hop is one more step on z_∅; with 'zero' it is skipped.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    state_dim: width of the state; None takes the model's
    stacked_layers: number of recurrent layers, each of which reads the states of the one before
    init: 'orthogonal', or 'pytorch' for PyTorch's own initialisation
    """

    torch_class = nn.GRU
    gates, keeps = 3, 1  # reset, update, new
