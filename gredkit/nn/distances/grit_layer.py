import torch
from torch import Tensor, nn

from gredkit.nn.convolutions.norm import BatchNorm
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.distances.signed_root import signed_root
from gredkit.nn.segments import segment_softmax, sum_entries

CLAMP = 5.0  # of the scores, as published


class GRITLayer(nn.Module):
    """Attention that reads and updates a row for each pair of nodes, and tells how many neighbours a node has.

    For a target i, a source j and each head:  s_ij = relu(ρ((Q h_i + K h_j) ⊙ E_w e_ij) + E_b e_ij),
    ρ(x) = sign(x) sqrt(|x|);  α_ij = softmax_j(clamp(a·s_ij, ±5));  o_i = Σ_j drop(α_ij) (V h_j + R s_ij)
    o_i ← drop(o_i) ⊙ (c_0 + c_1 ln(1 + degree_i));  h_i ← BN(h_i + O_h o_i);  e_ij ← BN(e_ij + O_e drop(s_ij))
    h_i ← BN(h_i + W_2 drop(relu(W_1 h_i))),  W_1: dim → 2 dim.  Ma et al., ICML 2023.
    Shape: h [nodes, dim], e [pairs, dim], log_degree [nodes] -> h, e

    heads: attention heads, which divide dim. dropout: share of what is dropped in each block. attention_dropout: share
    of the attention weights.
    """

    def __init__(self, dim: int, heads: int, dropout: float = 0.0, attention_dropout: float = 0.0):
        super().__init__()
        width = dim // heads
        self.heads = heads
        self.query, self.key = nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)
        self.value, self.pair = nn.Linear(dim, dim, bias=False), nn.Linear(dim, 2 * dim)
        self.score = nn.Parameter(torch.empty(width, heads, 1))  # a
        self.read = nn.Parameter(torch.empty(width, heads, width))  # R: in, head, out
        self.degree = nn.Parameter(torch.empty(1, dim, 2))  # c_0 and c_1
        for weight in (*(m.weight for m in (self.query, self.key, self.value, self.pair)),
                       self.score, self.read, self.degree):  # fmt: skip
            nn.init.xavier_normal_(weight)
        self.out, self.pair_out = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.norm, self.pair_norm, self.last_norm = BatchNorm(dim), BatchNorm(dim), BatchNorm(dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.dropout, self.attention_dropout = nn.Dropout(dropout), nn.Dropout(attention_dropout)

    def forward(
        self, h: Tensor, e: Tensor, log_degree: Tensor, pairs: AllPairs, is_last: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Behind the last layer nobody reads the pairs, and they stay as they are."""
        o, s = self.attention(h, e, pairs)
        o = self.dropout(o)
        o = o * self.degree[0, :, 0] + log_degree.to(o.dtype)[:, None] * o * self.degree[0, :, 1]
        h = self.norm(h + self.out(o))
        if not is_last:
            e = self.pair_norm(e + self.pair_out(self.dropout(s)))
        return self.last_norm(h + self.down(self.dropout(self.up(h).relu()))), e

    def attention(self, h: Tensor, e: Tensor, pairs: AllPairs) -> tuple[Tensor, Tensor]:
        """What a node reads, and the rows s of the pairs. Shape: -> [nodes, dim], [pairs, dim]"""
        by_head = (-1, self.heads, h.shape[1] // self.heads)
        factor, shift = self.pair(e).view(len(e), self.heads, -1).chunk(2, 2)
        s = pairs.to_first.sum(self.query(h)) + pairs.to_second.sum(self.key(h))
        s = (signed_root(s.view(by_head) * factor) + shift).relu()
        score = torch.einsum("phw,wh->ph", s, self.score[..., 0].to(s.dtype)).clamp(-CLAMP, CLAMP)
        weight = self.attention_dropout(segment_softmax(score, pairs.by_first))[..., None]
        values = pairs.to_second.sum(self.value(h)).view(by_head)
        o = sum_entries((weight * values).flatten(1), pairs.by_first).view(by_head)
        of_pairs = sum_entries((weight * s).flatten(1), pairs.by_first).view(by_head)
        o = o + torch.einsum("nhw,whv->nhv", of_pairs, self.read.to(of_pairs.dtype))
        return o.flatten(1), s.flatten(1)
