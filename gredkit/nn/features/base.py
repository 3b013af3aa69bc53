"""What a feature encoder is."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from gredkit.data.task import Columns
from gredkit.errors import UserError


class FeatureEncoder(nn.Module, ABC):
    """Turns what a node or an edge carries into one row; built as `FeatureEncoder(columns, dim)`.

    Shape: x [items] or [items, columns] -> [items, dim]
    """

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor: ...


def usual_features(columns: Columns) -> str:
    """The name of the feature encoder for columns of a kind."""
    return "dense" if isinstance(columns, int) else "categorical"


def vocabularies(columns: Columns) -> tuple[int, ...]:
    """The vocabulary sizes, for encoders that need categorical columns."""
    if isinstance(columns, int):
        raise UserError(f"these features are {columns} dense columns, not categories: use the 'dense' feature encoder")
    return tuple(columns)
