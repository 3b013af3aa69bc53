from gredkit.data.datasets.graph_folder import graph_folder


def test_a_node_or_class_may_be_called_na(tmp_path):
    """pandas would read these words as missing values."""
    words = ("NA", "null", "None")
    (tmp_path / "graphs.csv").write_text("graph,y\n" + "".join(f"g{i},{words[i % 3]}\n" for i in range(6)))
    (tmp_path / "nodes.csv").write_text("graph,node\n" + "".join(f"g{i},{w}\n" for i in range(6) for w in words))
    (tmp_path / "edges.csv").write_text("graph,source,target\n" + "".join(f"g{i},NA,null\n" for i in range(6)))
    task = graph_folder(str(tmp_path))
    assert len(task.graphs) == 6
    assert task.spec.outputs == 3
    assert all(graph.num_nodes == 3 and graph.edge_index.shape[1] == 2 for graph in task.graphs)
