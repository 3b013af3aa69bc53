"""The graphs of a file as a batch that our models read, and what we find in them against what the file has stored."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from gredkit.data.structures import Structure
from gredkit.nn.distances.hop_pairs import HopPairs


def batch_of(needs: Iterable[Structure], given: Mapping[str, Tensor]) -> Batch:
    """The graphs with these structures; features stay the tensors of the file, which want gradients."""
    needs = list(needs)
    graphs, first, of_edge = [], 0, given["edge_index"][0]
    for nodes in given["num_nodes"].tolist():
        here = (first <= of_edge) & (of_edge < first + nodes)
        graph = Data(x=given["x"].detach()[first : first + nodes], edge_index=given["edge_index"][:, here] - first)
        if "edge_attr" in given:
            graph.edge_attr = given["edge_attr"].detach()[here]
        for structure in needs:
            graph = structure.add_to(graph)
        graphs.append(graph)
        first += nodes
    batch = Batch.from_data_list(graphs)
    batch.x = given["x"]
    if "edge_attr" in given:  # the batch has the edges by graph
        order = torch.repeat_interleave(torch.arange(len(graphs)), given["num_nodes"])[of_edge].argsort(stable=True)
        batch.edge_attr = given["edge_attr"][order]
    return batch


def distances(batch: Batch, pairs: Tensor) -> Tensor:
    """Our distance of each pair of the file, which has all that we find. Shape: [2, pairs] -> [pairs]"""
    ours = HopPairs(batch)
    if (found := int((ours.distance > 0).sum())) != pairs.shape[1]:
        raise SystemExit(f"the file has {pairs.shape[1]} pairs, we find {found}")
    table = torch.full((batch.num_nodes, batch.num_nodes), -1)
    table[ours.target, ours.source] = ours.distance
    return table[pairs[0], pairs[1]]
