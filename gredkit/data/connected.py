"""Which nodes of a graph are connected, as a structure that a model can ask for."""

from typing import ClassVar

import numpy as np
import torch
from torch_geometric.data import Data

from gredkit.data.structures import Arrays, Structure


class Connected(Structure):
    """The number of each node's connected component: `component` [nodes]. Edges count as undirected."""

    key: ClassVar[str] = "connected"

    def compute(self, graph: Data) -> Arrays:
        from scipy.sparse import coo_array  # slow to import, and needed only here
        from scipy.sparse.csgraph import connected_components

        nodes = graph.num_nodes or 0
        edges = np.empty((2, 0), np.int64) if graph.edge_index is None else graph.edge_index.cpu().numpy()
        A = coo_array((np.ones(edges.shape[1]), tuple(edges)), (nodes, nodes))
        return {"component": connected_components(A, directed=False)[1].astype(np.int32)}

    def attach(self, graph: Data, arrays: Arrays) -> Data:
        graph.component = torch.from_numpy(arrays["component"])
        return graph
