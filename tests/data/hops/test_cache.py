import logging
import time

import networkx as nx
import numpy as np
import pytest
import torch
from filelock import FileLock
from helpers.commands import Command
from helpers.graphs import any_graphs, graph
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gredkit import add_hops
from gredkit.data.hops.cache import fingerprint, last_hop, prepare
from gredkit.data.hops.index import cut_arrays, hop_arrays
from gredkit.data.hops.structure import Hops
from gredkit.data.objectives import objective
from gredkit.data.task import GraphSpec, Task
from gredkit.errors import UserError
from gredkit.registry import POSITIONAL

KEYS = ("hop_set_size", "hop_set_member", "hop_seq_length", "hop_seq_set", "hop_K", "hop_profile")


def some_graphs(count=5):
    rng = np.random.default_rng(0)
    return [
        Data(x=torch.full((n, 1), n), edge_index=torch.from_numpy(rng.integers(0, n, (2, n))), y=torch.tensor([n]))
        for n in rng.integers(1, 30, count).tolist()
    ]


def assert_same(prepared, graphs, K):
    assert len(prepared) == len(graphs)
    for ours, one in zip(prepared, graphs, strict=True):
        expected = add_hops(one, K)
        assert ours.to_dict().keys() == expected.to_dict().keys()
        for key, value in expected.to_dict().items():
            np.testing.assert_array_equal(np.asarray(ours[key]), np.asarray(value), err_msg=key)
        assert all(ours[key].dtype == expected[key].dtype for key in KEYS)


def entries(folder):
    """What lies in the cache, locks apart."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


@pytest.mark.parametrize("K", [0, 1, 3, 50, None])
def test_prepared_graphs_are_those_with_hops_added(tmp_path, K):
    graphs = some_graphs()
    assert_same(prepare(graphs, [Hops(K)], folder=tmp_path, progress=False), graphs, K)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert_same(prepare(graphs, [Hops(K)], folder=tmp_path, progress=False), graphs, K)
    assert written == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}


@given(any_graphs(), st.integers(0, 6), st.sampled_from([None, 6, 9]))
def test_a_smaller_K_cut_from_a_larger_one_is_the_same_as_searched(edges, K, larger):
    one = graph(*edges) if isinstance(edges, tuple) else edges
    for cut, searched in zip(cut_arrays(hop_arrays(one, larger), K), hop_arrays(one, K), strict=True):
        np.testing.assert_array_equal(cut, searched)


def test_a_smaller_K_is_cut_from_what_is_there(tmp_path):
    graphs = some_graphs()
    prepare(graphs, [Hops(None)], folder=tmp_path, progress=False)
    # Were it searched again, it would be noticed: the larger entry now stands for other graphs.
    other = [Data(x=g.x, edge_index=g.edge_index[:, :0], y=g.y) for g in graphs]
    alone = tmp_path / "alone"
    prepare(other, [Hops(None)], folder=alone, progress=False)
    (tmp_path / entries(tmp_path)[-1]).rename(tmp_path / "aside")
    (source,) = [name for name in entries(alone) if name.startswith("hops-")]
    (alone / source).rename(tmp_path / f"hops-{fingerprint(graphs)}-Kall-v1")
    cut = prepare(graphs, [Hops(2)], folder=tmp_path, progress=False)
    assert all((g.hop_seq_length == 1).all() for g in cut)


def test_a_larger_K_is_not_made_from_a_smaller_one(tmp_path):
    graphs = some_graphs()
    prepare(graphs, [Hops(1)], folder=tmp_path, progress=False)
    assert_same(prepare(graphs, [Hops(4)], folder=tmp_path, progress=False), graphs, 4)
    assert_same(prepare(graphs, [Hops(None)], folder=tmp_path, progress=False), graphs, None)


@pytest.mark.parametrize("name", POSITIONAL)
def test_positional_values_are_kept_for_their_settings(tmp_path, name):
    graphs = some_graphs()
    encoding = POSITIONAL[name]()
    for _ in range(2):
        for ours, one in zip(prepare(graphs, [Hops(2), encoding], tmp_path, progress=False), graphs, strict=True):
            if encoding.key:
                torch.testing.assert_close(ours[encoding.key], encoding.precompute(one))
    before = entries(tmp_path)
    assert len(before) == (2 if encoding.key else 1)
    if name == "rwse":
        longer = prepare(graphs, [Hops(2), POSITIONAL[name](steps=20)], tmp_path, progress=False)
        assert longer[0][encoding.key].shape[1] == 20
        assert len(entries(tmp_path)) == 3
        prepare(graphs, [Hops(2), POSITIONAL[name](width=8)], tmp_path, progress=False)  # not what was computed
        assert len(entries(tmp_path)) == 3


def test_the_fingerprint_sees_every_change():
    graphs = some_graphs()
    changed = [some_graphs() for _ in range(5)]
    changed[0][2].x[0] += 1
    changed[1][0].edge_index = changed[1][0].edge_index.flip(0)
    changed[2][1].y = changed[2][1].y.float()
    changed[3][4].note = "new"
    changed[4].pop()
    prints = {fingerprint(g) for g in [graphs, *changed]}
    assert len(prints) == 6
    assert fingerprint(some_graphs()) in prints


def test_a_damaged_entry_is_made_again_with_a_warning(tmp_path, caplog):
    graphs = some_graphs()
    prepare(graphs, [Hops(3)], folder=tmp_path, progress=False)
    (entry,) = entries(tmp_path)
    victim = tmp_path / entry / "seq_set"
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert_same(prepare(graphs, [Hops(3)], folder=tmp_path, progress=False), graphs, 3)
    assert "is damaged (seq_set has changed since it was written) and is made again" in caplog.text
    caplog.clear()
    assert_same(prepare(graphs, [Hops(3)], folder=tmp_path, progress=False), graphs, 3)
    assert not caplog.text


SCRIPT = """
import logging, sys, torch
from pathlib import Path
from torch_geometric.data import Data
from gredkit.data.hops.cache import prepare
from gredkit.data.hops.structure import Hops
logging.basicConfig(format="%(message)s")
step = torch.arange(int(sys.argv[2]) - 1)
graphs = [Data(edge_index=torch.stack([step, step + 1]), num_nodes=len(step) + 1, y=torch.tensor([i]))
          for i in range(int(sys.argv[3]))]
