"""Random numbers that depend on where a training is, not on how it got there."""

import random

import numpy as np
import torch
import xxhash


def mixed(*parts: int | str) -> int:
    """64 bits that look random and differ for different parts: seeds 0, 1, 2 are not neighbours any more."""
    return xxhash.xxh3_64_intdigest(repr(parts).encode())


def seed_all(seed: int) -> None:
    """Seed the generators of torch (on all devices), numpy and Python."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  # a user's module may draw from the global generator
    torch.manual_seed(seed)
