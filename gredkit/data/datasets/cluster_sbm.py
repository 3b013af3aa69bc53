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
    """Assign the nodes of a random graph to its six blocks; one node in each block shows the block's number.

    CLUSTER of Dwivedi et al. (2023), generated again with the published parameters because its seed was not
    published. Two nodes in the same block are connected with probability 0.55, others with 0.25. One node in
    each block has the number of the block (from 1) as its symbol; all others have 0. The benchmark has 10000
    graphs for training and 1000 each for validation and test. Chance is 1 / 6.

    train, validation, test: numbers of graphs
    seed: determines the graphs
    """
    ranges.seed(seed)
    splits = consecutive_split(train, validation, test)
    rng = np.random.default_rng(seed)

    def graph() -> Data:
        block = random_blocks(rng, BLOCKS)
        adjacent = random_edges(rng, np.where(block[:, None] == block, WITHIN, BETWEEN))
        symbol = np.zeros_like(block)
        number, first = np.unique(block, return_index=True)  # shuffling later makes it a random node of its block
        symbol[first] = number + 1
        return shuffled_graph(rng, adjacent, symbol, block)

    return Task(
        name="cluster_sbm",
        spec=GraphSpec(nodes=(BLOCKS + 1,), outputs=BLOCKS, level="node"),
        graphs=[graph() for _ in range(train + validation + test)],
        splits=splits,
        objective=objective("balanced_classification"),
        notes={"origin": "generated again with the published parameters"},
    )
