"""Message-passing layers: one class per file, used by the models of `nn/models`.

All are called alike, `h, e = layer(h, e, edge_index, graphs)`, so that a model may stack any of them.
Shape: h [nodes, dim], e [edges, dim] or None, edge_index [2, edges] (source, target)

graphs: which nodes are in which graph, or None
"""
