import numpy as np
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.objectives import objective
from gredkit.data.sbm import random_blocks, random_edges, shuffled_graph
from gredkit.data.splits import consecutive_split
from gredkit.data.task import GraphSpec, Task
from gredkit.registry import DATASETS

BLOCKS, WITHIN, BETWEEN = 6, 0.55, 0.25


@DATASETS.register("cluster_sbm")
def cluster_sbm(train: int = 500, validation: int = 100, test: int = 100, seed: int = 0) -> Task:
    """Find the six blocks of a random graph, in each of which one node tells its number.

    CLUSTER of Dwivedi et al. (2023), drawn anew with the published parameters, since its seed was not
    published: two nodes of a block are joined with probability 0.55, others with 0.25; the symbol of a node
    is 0, but that of one node a block is the number of the block, from 1. The benchmark has 10000 graphs to
    train and 1000 each to validate and test. Chance is 1 / 6.
    """
    ranges.seed(seed)
    splits = consecutive_split(train, validation, test)
    rng = np.random.default_rng(seed)

    def graph() -> Data:
        block = random_blocks(rng, BLOCKS)
        adjacent = random_edges(rng, np.where(block[:, None] == block, WITHIN, BETWEEN))
        symbol = np.zeros_like(block)
        number, first = np.unique(block, return_index=True)  # once shuffled, the first node is any node of its block
        symbol[first] = number + 1
        return shuffled_graph(rng, adjacent, symbol, block)

    return Task(
        name="cluster_sbm",
        spec=GraphSpec(nodes=(BLOCKS + 1,), outputs=BLOCKS, level="node"),
        graphs=[graph() for _ in range(train + validation + test)],
        splits=splits,
        objective=objective("balanced_classification"),
        notes={"origin": "generated anew with the published parameters"},
    )
