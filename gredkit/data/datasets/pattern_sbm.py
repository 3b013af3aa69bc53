import numpy as np
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.objectives import objective
from gredkit.data.sbm import random_blocks, random_edges, shuffled_graph
from gredkit.data.splits import consecutive_split
from gredkit.data.task import GraphSpec, Task
from gredkit.registry import DATASETS

BLOCKS, WITHIN, BETWEEN, IN_PATTERN, TO_PATTERN = 5, 0.5, 0.35, 0.5, 0.5
SYMBOLS = 3


@DATASETS.register("pattern_sbm")
def pattern_sbm(train: int = 500, validation: int = 100, test: int = 100, patterns: int = 100, seed: int = 0) -> Task:
    """Find the nodes of a pattern that is hidden in a random graph with five blocks.

    PATTERN of Dwivedi et al. (2023), generated again with the published parameters because its seed was not
    published. Two nodes in the same block are connected with probability 0.5, others with 0.35; each node has
    one of three symbols. A pattern has 5..34 nodes with their own symbols, connected with probability 0.5.
    Each graph contains one of the patterns, in turn and unchanged; each node of the pattern is connected to
    each other node with probability 0.5. The same patterns occur in training, validation and test, as in the
    benchmark, which has 10000 graphs for training and 2000 each for validation and test. Chance is 1 / 2.

    train, validation, test: numbers of graphs
    patterns: number of different patterns
    seed: determines the graphs
    """
    ranges.whole("patterns", patterns)
    ranges.seed(seed)
    splits = consecutive_split(train, validation, test)
    rng = np.random.default_rng(seed)

    def pattern() -> tuple[np.ndarray, np.ndarray]:
        member = random_blocks(rng, 1)
        edges = random_edges(rng, np.full((len(member), len(member)), IN_PATTERN))
        return edges, rng.integers(SYMBOLS, size=len(member))

    def graph(edges_of_pattern: np.ndarray, symbol_of_pattern: np.ndarray) -> Data:
        block = random_blocks(rng, BLOCKS)
        rest, nodes = len(block), len(block) + len(symbol_of_pattern)
        probability = np.full((nodes, nodes), TO_PATTERN)
        probability[:rest, :rest] = np.where(block[:, None] == block, WITHIN, BETWEEN)
        adjacent = random_edges(rng, probability)
        adjacent[rest:, rest:] = edges_of_pattern
        symbol = np.concatenate([rng.integers(SYMBOLS, size=rest), symbol_of_pattern])
        return shuffled_graph(rng, adjacent, symbol, np.arange(nodes) >= rest)

    hidden = [pattern() for _ in range(patterns)]
    return Task(
        name="pattern_sbm",
        spec=GraphSpec(nodes=(SYMBOLS,), outputs=2, level="node"),
        graphs=[graph(*hidden[i % patterns]) for size in (train, validation, test) for i in range(size)],
        splits=splits,
        objective=objective("balanced_classification"),
        notes={"origin": "generated again with the published parameters"},
    )
