"""Seeds that depend only on the position in training (seed, epoch), not on what ran before."""

import random

import numpy as np
import torch
import xxhash


def mixed(*parts: int | str) -> int:
    """A 64-bit hash of the parts, so that similar seeds such as 0, 1, 2 give unrelated random numbers."""
    return xxhash.xxh3_64_intdigest(repr(parts).encode())


def seed_all(seed: int) -> None:
    """Seed the generators of torch (on all devices), numpy and Python."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  # a user's module may draw from the global generator
    torch.manual_seed(seed)
