"""A fixed part of a dataset: drawn by a rule, written, and read as a dataset."""

import json
from collections import Counter

import pytest
import torch
from helpers.commands import fails_with_a_sentence, run
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gredkit.data.datasets.subset import subset
from gredkit.data.objectives import objective
from gredkit.data.subsets import draw
from gredkit.data.task import SPLITS, GraphSpec, Task
from gredkit.errors import UserError
from gredkit.registry import DATASETS

DRAW = ("--train", "6", "--validation", "2", "--test", "2", "--set", "datasets.ring_transfer.graphs=20")


def task_of(targets: list[list[float]], sizes: tuple[int, int, int]) -> Task:
    graphs = [
        Data(x=torch.zeros(1, 1), edge_index=torch.zeros(2, 0, dtype=torch.long), y=torch.tensor([y])) for y in targets
    ]
    ends = [sum(sizes[: i + 1]) for i in range(3)]
    splits = {split: range(end - size, end) for split, size, end in zip(SPLITS, sizes, ends, strict=True)}
    return Task("own", GraphSpec(nodes=1, outputs=len(targets[0])), graphs, splits, objective("labels"))


@given(st.data(), st.integers(1, 4), st.integers(0, 99))
def test_each_combination_of_labels_keeps_its_share(data, labels, seed):
    sizes = data.draw(st.tuples(*[st.integers(5, 40)] * 3))
    label = st.sampled_from([0.0, 1.0])
    targets = data.draw(
        st.lists(st.lists(label, min_size=labels, max_size=labels), min_size=sum(sizes), max_size=sum(sizes))
    )
    task = task_of(targets, sizes)
    wanted = {split: data.draw(st.integers(1, size)) for split, size in zip(SPLITS, sizes, strict=True)}
    drawn = draw(task, wanted, seed)
    assert drawn == draw(task, wanted, seed)
    for split in SPLITS:
        members = list(task.splits[split])
        assert len(drawn[split]) == len(set(drawn[split])) == wanted[split]
        assert set(drawn[split]) <= set(members)
        there = Counter(tuple(targets[i]) for i in members)
        here = Counter(tuple(targets[i]) for i in drawn[split])
        share = wanted[split] / len(members)
        assert all(abs(here[one] - share * count) < 2 for one, count in there.items())


def test_the_command_draws_it_and_the_dataset_reads_it(tmp_path, monkeypatch):
    result = run("-m", "gredkit.data", "subset", "ring_transfer", *DRAW, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "6 train, 2 validation, 2 test graphs of ring_transfer are in ring_transfer.json\n"
    monkeypatch.chdir(tmp_path)
    whole, part = subset_and_whole("ring_transfer.json")
    numbers = json.loads((tmp_path / "ring_transfer.json").read_text())
    for split, size in zip(SPLITS, (6, 2, 2), strict=True):
        assert len(part.splits[split]) == size
        for mine, theirs in zip(part.part(split), numbers[split], strict=True):
            assert torch.equal(mine.x, whole.graphs[theirs].x)
    assert (part.spec, part.objective.metric.name) == (whole.spec, whole.objective.metric.name)
    assert part.notes["subset"].startswith(
        "6 of 12 training graphs of ring_transfer; 2 of 4 for validation, 2 of 4 for test; of each split"
    )


def subset_and_whole(file: str) -> tuple[Task, Task]:
    from gredkit.data.datasets.ring_transfer import ring_transfer

    return ring_transfer(graphs=20), subset(file, {"graphs": 20})


def test_mistakes_end_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    too_many = run("-m", "gredkit.data", "subset", "ring_transfer", *DRAW, "--train", "13", cwd=tmp_path)
    assert "the number of graphs in train" in fails_with_a_sentence(too_many)
    assert run("-m", "gredkit.data", "subset", "ring_transfer", *DRAW, cwd=tmp_path).returncode == 0
    with pytest.raises(UserError, match="other splits of ring_transfer"):
        subset("ring_transfer.json", {"graphs": 30})
    with pytest.raises(UserError, match="does not hold a subset"):
        subset("nothing.json")
    (tmp_path / "broken.json").write_text("[]")
    with pytest.raises(UserError, match="does not hold a subset"):
        subset("broken.json")
    with pytest.raises(UserError, match=r"datasets\.subset\.file"):
        subset()


def test_of_graphs_whose_nodes_have_targets_every_size_is_there():
    task = DATASETS["pattern_sbm"](train=30, validation=4, test=4)
    drawn = draw(task, {"train": 10, "validation": 2, "test": 2}, seed=0)
    sizes = sorted(task.graphs[i].num_nodes for i in task.splits["train"])
    there = sorted(task.graphs[i].num_nodes for i in drawn["train"])
    assert all(sizes[3 * i] <= size <= sizes[3 * i + 2] for i, size in enumerate(there))
