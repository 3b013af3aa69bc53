"""What the tests of single kernels share: random inputs, and a comparison with PyTorch in double precision."""

import torch
from hypothesis import strategies as st

from gredkit.nn.kernels.index import Index

TOLERANCE = 2e-4  # of the largest value, float32 against float64: sums may cancel
DIMS = st.integers(1, 40)  # around and between multiples of 4, 8 and 24
ROWS = st.integers(1, 150)  # less and more than a tile
SEEDS = st.integers(0, 10**6)


def normal(*shape, scale=1.0):
    return (scale * torch.randn(*shape)).requires_grad_()


def dense(rows, columns):
    return normal(rows, columns, scale=columns**-0.5), normal(rows)


def assert_same(fused, plain, inputs):
    """Compare what both return and all gradients, `plain` in double precision."""
    assert all(error <= TOLERANCE for error in errors(fused, plain, inputs))


def errors(function, plain, inputs):
    """How far it is off, of all that it returns and all gradients, as a share of the largest number in each."""
    doubles = [x.detach().double().requires_grad_() for x in inputs]
    found, wanted = _and_gradients(function, inputs), _and_gradients(plain, doubles)
    assert [x.shape for x in found] == [x.shape for x in wanted]
    assert all(x.isfinite().all() for x in found)
    return [
        ((ours - theirs).abs().max() / max(theirs.abs().max().item(), 0.1)).item()
        for ours, theirs in zip(found, wanted, strict=True)
    ]


def _and_gradients(function, inputs):
    outputs = function(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    into = [torch.randn(x.shape, generator=torch.Generator().manual_seed(0)).to(x.dtype) for x in outputs]
    return [*outputs, *torch.autograd.grad(outputs, inputs, into)]


def random_index(nodes, sets, width):
    """Two halves of nodes, each with at least one set per node; sequences of all lengths; the last set is empty."""
    half = nodes // 2
    length = torch.randint(1, width + 1, (nodes,))
    start = torch.cat([torch.zeros(1, dtype=torch.long), length.cumsum(0)])
    node = torch.repeat_interleave(torch.arange(nodes), length)
    low = torch.randint(0, sets // 2, (len(node),))
    columns = torch.where(node < half, low, low + sets // 2)
    columns[torch.rand(len(node)) < 0.2] = sets - 1
    own = torch.cat([torch.randperm(sets // 2)[:half], torch.randperm(sets // 2)[: nodes - half] + sets // 2])
    columns[start[:-1]] = own
    mask = torch.arange(width) < length[:, None]
    grid = torch.zeros(nodes, width, dtype=torch.long)
    grid[mask] = columns
    return Index(start, columns, sets), grid, mask[..., None]
