import torch
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.hops.index import FARTHEST
from gredkit.data.objectives import IGNORED, objective
from gredkit.data.splits import consecutive_split, sizes_of
from gredkit.data.task import GraphSpec, Task
from gredkit.registry import DATASETS


@DATASETS.register("ring_transfer")
def ring_transfer(distance: int = 5, symbols: int = 5, graphs: int = 1000, seed: int = 0) -> Task:
    """Every node of a ring has a symbol; the marked node must predict the symbol on the opposite side.

    The ring has 2 * distance nodes, so the answer is `distance` hops away, at the end of the sequence of
    hops. 60 % of the graphs are for training, 20 % for validation, 20 % for the test. Chance is 1 / symbols.

    distance: hops between the marked node and the answer
    symbols: number of different symbols
    graphs: number of graphs
    seed: determines the graphs
    """
    ranges.whole("distance", distance, 1, FARTHEST)
    ranges.whole("symbols", symbols, 2)
    ranges.whole("graphs", graphs)
    ranges.seed(seed)
    generator = torch.Generator().manual_seed(seed)
    nodes = 2 * distance
    ring = torch.arange(nodes)
    edge_index = torch.stack([torch.cat([ring, ring.roll(-1)]), torch.cat([ring.roll(-1), ring])])

    def graph() -> Data:
        symbol = torch.randint(symbols, (nodes,), generator=generator)
        label = torch.full((nodes,), IGNORED)
        label[0] = symbol[distance]
        return Data(x=torch.stack([symbol, (ring == 0).long()], 1), edge_index=edge_index, y=label)

    return Task(
        name="ring_transfer",
        spec=GraphSpec(nodes=(symbols, 2), outputs=symbols, level="node"),
        graphs=[graph() for _ in range(graphs)],
        splits=consecutive_split(*sizes_of(graphs, train=0.6, validation=0.2)),
        objective=objective("classification"),
    )
