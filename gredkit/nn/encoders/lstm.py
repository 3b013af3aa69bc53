from torch import nn

from gredkit.nn.encoders.recurrent import Recurrent
from gredkit.registry import ENCODERS


@ENCODERS.register("lstm")
class LSTM(Recurrent):
    """Long short-term memory, the paper's GRED_LSTM.

    (s_k, c_k) = LSTM(z_{v,k}, (s_{k+1}, c_{k+1}));  y_v = W_out s_0
    Starts with orthogonal recurrence and a forget bias of 1 unless `init='pytorch'`.
    An empty hop that is read is one more step on z_∅; one that is not read is no step at all.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    torch_class = nn.LSTM
    gates, keeps = 4, 1  # input, forget, cell, output
