import sys

import pytest
import torch
from helpers.own_files import EXAMPLES, assert_learns, write
from torch_geometric.data import Data

from gredkit.data.datasets.python_dataset import python_dataset
from gredkit.data.objectives import IGNORED
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError

HERE = """
import torch
from torch_geometric.data import Data, InMemoryDataset
from gredkit.data.datasets.ring_transfer import ring_transfer

CONSTANT = 3


def path(n=3, y=None, **more):
    edges = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    more = {"x": torch.arange(n)[:, None] % 2} | more
    return Data(edge_index=edges, y=torch.tensor([n % 2]) if y is None else y, num_nodes=n, **more)


def paths(count=12):
    return [path(3 + i) for i in range(count)]


def one_by_one():
    yield from paths()


def by_number():
    return paths(), {"train": [5, 6, 7, 8], "validation": torch.tensor([1, 2]), "test": range(9, 12)}


def by_list():
    return {"test": paths(3), "train": paths(4), "validation": paths(2)}


def one_graph(n=20, masks=False):
    names = ("train_mask", "val_mask", "test_mask")
    more = {name: torch.arange(n) % 4 == i for i, name in enumerate(names)} if masks else {}
    return path(n, y=torch.arange(n) // 2 % 2, **more)


def broken():
    import no_such_dependency


class Paths(InMemoryDataset):
    def __init__(self, count=12, dense=False):
        super().__init__()
        more = {"x": torch.rand(3, 2), "edge_attr": torch.rand(2)} if dense else {}
        self.data, self.slices = self.collate([path(3, y=torch.tensor([i % 2]), **more) for i in range(count)])
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The folder that a user works in, with a module of theirs."""
    write(tmp_path, {"here.py": HERE.splitlines()})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(tmp_path)])
    yield tmp_path
    sys.modules.pop("here", None)


