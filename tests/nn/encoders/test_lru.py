import math

import networkx as nx
import numpy as np
import pytest
import torch
from helpers.checks import assert_compiles, assert_near, ignore_compiler_warnings, run, stirred, weight_for
from helpers.graphs import from_networkx, index_of, long_graph, sequences_of, small_graphs
from torch import Tensor

from gredkit.data.hops.index import add_hops
from gredkit.nn.encoders.lru import LRU, MODES, initial_eigenvalues
from gredkit.nn.hop_index import HopIndex

with_and_without_empty_hops = pytest.mark.parametrize("empty", [False, True], ids=["as it is", "with empty hops"])


def lru(dim: int, mode: str, state_dim: int | None = None) -> LRU:
    torch.manual_seed(0)
    encoder = stirred(LRU(dim, state_dim, mode=mode))
    assert isinstance(encoder, LRU)
    return encoder


def small_index(empty: bool) -> HopIndex:
    hops = index_of(*small_graphs(5), long_graph())
    return hops.with_empty_hops if empty else hops


def far_index() -> HopIndex:
    """Sequences of up to 41 hops, as long as they get on peptides."""
    return index_of(add_hops(from_networkx(nx.path_graph(60)), 40), *small_graphs(40))


def rows_for(hops: HopIndex, dim: int) -> Tensor:
    torch.manual_seed(1)
    return torch.randn(hops.num_sets + 1, dim, dtype=torch.float64)


def numbers(encoder: LRU) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Λ [state], exp(γ) W_in [state, dim] and W_out [dim, state], in numpy, by their definitions."""
    p = {name: parameter.detach().numpy() for name, parameter in encoder.named_parameters()}
    eigenvalues = np.exp(-np.exp(p["nu_log"]) + 1j * np.exp(p["theta_log"]))
    into = np.exp(p["gamma_log"])[:, None] * (p["in_re"] + 1j * p["in_im"])
    return eigenvalues, into, p["out_re"] + 1j * p["out_im"]


@with_and_without_empty_hops
@pytest.mark.parametrize("state_dim", [None, 2, 7])
@pytest.mark.parametrize("mode", MODES)
def test_the_equation_in_numpy(mode: str, state_dim: int | None, empty: bool) -> None:
    """s_v = Σ_k Λ^k exp(γ) W_in z_{v,k};  y_v = Re[W_out s_v]"""
    hops, encoder = small_index(empty), lru(4, mode, state_dim)
    z = rows_for(hops, 4)
    eigenvalues, into, out = numbers(encoder)
    expected = []
    for sequence in sequences_of(hops):
        state = np.zeros(encoder.state_dim, complex)
        for k, s in enumerate(sequence):
            state += eigenvalues**k * (into @ z[s].numpy())
        expected.append((out @ state).real)
    np.testing.assert_allclose(encoder(z, hops).detach().numpy(), np.stack(expected), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("mode", ["scan", "loop"])
def test_the_state_after_each_hop(mode: str) -> None:
    hops, encoder = small_index(False), lru(3, mode, 5)
    z = rows_for(hops, 3)
    eigenvalues, into, _ = numbers(encoder)
    expected = np.zeros((hops.num_nodes, hops.width, 5), complex)
    for v, sequence in enumerate(sequences_of(hops)):
        state = np.zeros(5, complex)
        for k in reversed(range(len(sequence))):  # before the farthest hop the state is zero
            state = eigenvalues * state + into @ z[sequence[k]].numpy()
            expected[v, k] = state
    np.testing.assert_allclose(encoder.states(z, hops).detach().numpy(), expected, rtol=1e-11, atol=1e-12)


def test_the_kernel_is_one_real_matrix_a_hop() -> None:
    encoder = lru(3, "kernel", 5)
    eigenvalues, into, out = numbers(encoder)
    expected = [(out @ np.diag(eigenvalues**k) @ into).real.T for k in range(6)]
    np.testing.assert_allclose(encoder.hop_matrices(6).detach().numpy(), np.stack(expected), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=["float32", "float64"]
)
@pytest.mark.parametrize("state_dim", [None, 24])
@pytest.mark.parametrize("hops", [small_index(False), small_index(True), far_index()], ids=["near", "empty", "far"])
def test_three_ways_to_the_same_result(
    hops: HopIndex, state_dim: int | None, dtype: torch.dtype, tolerance: float
) -> None:
    """Value and every gradient."""
    z = rows_for(hops, 16).to(dtype)
    results = {}
    for mode in MODES:
        encoder = lru(16, mode, state_dim).to(dtype)
        results[mode] = run(encoder, z, hops, weight_for(encoder, z, hops))
    assert len(results["loop"]) == 2 + 7
    for mode in ("kernel", "scan"):
        assert_near(results[mode], results["loop"], tolerance)


@pytest.mark.parametrize("r_min", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("r_max", [0.96, 1.0])
@pytest.mark.parametrize("max_phase", [0.1, math.pi, 2 * math.pi])
def test_initial_eigenvalues_are_in_the_ring(r_min: float, r_max: float, max_phase: float) -> None:
    torch.manual_seed(0)
    encoder = LRU(4, 5000, r_min, r_max, max_phase)
    values = encoder.eigenvalues().detach()
    radius, phase = values.abs().double(), encoder.theta_log.exp().detach().double()
    assert radius.min() >= r_min - 1e-6
    assert radius.max() <= r_max
    assert phase.min() >= 0
    assert phase.max() <= max_phase * (1 + 1e-6)
    torch.testing.assert_close(torch.remainder(values.angle(), 2 * math.pi).double(), phase, rtol=1e-4, atol=1e-5)
    # Uniform: the distance of the sorted sample from the diagonal.
    diagonal = (torch.arange(5000) + 0.5) / 5000
    squared = (radius.square() - r_min**2) / (r_max**2 - r_min**2)
    assert (squared.sort().values - diagonal).abs().max() < 0.03
    assert ((phase / max_phase).sort().values - diagonal).abs().max() < 0.03
    # γ keeps the size of the state: exp(γ)² = 1 - |λ|².
    gain = encoder.gamma_log.exp().detach().double()
    torch.testing.assert_close(gain.square(), 1 - radius.square(), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("r_min", "r_max", "max_phase"), [(1.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.5, 0.9, 0.0)])
def test_extreme_rings_give_finite_numbers(r_min: float, r_max: float, max_phase: float) -> None:
    for values in initial_eigenvalues(100, r_min, r_max, max_phase):
        assert values.isfinite().all()


def test_a_state_on_the_unit_circle_forgets_nothing_and_one_near_zero_all() -> None:
    hops = index_of(long_graph())
    z = rows_for(hops, 4).float()
    changed = z.clone()
    changed[sequences_of(hops)[0][-1]] += 1  # the far end of the path, as the first node sees it
    for radius, remembers in ((1.0, True), (0.0, False)):
        torch.manual_seed(0)
        encoder = LRU(4, r_min=radius, r_max=radius)
        moved = (encoder(changed, hops) - encoder(z, hops))[0].abs().max()
        assert (moved > 1e-4) == remembers


def test_an_unknown_mode_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"kernel, scan, loop.*'fft'"):
        LRU(4, mode="fft")


@ignore_compiler_warnings
def test_compiled_to_machine_code() -> None:
    members = [*small_graphs(), long_graph()]
    cases = [(rows_for(index_of(*members), 8).float(), members)]
    assert_compiles(lru(8, "kernel").float(), cases, "inductor")
