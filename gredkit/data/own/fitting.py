"""Check that new graphs have the features that a model was trained on."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.data.own.sound import check_graph
from gredkit.data.task import Columns
from gredkit.errors import UserError


@dataclass(frozen=True)
class Expected:
    """The feature columns that the nodes or the edges of a graph must have."""

    key: str  # 'x' or 'edge_attr'
    columns: Columns
    names: Sequence[str] = ()  # of the columns, if they have names

    def checked(self, values: Tensor | None, rows: int, which: str) -> Tensor:
        """The checked values: categories as integers, numbers as float32.

        Shape: [rows] or [rows, columns] -> [rows, columns]
        """
        width = self.columns if isinstance(self.columns, int) else len(self.columns)
        if not isinstance(values, Tensor):
            raise UserError(f"{which} has no {self.key}: the model needs {width} columns there{self._listed()}")
        if len(values) != rows:
            raise UserError(f"{self.key} of {which} has {len(values)} rows, not {rows}: give one for each")
        table = values.reshape(rows, -1) if rows else values.new_empty(0, width)
        if table.shape[1] != width:
            raise UserError(
                f"{self.key} of {which} has {table.shape[1]} columns, but the model was trained on {width}"
                f"{self._listed()}: give exactly these"
            )
        return self._numbers(table, which) if isinstance(self.columns, int) else self._categories(table, which)

    def _numbers(self, table: Tensor, which: str) -> Tensor:
        table = table.to(torch.float)
        if (wrong := ~table.isfinite().all(0)).any():
            raise UserError(f"{self._column(wrong)} of {which} contains NaN or infinity: replace it")
        return table

    def _categories(self, table: Tensor, which: str) -> Tensor:
        assert not isinstance(self.columns, int)
        if table.is_floating_point():
            raise UserError(f"{self.key} of {which} holds {table.dtype}, but the model was trained on categories: "
                            f"give it integers")  # fmt: skip
        table = table.long()
        outside = (table < 0) | (table >= torch.tensor(self.columns))
        if outside.any():
            column = int(outside.any(0).int().argmax())
            found = table[outside[:, column], column][0]
            raise UserError(
                f"{self._column(outside.any(0))} of {which} has category {found}, but the model knows "
                f"0 to {self.columns[column] - 1}: leave the graph out, or train on graphs that have it"
            )
        return table

    def _column(self, wrong: Tensor) -> str:
        """The number and name of the first wrong column. Shape: wrong [columns]"""
        column = int(wrong.int().argmax())
        return f"column {column}{f' ({self.names[column]})' if self.names else ''} of {self.key}"

    def _listed(self) -> str:
        return f" ({', '.join(self.names)})" if self.names else ""


def fitted(graph: Data, which: str, nodes: Expected, edges: Expected | None) -> Data:
    """A checked copy of a graph with the expected features and without targets; messages call it `which`."""
    check_graph(graph, which)
    made = copy(graph)
    made.y = None
    if made.edge_index is None:
        made.edge_index = torch.empty(2, 0, dtype=torch.long)
    x = graph.x
    if x is None and nodes.columns == (1,):  # every node has the same symbol
        x = torch.zeros(graph.num_nodes, 1, dtype=torch.long)
    made.x = nodes.checked(x, graph.num_nodes, which)
    if edges is not None:
        made.edge_attr = edges.checked(graph.edge_attr, made.edge_index.shape[1], which)
    return made