prepared = prepare(graphs, [Hops(None)], folder=Path(sys.argv[1]), progress=False)
assert all(int(g.hop_seq_length.max()) == len(step) + 1 for g in prepared)
print("prepared", len(prepared))
"""


@pytest.fixture
def start(tmp_path_factory):
    """Start a process that prepares some paths of so many nodes."""
    scripts = tmp_path_factory.mktemp("scripts")
    (scripts / "prepares.py").write_text(SCRIPT)
    return lambda folder, nodes, count: Command(["-m", "prepares", str(folder), str(nodes), str(count)], scripts)


def wait_for(condition, process):
    while not condition():
        assert process.returncode is None, process.communicate()
        time.sleep(0.01)


def test_processes_that_start_at_once_leave_one_good_cache(start, tmp_path):
    processes = [start(tmp_path, 200, 100) for _ in range(3)]
    for process in processes:
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
        assert out == "prepared 100\n"
    assert len(entries(tmp_path)) == 1
    assert start(tmp_path, 200, 100).communicate(timeout=300) == ("prepared 100\n", "")


def test_the_others_wait_and_say_so(start, tmp_path):
    out, _ = start(tmp_path, 5, 3).communicate(timeout=300)
    (entry,) = entries(tmp_path)
    for path in (tmp_path / entry).iterdir():
        path.unlink()
    (tmp_path / entry).rmdir()
    with FileLock(tmp_path / f"{entry}.lock"):
        process = start(tmp_path, 5, 3)
        wait_for(lambda: process.printed("stderr").endswith("\n"), process)
        assert process.printed("stderr") == f"another process is preparing {entry}; waiting for it\n"
        assert process.returncode is None
    assert process.communicate(timeout=300)[0] == out == "prepared 3\n"


def test_a_killed_process_leaves_nothing_that_is_taken_for_good(start, tmp_path):
    process = start(tmp_path, 200, 1500)

    def half_way():
        return any(path.stat().st_size > 1_000_000 for path in tmp_path.glob("*.unfinished/seq_set"))

    wait_for(half_way, process)
    process.kill()
    (left_over,) = entries(tmp_path)
    assert left_over.endswith(".unfinished")
    assert start(tmp_path, 200, 1500).communicate(timeout=300) == ("prepared 1500\n", "")
    assert entries(tmp_path) == [left_over.removesuffix(".unfinished")]


# K = 'dataset'


def path_graphs(*lengths):
    """A path for each tuple of lengths, or several beside each other: a graph in pieces."""
    made = []
    for pieces in lengths:
        start, edges = 0, []
        for length in pieces:
            edges += [(v, v + 1) for v in range(start, start + length - 1)]
            start += length
        edge_index = torch.tensor(edges, dtype=torch.long).view(-1, 2).T
        made.append(Data(x=torch.zeros(start, 1).long(), edge_index=edge_index, y=torch.zeros(1)))
    return made


def task_of(train, validation, test):
    graphs = [*train, *validation, *test]
    ends = len(train), len(train) + len(validation), len(graphs)
    splits = {"train": range(ends[0]), "validation": range(*ends[:2]), "test": range(*ends[1:])}
    return Task("paths", GraphSpec((1,), 1), graphs, splits, objective("regression"))


def test_the_datasets_K_is_the_largest_distance_in_the_training_graphs(tmp_path):
    """Pieces count by themselves, and what only a graph outside the training split has is not counted."""
    task = task_of(path_graphs((3,), (1,), (2, 5, 4)), path_graphs((9,)), path_graphs((2,)))
    K = last_hop("dataset", task, tmp_path, progress=False)
    assert K == 4
    prepared = prepare(task.graphs, [Hops(K)], folder=tmp_path, progress=False)
    assert [int(graph.hop_K) for graph in prepared] == [4] * 5
    assert [int(graph.hop_seq_length.max()) for graph in prepared] == [3, 1, 5, 5, 2]  # of nine hops, five are read
    (found,) = tmp_path.glob("diameters-*[0-9]")
    before = (found / "diameter").stat().st_mtime_ns
    assert last_hop("dataset", task, tmp_path, progress=False) == 4
    assert (found / "diameter").stat().st_mtime_ns == before


@settings(max_examples=15, deadline=None)
@given(st.lists(any_graphs(), min_size=1, max_size=4))
def test_the_datasets_K_against_networkx(tmp_path_factory, graphs):
    expected = 0
    for one in graphs:
        simple = nx.Graph(one.edge_index.T.tolist())
        expected = max([expected, *(nx.diameter(simple.subgraph(part)) for part in nx.connected_components(simple))])
    task = task_of(graphs, path_graphs((40,)), path_graphs((40,)))
    assert last_hop("dataset", task, tmp_path_factory.mktemp("cache"), progress=False) == expected


def test_graphs_without_an_edge_have_only_themselves(tmp_path):
    task = task_of(path_graphs((1,), (1, 1)), path_graphs((3,)), path_graphs((1,)))
    assert last_hop("dataset", task, tmp_path, progress=False) == 0


@pytest.mark.parametrize("K", [0, 3, None])
def test_other_values_of_K_stay_as_they_are(tmp_path, K):
    assert last_hop(K, task_of(path_graphs((3,)), [], []), tmp_path) == K
    assert not entries(tmp_path)


@pytest.mark.parametrize("K", ["Dataset", -1, 2.5, True])
def test_what_is_no_K(tmp_path, K):
    with pytest.raises(UserError, match="K counts hops and cannot be"):
        last_hop(K, task_of(path_graphs((3,)), [], []), tmp_path)
