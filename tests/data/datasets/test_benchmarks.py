"""Every benchmark, on tiny raw files."""

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import torch
from helpers import raw_files
from helpers.raw_files import ATOM, BOND, GRAPHS, SIZES, WRITERS
from torch_geometric.data import Batch, Data
from torch_geometric.datasets import LRGBDataset

from gredkit.data.hops.index import add_hops
from gredkit.data.task import SPLITS, GraphSpec, Task
from gredkit.errors import UserError
from gredkit.nn.models.gred import GRED
from gredkit.registry import DATASETS


@dataclass(frozen=True)
class Expected:
    """What a benchmark should say of itself."""

    spec: GraphSpec
    metric: str
    features: str = "categorical"


EXPECTED = {
    "zinc": Expected(GraphSpec(nodes=(28,), edges=(4,), outputs=1), "mae"),
    "mnist": Expected(GraphSpec(nodes=3, edges=1, outputs=10), "accuracy", "dense"),
    "cifar10": Expected(GraphSpec(nodes=5, edges=1, outputs=10), "accuracy", "dense"),
    "pattern": Expected(GraphSpec(nodes=(3,), outputs=2, level="node"), "class_mean_accuracy", "embedding"),
    "cluster": Expected(GraphSpec(nodes=(7,), outputs=6, level="node"), "class_mean_accuracy", "embedding"),
    "peptides_func": Expected(GraphSpec(nodes=ATOM, edges=BOND, outputs=10), "average_precision"),
    "peptides_struct": Expected(GraphSpec(nodes=ATOM, edges=BOND, outputs=11), "mae"),
    "nci1": Expected(GraphSpec(nodes=(37,), outputs=2), "accuracy"),
    "proteins": Expected(GraphSpec(nodes=(3,), outputs=2), "accuracy"),
    "lrgb": Expected(GraphSpec(nodes=14, edges=2, outputs=21, level="node"), "macro_f1", "dense"),
    "tu": Expected(GraphSpec(nodes=(7,), edges=(4,), outputs=2), "accuracy"),
}
ARGUMENTS = {"lrgb": {"name": "PascalVOC-SP"}, "tu": {"name": "MUTAG"}}
FOLDED = ("nci1", "proteins", "tu")


def opened(name: str, root: Path) -> Task:
    return DATASETS[name](root=str(root), **ARGUMENTS.get(name, {}))


def assert_same(found: Data, expected: Data) -> None:
    assert set(found.keys()) == set(expected.keys())
    for key, value in expected.to_dict().items():
        assert found[key].dtype == value.dtype, key
        assert torch.equal(found[key], value), key


def assert_all_same(task: Task, expected: list[Data]) -> None:
    assert len(task.graphs) == len(expected)
    for found, graph in zip(task.graphs, expected, strict=True):
        assert_same(found, graph)


@pytest.mark.parametrize("name", WRITERS)
def test_the_graphs_are_those_of_the_files(name, tmp_path):
    written = WRITERS[name](tmp_path)
    task = opened(name, tmp_path)
    assert_all_same(task, written)
    assert task.spec == EXPECTED[name].spec
    assert task.objective.metric.name == EXPECTED[name].metric
    assert Path(task.notes["files"]).is_relative_to(tmp_path)
    assert float(task.notes["mean_nodes"]) == pytest.approx(sum(g.num_nodes for g in written) / len(written), abs=0.01)
    sizes = [len(task.splits[split]) for split in SPLITS]
    if name in FOLDED:
        assert sizes == [32, 4, 4]
    else:
        assert sizes == list(SIZES)
        for split, part in zip(SPLITS, raw_files.in_splits(written).values(), strict=True):
            for found, graph in zip(task.part(split), part, strict=True):
                assert_same(found, graph)


@pytest.mark.parametrize("name", WRITERS)
def test_columns_are_as_the_task_promises(name, tmp_path):
    WRITERS[name](tmp_path)
    task = opened(name, tmp_path)
    targets = {"mae": (1, task.spec.outputs), "average_precision": (1, task.spec.outputs), "accuracy": (1,)}
    for graph in task.graphs:
        for columns, values in ((task.spec.nodes, graph.x), (task.spec.edges, graph.edge_attr)):
            if columns is None:
                assert values is None
            elif isinstance(columns, int):
                assert values.is_floating_point()
                assert values.shape[1] == columns
            else:
                assert values.dtype == torch.long
                assert values.shape[1] == len(columns)
                assert (values < torch.tensor(columns)).all()
        assert graph.y.shape == targets.get(task.objective.metric.name, (graph.num_nodes,))


