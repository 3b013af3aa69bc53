from functools import cache
from itertools import product

import networkx as nx
import numpy as np
import pytest
import torch
from helpers.graphs import to_networkx

from gredkit.data.datasets.ising import couplings, ising, metropolis
from gredkit.data.task import SPLITS, Task
from gredkit.errors import UserError


@cache
def made(sigma: float) -> Task:
    return ising(sigma, graphs=160, sweeps=80)


def energy_by_hand(spins: list[float], size: int, sigma: float, i: int) -> float:
    """-s_i Σ_j s_j r^-(2 + sigma), with r the shortest distance to one of the nine nearest images of j."""
    total = 0.0
    for j in range(size * size):
        if j != i:
            (a, b), (c, d) = divmod(i, size), divmod(j, size)
            images = product((-size, 0, size), repeat=2)
            nearest = min(((a - c + up) ** 2 + (b - d + right) ** 2) ** 0.5 for up, right in images)
            total += spins[j] * nearest ** -(2 + sigma)
    return -spins[i] * total


@pytest.mark.parametrize(("size", "sigma"), [(3, 0.6), (4, 1.5), (5, 0.6), (8, 0.6)])
def test_targets_are_the_double_sum_over_all_pairs(size, sigma):
    for graph in ising(sigma=sigma, size=size, graphs=5, sweeps=3).graphs:
        spins = graph.x[:, 0].tolist()
        expected = [energy_by_hand(spins, size, sigma, i) for i in range(size * size)]
        assert graph.y[:, 0].tolist() == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("size", [3, 4, 7])
def test_the_graph_is_a_periodic_grid_of_spins(size):
    for graph in ising(size=size, graphs=4, sweeps=2).graphs:
        assert nx.is_isomorphic(to_networkx(graph), nx.grid_2d_graph(size, size, periodic=True))
        assert set(graph.x.unique().tolist()) <= {-1.0, 1.0}


def test_two_spins_are_seen_as_often_as_boltzmann_says():
    """Four spins, all 16 states, at a temperature at which they differ: 4000 chains against exp(-H / T)."""
    J = np.array([[0, 1, 0.5, 0.2], [1, 0, 0.3, 0], [0.5, 0.3, 0, 0.7], [0.2, 0, 0.7, 0]])
    states = np.array(list(product((-1, 1), repeat=4)))
    weight = np.exp(0.5 * np.einsum("ai,ij,aj->a", states, J, states) / 1.3)
    spins = metropolis(J, 1.3, 4000, 30, np.random.default_rng(0))
    found = np.array([(spins == state[:, None]).all(0).mean() for state in states])
    expected = weight / weight.sum()
    assert np.abs(found - expected).max() < 4 * np.sqrt(expected.max() / 4000)


@pytest.mark.parametrize(
    ("sigma", "published"),
    [(0.6, {1: 0.988, 4: -0.034, 12: -2.909}), (1.5, {1: 0.366, 4: -1.332, 12: -4.649})],
)
def test_what_near_spins_leave_unexplained_is_what_the_benchmark_says(sigma, published):
    """log10 of the squared error of sums over the nearest k hops, published for 10,000 graphs of 16 × 16 nodes."""
    J = couplings(16, sigma)
    hops = np.array([list(row.values()) for _, row in sorted(grid_distances(16).items())])
    spins = np.concatenate([graph.x.numpy() for graph in made(sigma).graphs], 1)
    for k, score in published.items():
        assert np.log10(np.square((J * (hops > k)) @ spins).mean()) == pytest.approx(score, abs=0.1)


def grid_distances(size: int) -> dict[int, dict[int, int]]:
    torus = nx.grid_2d_graph(size, size, periodic=True)
    torus = nx.relabel_nodes(torus, {(a, b): a * size + b for a, b in torus})
    return {v: dict(sorted(far.items())) for v, far in nx.all_pairs_shortest_path_length(torus)}


def test_energies_depend_on_spins_at_the_largest_distance():
    J = couplings(6, 0.6)
    assert J[0, 3 * 6 + 3] == pytest.approx(18 ** (-2.6 / 2))  # (3, 3), 6 hops away
    assert (J == J.T).all()
    assert (J > 0).sum() == 36 * 35


def test_no_two_graphs_are_the_same_up_to_turns_shifts_and_the_sign():
    """The energies in ascending order stay the same under all of these."""
    task = made(0.6)
    assert [len(task.splits[split]) for split in SPLITS] == [128, 16, 16]
    energies = torch.stack([graph.y[:, 0].sort().values for graph in task.graphs])
    distance = torch.cdist(energies, energies) + torch.eye(len(energies))
    assert distance.min() > 0.01


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sigma": 1.0}, "sigma=1.0 has no known temperature, only 0.6 and 1.5 have: give `temperature`"),
        ({"sigma": -1.0}, "sigma"),
        ({"temperature": 0.0}, "temperature"),
        ({"size": 2}, "size is a whole number from 3 to 64, not 2"),
    ],
)
def test_impossible_settings_are_said_in_a_sentence(settings, said):
    with pytest.raises(UserError, match=said):
        ising(**settings)


def test_any_exponent_may_be_given_with_its_temperature():
    assert len(ising(sigma=1.0, temperature=7.0, size=4, graphs=10).graphs) == 10
