import random
from itertools import product

import numpy as np
import torch

from gredkit.training.seeds import mixed, seed_all


def draws():
    return random.random(), np.random.rand(), torch.rand(3).tolist()  # noqa: NPY002


def test_all_generators_are_seeded():
    seed_all(mixed(3, 1))
    first = draws()
    assert all(a != b for a, b in zip(draws(), first, strict=True))
    seed_all(mixed(3, 1))
    assert draws() == first
    seed_all(mixed(3, 2))
    assert all(a != b for a, b in zip(draws(), first, strict=True))


def test_seeds_and_epochs_do_not_collide():
    parts = [*product(range(-50, 50), range(50)), *product(range(-50, 50), range(50), ["order"])]
    assert len({mixed(*part) for part in parts}) == len(parts)


def test_neighbours_differ_in_about_half_of_the_bits():
    bits = [(mixed(seed, epoch) ^ mixed(seed, epoch + 1)).bit_count() for seed in range(20) for epoch in range(20)]
    assert 30 < sum(bits) / len(bits) < 34
    assert min(bits) > 10


def test_any_seed_will_do_and_each_is_another_one():
    drawn = []
    for seed in (-1, 0, 1, 2**80, 2**80 + 1):
        seed_all(mixed(seed, 0))
        drawn.append(draws())
    for of_one_generator in zip(*drawn, strict=True):
        assert len({str(numbers) for numbers in of_one_generator}) == 5
