from torch import Tensor

from gredkit import ranges
from gredkit.data.task import Columns
from gredkit.errors import UserError
from gredkit.nn.dense import dtype_of, gelu_mlp
from gredkit.nn.features.base import FeatureEncoder
from gredkit.registry import FEATURES


@FEATURES.register("dense")
class DenseFeatures(FeatureEncoder):
    """Two dense layers over real-valued columns: the published encoder for superpixels.

    Dense(gelu(Dense(x)))
    Shape: x [items] or [items, columns] -> [items, dim]

    gelu: 'erf' (exact) or 'tanh' (as published); None takes the model's
    """

    def __init__(self, columns: Columns, dim: int, gelu: str | None = None):
        super().__init__()
        ranges.width("dim", dim)
        if not isinstance(columns, int):
            raise UserError(
                f"'dense' takes real-valued columns, not {len(columns)} categorical ones: use 'categorical'"
            )
        self.columns = columns
        self.mlp = gelu_mlp(columns, dim, dim, gelu)

    def forward(self, x: Tensor) -> Tensor:
        return self.mlp(x.reshape(len(x), self.columns).to(dtype_of(self.mlp)))