def test_the_example_is_read(monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    task = python_dataset("my_dataset:one_ring_or_two", {"largest": 12})
    assert task.name == "one_ring_or_two"
    assert task.spec == GraphSpec(nodes=(1,), outputs=2)
    assert {split: len(part) for split, part in task.splits.items()} == {"train": 16, "validation": 2, "test": 2}
    assert sorted(graph.y.item() for graph in task.part("test")) == [0, 1]
    assert all(graph.x.eq(0).all() for graph in task.graphs)
    assert_learns(task)


@pytest.mark.parametrize("target", ["here:paths", "here.paths", "here:one_by_one", "here.one_by_one"])
def test_a_function_is_found_where_the_user_works(target):
    task = python_dataset(target)
    assert [graph.num_nodes for graph in task.graphs] == list(range(3, 15))
    assert task.spec == GraphSpec(nodes=(2,), outputs=2)
    assert task.notes == {"target": target, "split": "drawn by seed 0"}
    assert_learns(task)


def test_a_dataset_of_pyg():
    task = python_dataset("here:Paths", {"count": 30, "dense": True})
    assert task.spec == GraphSpec(nodes=2, edges=1, outputs=2)
    assert len(task.splits["test"]) == 3
    assert task.graphs[0].edge_attr.shape == (2, 1)
    assert_learns(task)
    assert python_dataset("here:Paths").spec == GraphSpec(nodes=(2,), outputs=2)
    made = python_dataset("torch_geometric.datasets.FakeDataset", {"num_graphs": 20, "avg_num_nodes": 8, "edge_dim": 3})
    assert made.spec == GraphSpec(nodes=64, edges=3, outputs=1 + max(graph.y.item() for graph in made.graphs))
    assert_learns(made)


def test_a_task_is_used_as_it_is():
    task = python_dataset("gredkit.data.datasets.ring_transfer:ring_transfer", {"graphs": 10, "symbols": 3})
    assert task.name == "ring_transfer"
    assert task.spec == GraphSpec(nodes=(3, 2), outputs=3, level="node")


def test_splits_may_be_given():
    by_number = python_dataset("here:by_number")
    assert by_number.splits == {"train": [5, 6, 7, 8], "validation": [1, 2], "test": [9, 10, 11]}
    by_list = python_dataset("here:by_list")
    assert by_list.splits == {"train": [3, 4, 5, 6], "validation": [7, 8], "test": [0, 1, 2]}
    assert by_list.notes["split"] == by_number.notes["split"] == "given"


def test_masks_split_the_nodes():
    task = python_dataset("here:one_graph", {"masks": True}, level="node")
    for number, split in enumerate(task.splits):
        (graph,) = task.part(split)
        asked = torch.arange(20) % 4 == number
        assert (graph.y != IGNORED).tolist() == asked.tolist()
        assert torch.equal(graph.y[asked], (torch.arange(20) // 2 % 2)[asked])
    assert_learns(task)


def test_a_single_graph_without_masks_has_its_nodes_split():
    task = python_dataset("here:one_graph", level="node")
    asked = torch.stack([graph.y != IGNORED for graph in task.graphs])
    assert asked.sum(1).tolist() == [16, 2, 2]
    assert asked.sum(0).eq(1).all()


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("", "target is '': set datasets.python_dataset.target to 'package.module:function'"),
        ("paths", "target is 'paths': set datasets."),
        (":paths", "target is ':paths': set"),
        ("nowhere:paths", "cannot import 'nowhere': there is no module 'nowhere' in "),
        ("here.deeper:paths", "cannot import 'here.deeper': there is no module 'here."),
        ("here:path_s", "there is no 'path_s' in 'here', which target 'here:path_s' names: did you mean 'paths'?"),
        ("here:Paths.zzz", "there is no 'zzz' in 'here', which target 'here:Paths.zzz' names: correct the name"),
        ("here:CONSTANT", "target 'here:CONSTANT' is int, not a function or class"),
    ],
)
def test_a_wrong_path_is_a_mistake(target, sentence):
    with pytest.raises(UserError) as caught:
        python_dataset(target)
    assert str(caught.value).startswith(sentence)


def test_wrong_arguments_are_a_mistake():
    with pytest.raises(UserError, match=r"cannot call 'here:paths' with arguments {'size': 3}: got an unexpected"):
        python_dataset("here:paths", {"size": 3})


def test_an_error_in_the_users_own_code_keeps_its_traceback():
    with pytest.raises(
        UserError, match=r"here\.py, line \d+, raised ModuleNotFoundError: .*no_such_dependency"
    ) as caught:
        python_dataset("here:broken")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert caught.value.has_traceback


def graphs(**changed):
    """Three good graphs, the second of which has something else."""
    made = [Data(x=torch.zeros(2, 1).long(), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([1])) for _ in "abc"]
    for key, value in changed.items():
        setattr(made[1], key, value)
    return made


def given(value):
    return value


GIVEN = f"{__name__}:given"


@pytest.mark.parametrize(
    ("value", "options", "sentence"),
    [
        (7, {}, "IT gives int and no graphs: return a list of Data, or a Task"),
        ([], {}, "IT gives list and no graphs"),
        (["a", "b"], {}, "IT gives str as graph 0: give torch_geometric Data"),
        ([Data(edge_index=torch.tensor([[0], [1]]))], {}, "graph 0 of IT does not say how many nodes it has"),
        (graphs(x=torch.zeros(0, 1).long(), edge_index=None), {}, "graph 1 of IT has no nodes: leave it out"),
        (graphs(x=None, num_nodes=2), {}, "graph 1 of IT has no x, but others do: give it to all graphs or none"),
        (graphs(x=torch.zeros(2, 3).long()), {}, "x of graph 1 of IT has 3 columns of torch.int64, but that of"),
        (graphs(x=torch.zeros(2, 1)), {}, "x of graph 1 of IT has 1 columns of torch.float32, but that of graph 0"),
        (graphs(x=torch.tensor([[0], [-1]])), {}, "x of graph 1 of IT has a category outside 0 to 999999"),
        (graphs(edge_attr=torch.zeros(5)), {}, "graph 0 of IT has no edge_attr, but others do"),
        (graphs(y=None), {}, "y of graph 1 of IT is NoneType: give every graph a tensor y"),
        (graphs(y=torch.tensor([0, 1])), {}, "y of graph 1 of IT has 2 values for 1 graph: check level='graph'"),
        (graphs(), {"level": "node"}, "y of graph 0 of IT has 1 values for 2 nodes: check level='node'"),
        (graphs(y=torch.tensor([0.5])), {}, "y of graph 1 of IT is not a class: number the classes 0, 1, 2"),
        (graphs(y=torch.tensor([-1])), {}, "y of graph 1 of IT is not a class"),
        (graphs(y=torch.tensor([float("nan")])), {"task": "regression"}, "y of graph 1 of IT contains NaN or infinity"),
        (graphs(y=torch.zeros(1, 2)), {"task": "regression"}, "y of graph 1 of IT has 2 targets, that of graph 0"),
        (graphs(y=torch.tensor([0.5])), {"task": "labels"}, "y of graph 1 of IT has a value other than 0, 1 and NaN"),
        (graphs()[:2], {}, "2 graphs cannot be split into train, validation, test: at least 3 are needed"),
        ({"train": graphs(), "val": graphs()}, {}, "'val' is not a split: name them train, validation, test"),
        ((graphs(), {"train": [0], "validation": [1], "test": [1]}), {}, "graph 1 is in validation and in test"),
        (graphs(), {"level": "edge"}, "level is one of graph, node, not 'edge'"),
        (graphs(), {"task": "guessing"}, "task is one of regression, classification"),
    ],
)  # fmt: skip
def test_wrong_graphs_are_a_mistake(value, options, sentence):
    with pytest.raises(UserError) as caught:
        python_dataset(GIVEN, {"value": value}, **options)
    assert str(caught.value).startswith(sentence.replace("IT", GIVEN))


def test_features_must_be_finite_and_one_for_each():
    numbers = [Data(x=torch.tensor([[1.0], [x]]), y=torch.tensor([1])) for x in (1.0, float("inf"), 2.0)]
    with pytest.raises(UserError, match=f"x of graph 1 of {GIVEN} contains NaN or infinity"):
        python_dataset(GIVEN, {"value": numbers})
    edges = [Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0], [1]]), edge_attr=torch.zeros(2)) for _ in "abc"]
    with pytest.raises(UserError, match=f"edge_attr of graph 0 of {GIVEN} has 2 rows, not 1: give one for each"):
        python_dataset(GIVEN, {"value": edges})
    zeros = [Data(x=torch.zeros(2, 1), y=torch.tensor([0])) for _ in "abc"]
    with pytest.raises(UserError, match=f"all targets of {GIVEN} are class 0: training needs at least two classes"):
        python_dataset(GIVEN, {"value": zeros})


def test_a_mask_is_one_column():
    (graph,) = [Data(x=torch.zeros(4, 1), y=torch.tensor([0, 1, 0, 1]), train_mask=torch.ones(4, 2).bool())]
    with pytest.raises(UserError, match=f"train_mask of graph 0 of {GIVEN} does not have one value per node"):
        python_dataset(GIVEN, {"value": graph}, level="node")


def test_numbers_and_labels():
    numbers = [Data(num_nodes=2, y=torch.tensor([float(i), 1])) for i in range(10)]
    task = python_dataset(GIVEN, {"value": numbers}, task="regression")
    assert task.spec.outputs == 2
    assert task.graphs[3].y.tolist() == [[3.0, 1.0]]
    assert_learns(task)
    labels = [Data(num_nodes=2, y=torch.tensor([i % 2, float("nan")])) for i in range(10)]
    task = python_dataset(GIVEN, {"value": labels}, task="labels")
    assert task.graphs[3].y.nan_to_num(7).tolist() == [[1.0, 7.0]]
    assert_learns(task)
