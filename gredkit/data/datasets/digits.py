import numpy as np
import torch
from torch_geometric.data import Data

from gredkit.data.objectives import objective
from gredkit.data.shares import stratified_splits
from gredkit.data.task import GraphSpec, Task
from gredkit.errors import UserError
from gredkit.registry import DATASETS

SIDE, INK = 8, 16  # pixels, and the darkest of them


@DATASETS.register("digits")
def digits(
    neighbours: int = 8, positions: bool = True, train: float = 0.6, validation: float = 0.2, seed: int = 0
) -> Task:
    """Name the handwritten digit; nodes are its pixels with ink, joined to the neighbouring ones."""
    from sklearn.datasets import load_digits

    source = load_digits()
    images, labels = source.images.astype(np.int64), source.target.astype(np.int64)
    edges = _grid(neighbours)

    def graph(image: np.ndarray, label: int) -> Data:
        ink = image.ravel() > 0
        place = ink.nonzero()[0]
        columns = [image.ravel()[ink] / INK, place // SIDE / (SIDE - 1), place % SIDE / (SIDE - 1)]
        number = ink.cumsum() - 1
        return Data(
            x=torch.from_numpy(np.stack(columns if positions else columns[:1], 1)).float(),
            edge_index=torch.from_numpy(number[edges[:, ink[edges].all(0)]]),
            y=torch.tensor([label]),
        )

    return Task(
        name="digits",
        spec=GraphSpec(nodes=3 if positions else 1, outputs=10),
        graphs=[graph(image, label) for image, label in zip(images, labels.tolist(), strict=True)],
        splits=stratified_splits(labels, train, validation, seed),
        objective=objective("classification"),
    )


def _grid(neighbours: int) -> np.ndarray:
    """Neighbouring pixels, both ways. Shape: -> [2, edges]"""
    if neighbours not in (4, 8):
        raise UserError(f"a pixel has 4 neighbours, or 8 with the diagonal ones, not {neighbours}")
    row, column = np.divmod(np.arange(SIDE**2), SIDE)
    down, across = abs(row[:, None] - row), abs(column[:, None] - column)
    distance = np.maximum(down, across) if neighbours == 8 else down + across
    return np.stack((distance == 1).nonzero())
