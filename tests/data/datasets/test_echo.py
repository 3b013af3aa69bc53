from collections import Counter
from functools import cache
from itertools import combinations

import networkx as nx
import pytest
import torch
from helpers.graphs import to_networkx
from networkx.algorithms.isomorphism import tree_isomorphism

from gredkit.data.datasets.echo import echo_diameter, echo_eccentricity, echo_sssp
from gredkit.data.long_graphs import FAMILIES
from gredkit.data.task import SPLITS, Task
from gredkit.errors import UserError

TASKS = {"sssp": echo_sssp, "eccentricity": echo_eccentricity, "diameter": echo_diameter}


@cache
def made(name: str) -> Task:
    return TASKS[name](copies=1)


def test_targets_are_those_of_networkx_as_fortieths():
    for sssp, eccentricity, diameter in zip(*(made(name).graphs for name in TASKS), strict=True):
        graph = to_networkx(sssp)
        (source,) = sssp.x[:, 0].nonzero()[:, 0].tolist()
        from_source = nx.single_source_shortest_path_length(graph, source)
        farthest = nx.eccentricity(graph)
        nodes = range(len(graph))
        torch.testing.assert_close(sssp.y * 40, torch.tensor([[float(from_source[v])] for v in nodes]))
        torch.testing.assert_close(eccentricity.y * 40, torch.tensor([[float(farthest[v])] for v in nodes]))
        torch.testing.assert_close(diameter.y * 40, torch.tensor([[float(max(farthest.values()))]]))


def test_the_three_tasks_are_about_the_same_graphs():
    for graphs in zip(*(made(name).graphs for name in TASKS), strict=True):
        assert all(torch.equal(graph.x, graphs[0].x) for graph in graphs)
        assert all(torch.equal(graph.edge_index, graphs[0].edge_index) for graph in graphs)
    assert made("sssp").splits == made("eccentricity").splits == made("diameter").splits


def test_every_family_has_every_diameter_from_17_to_40_in_equal_number():
    found = Counter(round(graph.y.item() * 40) for graph in echo_diameter(copies=2).graphs)
    assert found == dict.fromkeys(range(17, 41), 2 * len(FAMILIES))


def test_all_distances_up_to_40_are_asked_for():
    asked = {
        name: {round(hops) for graph in made(name).graphs for hops in (40 * graph.y[:, 0]).tolist()} for name in TASKS
    }
    assert asked["diameter"] == set(range(17, 41))
    assert asked["eccentricity"] == set(range(9, 41))
    assert set(range(37)) <= asked["sssp"] <= set(range(41))  # a marked node is rarely at an end of the longest graphs


def test_features_mark_a_node_and_carry_nothing_else():
    for graph, plain in zip(made("sssp").graphs, echo_sssp(copies=1, features="constant").graphs, strict=True):
        assert graph.x[:, 0].sum() == plain.x[:, 0].sum() == 1
        assert torch.equal(graph.x[:, 0], plain.x[:, 0])
        assert torch.equal(graph.edge_index, plain.edge_index)
        assert torch.equal(graph.y, plain.y)
        assert (plain.x[:, 1] == 1).all()
    random = torch.cat([graph.x[:, 1] for graph in made("sssp").graphs])
    assert 0 <= random.min() < random.max() < 1
    assert random.mean().item() == pytest.approx(0.5, abs=0.02)
    assert abs(torch.corrcoef(torch.stack([random, torch.cat([g.y[:, 0] for g in made("sssp").graphs])]))[0, 1]) < 0.06


def isomorphic(one: nx.Graph, other: nx.Graph) -> bool:
    if sorted(dict(one.degree).values()) != sorted(dict(other.degree).values()):
        return False
    return bool(tree_isomorphism(one, other)) if nx.is_tree(one) else nx.is_isomorphic(one, other)


def test_graphs_that_differ_only_in_their_numbering_are_in_one_split():
    """Small graphs, of which many have the same size: 432 with diameters from 10 to 15."""
    task = echo_sssp(copies=12, least=10, most=15)
    split = {i: name for name in SPLITS for i in task.splits[name]}
    assert len(split) == len(task.graphs)
    by_size: dict[tuple[int, int], list[int]] = {}
    for i, graph in enumerate(task.graphs):
        by_size.setdefault((graph.num_nodes, round(graph.num_edges)), []).append(i)
    graphs = [to_networkx(graph) for graph in task.graphs]
    repeats = 0
    for same in by_size.values():
        for i, j in combinations(same, 2):
            if split[i] != split[j]:
                assert not isomorphic(graphs[i], graphs[j])
            elif i // (12 * 6) == j // (12 * 6) <= 1:  # two lines or two ladders
                repeats += isomorphic(graphs[i], graphs[j])
    assert repeats == 2 * 6 * 12 * 11 // 2


@pytest.mark.parametrize("family", range(len(FAMILIES)))
def test_every_split_has_its_share_of_every_family(family):
    task = made("sssp")
    of_family = len(task.graphs) // len(FAMILIES)
    count = {split: sum(i // of_family == family for i in task.splits[split]) for split in SPLITS}
    for split, share in zip(SPLITS, (0.6, 0.2, 0.2), strict=True):
        assert count[split] == pytest.approx(share * of_family, abs=2)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"least": 5}, "least is a whole number from 6 to 40, not 5"),
        ({"least": 20, "most": 19}, "most is a whole number from 20 to 40, not 19"),
        ({"copies": 0}, "copies is a whole number"),
        ({"features": "none"}, "features"),
        ({"copies": 400, "least": 6, "most": 6}, "there are not 400 different graphs of the family 'grid'"),
    ],
)
def test_impossible_settings_are_said_in_a_sentence(settings, said):
    with pytest.raises(UserError, match=said):
        echo_sssp(**settings)
