from torch import nn

from gredkit.nn.encoders.recurrent import Recurrent
from gredkit.registry import ENCODERS


@ENCODERS.register("gru")
class GRU(Recurrent):
    """Gated recurrent unit.

    s_k = GRU(z_{v,k}, s_{k+1});  y_v = W_out s_0
    Starts with orthogonal recurrence and a bias of 1 of the update gate, which in PyTorch keeps the state as an
    LSTM's forget gate does, unless `init='pytorch'`.
    An empty hop that is read is one more step on z_∅; one that is not read is no step at all.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    torch_class = nn.GRU
    gates, keeps = 3, 1  # reset, update, new
