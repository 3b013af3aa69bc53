"""The paper's theorem and corollary, checked on what the code computes."""

from functools import partial
from itertools import product

import numpy as np
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GIN

from gredkit import GRED, GraphSpec, HopIndex, add_hops
from gredkit.nn.encoders.lru import LRU


def path_sequences(sequences: torch.Tensor) -> tuple[torch.Tensor, HopIndex]:
    """Rows that show, to the first node of path b, sequence b. Shape: [b, K + 1, d]"""
    count, length, _ = sequences.shape
    steps = torch.arange(length - 1)
    path = add_hops(Data(edge_index=torch.stack([steps, steps + 1]), num_nodes=length), None)
    hops = HopIndex.of(Batch.from_data_list([path] * count))
    rows = torch.zeros(hops.num_sets + 1, sequences.shape[2], dtype=sequences.dtype)
    for b in range(count):
        start = hops.seq_start[b * length]  # the path's first node sees the others one by one
        rows[hops.seq_set[start : start + length]] = sequences[b]
    return rows, hops


def set_eigenvalues(lru: LRU, eigenvalues: np.ndarray, w_in: torch.Tensor) -> None:
    with torch.no_grad():
        lru.nu_log.copy_(torch.from_numpy(np.log(-np.log(np.abs(eigenvalues)))))
        lru.theta_log.copy_(torch.from_numpy(np.log(np.angle(eigenvalues) % (2 * np.pi))))
        lru.gamma_log.zero_()
        lru.in_re.copy_(w_in)
        lru.in_im.zero_()


def test_with_a_state_of_k_plus_one_times_d_the_sequence_can_be_recovered():
    K, d = 6, 3
    lru = LRU(d, state_dim=(K + 1) * d, mode="scan").double()
    # As in the proof: W_in = I ⊗ 1, and K + 1 distinct eigenvalues for each input dimension.
    ring = 0.95 * np.exp(2j * np.pi * (np.arange(K + 1) + 0.5) / (K + 1))
    set_eigenvalues(lru, np.tile(ring, d), torch.eye(d).repeat_interleave(K + 1, 0).double())
    torch.manual_seed(0)
    sequences = torch.randn(20, K + 1, d, dtype=torch.double)
    rows, hops = path_sequences(sequences)
    states = lru.states(rows, hops)[:: K + 1, 0].detach().numpy()  # of each path's first node

    vandermonde = ring[:, None] ** np.arange(K + 1)
    by_dimension = states.reshape(20, d, K + 1).transpose(1, 2, 0)
    recovered = np.stack([np.linalg.solve(vandermonde, part) for part in by_dimension])
    np.testing.assert_allclose(recovered.transpose(2, 1, 0).real, sequences.numpy(), atol=1e-9)
    np.testing.assert_allclose(recovered.imag, 0, atol=1e-9)


def test_with_a_state_of_d_all_sequences_over_an_alphabet_are_told_apart():
    K, d, alphabet = 5, 2, (-1.0, 0.0, 1.0)
    letters = torch.tensor(list(product(alphabet, repeat=K + 1)), dtype=torch.double)  # 729 sequences
    lru = LRU(d, mode="loop").double()
    set_eigenvalues(lru, np.array([0.83 * np.exp(0.7j), 0.91 * np.exp(2.3j)]), torch.eye(d).double())
    sequences = torch.stack([letters, letters.flip(1)], -1)
    rows, hops = path_sequences(sequences)
    states = torch.view_as_real(lru.states(rows, hops)[:: K + 1, 0]).detach()
    for dimension in range(d):  # each component alone is injective already
        apart = torch.cdist(states[:, dimension], states[:, dimension]).fill_diagonal_(1)
        assert apart.min() > 1e-4


def test_bad_eigenvalues_do_confuse_sequences():
    """The test above can fail: with λ = 1 the order is lost."""
    letters = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.double)[:, :, None]
    lru = LRU(1, mode="loop").double()
    set_eigenvalues(lru, np.array([(1 - 1e-12) * np.exp(1e-12j)]), torch.eye(1).double())
    rows, hops = path_sequences(letters)
    first, second = lru.states(rows, hops)[::3, 0]
    assert (first - second).abs().max() < 1e-9


def two_triangles_and_a_hexagon() -> list[Data]:
    triangles = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]])
    hexagon = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    return [
        Data(x=torch.zeros(6, 1, dtype=torch.long), edge_index=torch.cat([e, e.flip(0)], 1))
        for e in (triangles, hexagon)
    ]


def test_one_layer_tells_two_triangles_from_a_hexagon_and_a_gin_does_not():
    torch.manual_seed(0)
    graphs = two_triangles_and_a_hexagon()

    def outputs(K: int, empty_hops: str) -> torch.Tensor:
        torch.manual_seed(1)
        model = GRED(GraphSpec(nodes=(1,), outputs=4), dim=16, layers=1, encoder=partial(LRU), empty_hops=empty_hops)
        return model.double()(Batch.from_data_list([add_hops(graph, K) for graph in graphs]))

    for empty_hops in ("constant", "zero"):
        for K in (2, 3):
            apart, hexagon = outputs(K, empty_hops)
            assert (apart - hexagon).abs().max() > 1e-2
        same, hexagon = outputs(1, empty_hops)  # one hop is one-hop message passing
        assert (same - hexagon).abs().max() < 1e-12

    gin = GIN(1, 16, num_layers=4, out_channels=4).double().eval()
    pooled = [gin(torch.ones(6, 1).double(), graph.edge_index).sum(0) for graph in graphs]
    assert (pooled[0] - pooled[1]).abs().max() < 1e-9
