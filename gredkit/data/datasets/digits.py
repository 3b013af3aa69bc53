from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.objectives import objective
from gredkit.data.splits import check_shares, seeded_split
from gredkit.data.task import GraphSpec, Task
from gredkit.errors import UserError
from gredkit.registry import DATASETS

SIDE, INK = 8, 16  # pixels per side, and the value of the darkest pixel


@DATASETS.register("digits")
def digits(
    neighbours: int = 8, positions: bool = True, train: float = 0.6, validation: float = 0.2, seed: int = 0
) -> Task:
    """Classify handwritten digits; the nodes are the pixels with ink, connected to the neighbouring ones.

    The 1797 real images of 8 x 8 pixels that come with scikit-learn. A node has its intensity and, as in the
    superpixel benchmarks, its row and column, all between 0 and 1. Blank pixels are left out, so that the graph
    follows the strokes: 33 nodes and a diameter of 7 to 11 (with 4 neighbours 8 to 18). With all 64 pixels,
    every digit would be the same grid. Chance is 1 / 10.

    neighbours: 8, or 4 to leave out the diagonal ones
    positions: whether nodes have their row and column; otherwise the shape must be read from the hops
    train, validation: shares of the images of each digit; the rest is for the test
    seed: determines the split
    """
    edges = _grid(neighbours)
    check_shares(train, validation)
    ranges.seed(seed)
    images, labels = _images()

    def graph(image: np.ndarray, label: int) -> Data:
        ink = image.ravel() > 0
        place = ink.nonzero()[0]
        columns = [image.ravel()[ink] / INK, place // SIDE / (SIDE - 1), place % SIDE / (SIDE - 1)]
        number = ink.cumsum() - 1
        return Data(
            x=torch.from_numpy(np.stack(columns if positions else columns[:1], 1)).float(),
            edge_index=torch.from_numpy(number[edges[:, ink[edges].all(0)]]),
            y=torch.tensor([label]),
            pos=torch.from_numpy(np.stack([place % SIDE, place // SIDE], 1)).float(),  # for drawings
        )

    return Task(
        name="digits",
        spec=GraphSpec(nodes=3 if positions else 1, outputs=10),
        graphs=[graph(image, label) for image, label in zip(images, labels.tolist(), strict=True)],
        splits=seeded_split(len(labels), seed, labels, train, validation),
        objective=objective("classification"),
    )


def _images() -> tuple[np.ndarray, np.ndarray]:
    """Images and labels. Shape: -> [images, SIDE, SIDE], [images]

    Only the file of scikit-learn is read: importing the package takes more than a second.
    """
    package = find_spec("sklearn")
    file = Path(package.origin).parent / "datasets/data/digits.csv.gz" if package and package.origin else None
    if file is None or not file.is_file():
        from sklearn.datasets import load_digits

        source = load_digits()
        return source.images.astype(np.int64), source.target.astype(np.int64)
    table = np.loadtxt(file, np.int64, delimiter=",")
    return table[:, :-1].reshape(-1, SIDE, SIDE), table[:, -1]


def _grid(neighbours: int) -> np.ndarray:
    """Pairs of neighbouring pixels, in both directions. Shape: -> [2, edges]"""
    if neighbours not in (4, 8):
        raise UserError(f"a pixel has 4 neighbours, or 8 with the diagonal ones, not {ranges.said(neighbours)}")
    row, column = np.divmod(np.arange(SIDE**2), SIDE)
    down, across = abs(row[:, None] - row), abs(column[:, None] - column)
    distance = np.maximum(down, across) if neighbours == 8 else down + across
    return np.stack((distance == 1).nonzero())
