from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from gredkit import ranges
from gredkit.data.long_graphs import ALWAYS_THE_SAME, FAMILIES, LEAST, MOST, distances, profile
from gredkit.data.objectives import objective
from gredkit.data.splits import Splits, seeded_split
from gredkit.data.task import SPLITS, GraphSpec, Task
from gredkit.errors import UserError
from gredkit.registry import DATASETS

SCALE = 40  # targets are hops / 40, as in the benchmark
MOST_TRIES = 200  # to draw a graph that there is not yet
FEATURES = ("random", "constant")


class Long(NamedTuple):
    """A graph of one of the families, all its distances and a node from which to measure."""

    family: str
    edges: np.ndarray  # [edges, 2]
    hops: np.ndarray  # [nodes, nodes]
    source: int


Target = Callable[[Long], np.ndarray]


@DATASETS.register("echo_sssp")
def echo_sssp(copies: int = 3, least: int = 17, most: int = MOST, features: str = "random", seed: int = 0) -> Task:
    """Every node of a long graph must predict its distance to the marked node; mean absolute error in hops.

    The task `sssp` of the ECHO benchmark on graphs generated here: see `echo_eccentricity` for what they are.

    copies: number of graphs of each family and diameter; 70 make the benchmark's 10,080
    least, most: smallest and largest diameter
    features: the second column: 'random' numbers, or 'constant' 1
    seed: determines the graphs and splits
    """
    return _task("echo_sssp", "node", lambda graph: graph.hops[graph.source], copies, least, most, features, seed)


@DATASETS.register("echo_eccentricity")
def echo_eccentricity(
    copies: int = 3, least: int = 17, most: int = MOST, features: str = "random", seed: int = 0
) -> Task:
    """Every node of a long graph must predict the distance to the node farthest from it; mean absolute error in hops.

    The task `ecc` of the ECHO benchmark (Miglior et al., "Can You Hear Me Now? A Benchmark for Long-Range Graph
    Propagation", ICLR 2026) on graphs generated here. As in the benchmark: lines, ladders, grids, trees, caterpillars
    and lobsters of up to 40 hops; a column that marks a node and a column of random numbers, or of ones, on every
    node, whatever the task; targets divided by 40, and errors in hops. Ours: how the graphs are drawn. The smallest
    diameter, 17, is our reading of 10,080 = 6 families × 24 diameters × 70 graphs. Grids have 3 to 5 rows and lack up
    to a tenth of their edges; trees have half to once as many nodes beside the longest path as it has hops. Nodes are
    numbered at random.

    60 % of the graphs of each family are for training, 20 % for validation, 20 % for the test. Graphs that differ only
    in the numbers of their nodes are in the same split: all lines of one length, all ladders of one length; of the
    other families no graph is drawn twice.

    copies: number of graphs of each family and diameter; 70 make the benchmark's 10,080
    least, most: smallest and largest diameter
    features: the second column: 'random' numbers, or 'constant' 1
    seed: determines the graphs and splits
    """
    return _task("echo_eccentricity", "node", lambda graph: graph.hops.max(1), copies, least, most, features, seed)


@DATASETS.register("echo_diameter")
def echo_diameter(copies: int = 3, least: int = 17, most: int = MOST, features: str = "random", seed: int = 0) -> Task:
    """Predict the diameter of a long graph; mean absolute error in hops.

    The task `diam` of the ECHO benchmark on graphs generated here: see `echo_eccentricity` for what they are.

    copies: number of graphs of each family and diameter; 70 make the benchmark's 10,080
    least, most: smallest and largest diameter
    features: the second column: 'random' numbers, or 'constant' 1
    seed: determines the graphs and splits
    """
    return _task("echo_diameter", "graph", lambda graph: graph.hops.max()[None], copies, least, most, features, seed)


def _task(name: str, level: str, target: Target, copies: int, least: int, most: int, features: str, seed: int) -> Task:
    ranges.whole("copies", copies)
    ranges.whole("least", least, LEAST, MOST)
    ranges.whole("most", most, least, MOST)
    ranges.one_of("features", features, FEATURES)
    ranges.seed(seed)
    rng = np.random.default_rng(seed)
    graphs = list(_graphs(rng, copies, least, most))
    return Task(
        name=name,
        spec=GraphSpec(nodes=2, outputs=1, level=level),
        graphs=[_data(graph, target, features, rng) for graph in graphs],
        splits=_splits(graphs, seed),
        objective=objective("regression", metric="mae_in_hops"),
        notes={"origin": "generated after the ECHO benchmark"},
    )


def _graphs(rng: np.random.Generator, copies: int, least: int, most: int) -> Iterator[Long]:
    """The graphs of all families and diameters; random ones are drawn again until there are no two of one kind."""
    drawn = set()
    for family, draw in FAMILIES.items():
        for diameter in range(least, most + 1):
            for _ in range(copies):
                for _ in range(MOST_TRIES):
                    edges = draw(rng, diameter)
                    hops = distances(edges, int(edges.max()) + 1)
                    kind = profile(hops)
                    if kind not in drawn or family in ALWAYS_THE_SAME:
                        break
                else:
                    raise UserError(
                        f"there are not {copies} different graphs of the family {family!r} with diameter {diameter}: "
                        f"choose fewer copies, or a larger `least`"
                    )
                drawn.add(kind)
                order = rng.permutation(len(hops))  # node i was number order[i]
                yield Long(family, np.argsort(order)[edges], hops[np.ix_(order, order)], int(rng.integers(len(hops))))


def _splits(graphs: list[Long], seed: int) -> Splits:
    """Draw splits of kinds of graphs, in which all families have the same share; copies of one kind stay together."""
    kinds: dict[tuple[str, bytes], list[int]] = {}
    for i, graph in enumerate(graphs):
        kinds.setdefault((graph.family, profile(graph.hops)), []).append(i)
    family = [list(FAMILIES).index(name) for name, _ in kinds]
    parts = seeded_split(len(kinds), seed, family, train=0.6, validation=0.2)
    members = list(kinds.values())
    return {split: sorted(i for kind in parts[split] for i in members[kind]) for split in SPLITS}


def _data(graph: Long, target: Target, features: str, rng: np.random.Generator) -> Data:
    nodes = len(graph.hops)
    random = rng.random(nodes)  # drawn in any case, so that `features` changes nothing else
    marked = np.arange(nodes) == graph.source
    x = np.stack([marked, random if features == "random" else np.ones(nodes)], 1)
    y: Tensor = torch.from_numpy(target(graph).astype(np.float32) / SCALE)
    return Data(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=to_undirected(torch.from_numpy(graph.edges.T), num_nodes=nodes),
        y=y[:, None],
    )