@pytest.mark.parametrize("name", WRITERS)
def test_a_small_model_has_a_finite_loss_and_gradient(name, tmp_path):
    WRITERS[name](tmp_path)
    task = opened(name, tmp_path)
    batch = Batch.from_data_list([add_hops(graph, None) for graph in task.part("train")])
    torch.manual_seed(0)
    model = GRED(task.spec, dim=8, layers=1, features=EXPECTED[name].features)
    loss = task.objective.loss(model(batch), batch.y)
    loss.backward()
    assert loss.isfinite()
    assert loss > 0
    assert all(p.grad.isfinite().all() for p in model.parameters())
    assert task.objective.metric.score(model(batch).detach(), batch.y) >= 0


@pytest.mark.parametrize("name", WRITERS)
def test_a_second_time_only_the_processed_files_are_read(name, tmp_path):
    written = WRITERS[name](tmp_path)
    opened(name, tmp_path)
    for file in tmp_path.glob("*/raw/*"):
        file.write_text("unreadable")
    assert_all_same(opened(name, tmp_path), written)


@pytest.mark.parametrize("kept", [0, 0.5])
@pytest.mark.parametrize("name", WRITERS)
def test_half_written_files_are_made_again(name, kept, tmp_path):
    written = WRITERS[name](tmp_path)
    opened(name, tmp_path)
    files = [file for file in tmp_path.rglob("processed/*.pt") if not file.name.startswith("pre_")]
    last = max(files, key=lambda file: file.stat().st_mtime_ns)
    last.write_bytes(last.read_bytes()[: int(kept * last.stat().st_size)])
    assert_all_same(opened(name, tmp_path), written)
    (last.parent / "pre_filter.pt").unlink()  # stopped before the end, though all files are there
    assert_all_same(opened(name, tmp_path), written)


@pytest.mark.parametrize("name", WRITERS)
def test_unreadable_raw_files_are_named_and_can_be_replaced(name, tmp_path):
    WRITERS[name](tmp_path)
    (raw,) = tmp_path.glob("*/raw")
    for file in raw.iterdir():
        file.write_text("unreadable")
    with pytest.raises(UserError, match="cannot be read") as error:
        opened(name, tmp_path)
    assert str(raw) in str(error.value)
    assert "\n" not in str(error.value)
    written = WRITERS[name](tmp_path)
    assert_all_same(opened(name, tmp_path), written)


def test_what_torch_warns_of_does_not_stop_pyg(tmp_path):
    written = raw_files.write_peptides(tmp_path, "peptides-func", row=raw_files.Row)
    with pytest.warns(UserWarning, match="Weights only load failed"):
        LRGBDataset(str(tmp_path), "peptides-func")
    shutil.rmtree(tmp_path / "peptides-func" / "processed")
    assert_all_same(opened("peptides_func", tmp_path), written)


@pytest.mark.parametrize("name", ["zinc", "tu"])
def test_graphs_are_a_sequence(name, tmp_path):
    written = WRITERS[name](tmp_path)
    graphs = opened(name, tmp_path).graphs
    count = len(written)
    assert_same(graphs[-1], written[-1])
    assert_same(graphs[-count], written[0])
    for found, graph in zip(graphs[2:9:3], written[2:9:3], strict=True):
        assert_same(found, graph)
    for index in (count, -count - 1):
        with pytest.raises(IndexError, match=f"there are {count} graphs"):
            graphs[index]


def test_graphs_do_not_pile_up_in_memory(tmp_path):
    WRITERS["zinc"](tmp_path)
    graphs = opened("zinc", tmp_path).graphs
    one, again = graphs[3], graphs[3]
    assert one is not again
    assert one.x.data_ptr() == again.x.data_ptr()  # both are views of the same long tensor


def test_a_folder_that_cannot_be_written_to_is_a_mistake(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"ZINC cannot be prepared in .*file .*--data or \$GREDKIT_DATA"):
        opened("zinc", tmp_path / "file")


def test_the_folder_may_come_from_the_environment(tmp_path, monkeypatch):
    written = WRITERS["nci1"](tmp_path)
    monkeypatch.setenv("GREDKIT_DATA", str(tmp_path))
    assert len(DATASETS["nci1"]().graphs) == len(written) == GRAPHS


def test_what_the_long_range_benchmark_has_and_is_not_here(tmp_path):
    lrgb = partial(DATASETS["lrgb"], root=str(tmp_path))
    with pytest.raises(UserError, match="PCQM-Contact is about links"):
        lrgb("PCQM-Contact")
    with pytest.raises(UserError, match=r"no dataset 'peptides' in .*: choose peptides-func, peptides-struct"):
        lrgb("peptides")
