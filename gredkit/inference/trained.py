"""Predictions of a trained model for new graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import pandas as pd
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit.data.hops.index import in_parallel
from gredkit.data.objectives import CLASSES
from gredkit.data.own.fitting import Expected, fitted
from gredkit.errors import UserError
from gredkit.nn.models.base import needs_of
from gredkit.training.device import resolve
from gredkit.training.evaluation import predict_all

if TYPE_CHECKING:
    from gredkit.inference.about import SavedModel

BLOCK = 4096  # graphs whose hop index is in memory at a time


@dataclass(frozen=True)
class TrainedModel:
    """A model with its weights and its description."""

    model: nn.Module
    about: SavedModel

    def predict(self, graphs: Iterable[Data], batch_size: int = 64, device: str = "cpu") -> pd.DataFrame:
        """One row per graph (or per node, for a task on nodes), numbered in the columns `graph` and `node`.

        Classification: `predicted`, and the probability of each class as `p_<class>`. Labels: `p_<label>`.
        Regression: one column per target. Hop index and positional encoding are computed here.

        graphs: PyG `Data` with the features that the model was trained on
        device: 'cpu', 'cuda', 'auto', or any name that torch knows
        """
        graphs = list(graphs)
        return self.frame(self.outputs(graphs, batch_size, device), graphs)

    def outputs(self, graphs: Sequence[Data], batch_size: int = 64, device: str = "cpu") -> Tensor:
        """The raw outputs of the model. Shape: -> [graphs, outputs], or [nodes, outputs] for a task on nodes"""
        if batch_size < 1:
            raise UserError(f"a batch has at least one graph, not {batch_size}")
        if not len(graphs):
            raise UserError("there are no graphs to predict: give at least one")
        where = resolve(device)
        self.model.to(where)
        numbered, parts = iter(enumerate(graphs)), []
        while block := list(islice(numbered, BLOCK)):
            parts.append(predict_all(self.model, self._prepared(block), batch_size, where, self.about.precision))
        return torch.cat(parts)

    def frame(self, outputs: Tensor, graphs: Sequence[Data]) -> pd.DataFrame:
        """The outputs as classes, probabilities or targets. Shape: outputs [items, outputs]"""
        if self.about.spec.level == "node":
            places = [(i, node) for i, graph in enumerate(graphs) for node in range(graph.num_nodes)]
            rows = pd.DataFrame(places, columns=["graph", "node"])
        else:
            rows = pd.DataFrame({"graph": range(len(graphs))})
        names = self.about.output_names
        if self.about.task in CLASSES:
            rows["predicted"] = [names[i] for i in outputs.argmax(1).tolist()]
            outputs = outputs.softmax(1)
        elif self.about.task == "labels":
            outputs = outputs.sigmoid()
        if self.about.task != "regression":
            names = [f"p_{name}" for name in names]
        return pd.concat([rows, pd.DataFrame(outputs.numpy(), columns=names)], axis=1)

    def _prepared(self, graphs: Sequence[tuple[int, Data]]) -> list[Data]:
        """Check the numbered graphs and add everything that the model needs."""
        about = self.about
        nodes = Expected("x", about.spec.nodes, about.node_columns)
        edges = None
        if about.needs_edges and about.spec.edges is not None:
            edges = Expected("edge_attr", about.spec.edges, about.edge_columns)
        needs = needs_of(self.model, about.K)

        def prepared(numbered: tuple[int, Data]) -> Data:
            number, graph = numbered
            made = fitted(graph, f"graph {number}", nodes, edges)
            try:
                for structure in needs:
                    made = structure.add_to(made)
            except UserError as error:
                raise UserError(f"graph {number}: {error}") from None
            return made

        with threadpool_limits(1):  # the cores are already busy with other graphs
            return list(in_parallel(prepared, graphs, "graphs"))
