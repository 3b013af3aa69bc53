"""The interface of a feature encoder."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from gredkit.data.task import Columns
from gredkit.errors import UserError


class FeatureEncoder(nn.Module, ABC):
    """Turns the features of a node or an edge into one row of the model's width.

    Shape: x [items] or [items, columns] -> [items, dim]

    columns: the number of dense columns, or the vocabulary size of each categorical one
    dim: width of the rows
    """

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor: ...


def usual_features(columns: Columns) -> str:
    """The default feature encoder: 'dense' for numbers, 'categorical' for categories."""
    return "dense" if isinstance(columns, int) else "categorical"


def vocabularies(columns: Columns) -> tuple[int, ...]:
    """The vocabulary sizes, for encoders that need categorical columns."""
    if isinstance(columns, int):
        raise UserError(f"these features are {columns} dense columns, not categories: use the 'dense' feature encoder")
    return tuple(columns)
