"""Synthetic graphs with the sizes and shapes of the benchmarks' graphs; the seed determines them."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch_geometric.data import Data

ATOMS, BONDS = 28, 4  # vocabulary sizes of ZINC
OGB_ATOM = (119, 5, 12, 12, 10, 6, 6, 2, 2)  # vocabulary sizes of the nine columns of Peptides
COLOURS = 5  # CIFAR10: red, green, blue, and the position of the superpixel
NEIGHBOURS = 8

# Side chains of amino acids: the parent of each atom (-1 is the backbone), then the bonds that close rings.
SIDE_CHAINS: tuple[tuple[tuple[int, ...], tuple[tuple[int, int], ...]], ...] = (
    ((), ()),  # glycine
    ((-1,), ()),  # alanine
    ((-1, 0), ()),  # cysteine, serine
    ((-1, 0, 0), ()),  # valine
    ((-1, 0, 1, 1), ()),  # leucine, aspartic acid
    ((-1, 0, 1, 2), ()),  # methionine
    ((-1, 0, 1, 2, 2), ()),  # glutamic acid
    ((-1, 0, 1, 2, 3), ()),  # lysine
    ((-1, 0, 1, 2, 3, 4, 4), ()),  # arginine
    ((-1, 0, 1, 2, 3, 4, 5), ((6, 1),)),  # phenylalanine
    ((-1, 0, 1, 2, 3, 4, 5, 4), ((6, 1),)),  # tyrosine
)


def zinc(count: int, seed: int = 0) -> list[Data]:
    """Drug-like molecules with 23 atoms on average, atom types, bond types and a real-valued target."""
    rng = np.random.default_rng(seed)
    sizes = rng.normal(23.2, 4.4, count).round().clip(9, 37).astype(int)
    return [molecule(size, rng) for size in sizes]


def molecules(nodes: int, count: int) -> list[Data]:
    """Molecules with exactly `nodes` atoms each and the features of ZINC."""
    rng = np.random.default_rng(0)
    return [molecule(nodes, rng) for _ in range(count)]


def peptides(count: int, seed: int = 0) -> list[Data]:
    """Peptides with 151 atoms on average (a few are very long), nine columns and ten yes-or-no targets."""
    rng = np.random.default_rng(seed)
    lengths = rng.gamma(2.8, 18.6 / 2.8, count).round().clip(5, 50).astype(int)
    return [peptide(length, rng) for length in lengths]


def cifar10(count: int, seed: int = 0) -> list[Data]:
    """Images with 117 superpixels on average, five dense columns and one of ten classes."""
    rng = np.random.default_rng(seed)
    return [superpixels(size, rng) for size in rng.integers(107, 129, count)]


def molecule(nodes: int, rng: np.random.Generator) -> Data:
    """Rings of five or six atoms and short chains, each bound to a recently placed atom."""
    degree = np.zeros(nodes, int)
    bonds: list[tuple[int, int]] = []
    placed = 1
    while placed < nodes:
        room = nodes - placed
        ring = room >= 6 and rng.random() < 0.4
        size = int(rng.integers(5, 7)) if ring else min(int(rng.integers(1, 4)), room)
        near = np.arange(max(placed - 8, 0), placed)
        anchor = int(rng.choice(near[degree[near] < 3]))
        path = [anchor, *range(placed, placed + size)]
        new = list(pairwise(path))
        if ring:
            new.append((path[-1], path[1]))
        np.add.at(degree, np.array(new).ravel(), 1)
        bonds += new
        placed += size
    types = torch.from_numpy(rng.integers(0, BONDS, len(bonds)))
    return Data(
        x=torch.from_numpy(rng.integers(0, ATOMS, (nodes, 1))),
        edge_index=_both_ways(bonds),
        edge_attr=types.repeat(2),
        y=torch.from_numpy(rng.normal(size=1).astype(np.float32)),
    )


def peptide(residues: int, rng: np.random.Generator) -> Data:
    """A backbone with three atoms per residue, an oxygen on the third and a side chain on the second."""
    bonds: list[tuple[int, int]] = []
    nodes, carbon = 0, -1
    for _ in range(residues):
        nitrogen, alpha, oxygen = nodes, nodes + 1, nodes + 3
        if carbon >= 0:
            bonds.append((carbon, nitrogen))
        carbon = nodes + 2
        bonds += [(nitrogen, alpha), (alpha, carbon), (carbon, oxygen)]
        nodes += 4
        parents, rings = SIDE_CHAINS[rng.integers(len(SIDE_CHAINS))]
        bonds += [(alpha if p < 0 else nodes + p, nodes + i) for i, p in enumerate(parents)]
        bonds += [(nodes + a, nodes + b) for a, b in rings]
        nodes += len(parents)
    bonds.append((carbon, nodes))  # the acid's second oxygen
    columns = [rng.integers(0, size, nodes + 1) for size in OGB_ATOM]
    return Data(
        x=torch.from_numpy(np.stack(columns, 1)),
        edge_index=_both_ways(bonds),
        y=torch.from_numpy(rng.integers(0, 2, (1, 10)).astype(np.float32)),
    )


def superpixels(nodes: int, rng: np.random.Generator) -> Data:
    """Points in the plane with directed edges to the eight nearest points, as in the benchmark."""
    x = rng.random((nodes, COLOURS))
    places = x[:, 3:]
    _, nearest = cKDTree(places).query(places, NEIGHBOURS + 1)
    source = np.repeat(np.arange(nodes), NEIGHBOURS)
    return Data(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.from_numpy(np.stack([source, nearest[:, 1:].ravel()]).astype(np.int64)),
        y=torch.from_numpy(rng.integers(0, 10, 1)),
    )


def _both_ways(bonds: Iterable[tuple[int, int]]) -> torch.Tensor:
    """Every bond in both directions. Shape: -> [2, 2 * bonds]"""
    one_way = torch.tensor(list(bonds), dtype=torch.long).view(-1, 2).mT
    return torch.cat([one_way, one_way.flip(0)], 1)
