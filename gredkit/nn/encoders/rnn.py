from torch import nn

from gredkit.nn.encoders.recurrent import Recurrent
from gredkit.registry import ENCODERS


@ENCODERS.register("rnn")
class RNN(Recurrent):
    """Vanilla RNN, the paper's GRED_RNN.

    s_k = tanh(W z_{v,k} + U s_{k+1} + b);  y_v = W_out s_0
    Starts with orthogonal recurrence unless `init='pytorch'`.
    An empty hop that is read is one more step on z_∅; one that is not read is no step at all.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    torch_class = nn.RNN
