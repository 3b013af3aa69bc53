from torch import Tensor

from gredkit import ranges
from gredkit.data.task import Columns
from gredkit.errors import UserError
from gredkit.nn.dense import Embed
from gredkit.nn.features.base import FeatureEncoder, vocabularies
from gredkit.registry import FEATURES


@FEATURES.register("embedding")
class Embedding(FeatureEncoder):
    """Embedding of a single symbol, given as a number or as a one-hot row: the published encoder for PATTERN.

    Shape: x [items], [items, 1] or one-hot [items, vocabulary] -> [items, dim]

    std: initial standard deviation of the embeddings; None is 1/√dim, the published code has 0.01
    """

    def __init__(self, columns: Columns, dim: int, std: float | None = None):
        super().__init__()
        ranges.width("dim", dim)
        sizes = vocabularies(columns)
        if len(sizes) != 1:
            raise UserError(f"'embedding' takes one symbol, not {len(sizes)} columns: use 'categorical'")
        self.embed = Embed(sizes[0], dim, std)

    def forward(self, x: Tensor) -> Tensor:
        one_hot = x.dim() == 2 and x.shape[1] > 1
        return self.embed(x.argmax(1) if one_hot else x.view(len(x)).long())
