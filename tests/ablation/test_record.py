"""What is recorded of a trained model: of any module that has it, and of none twice."""

import torch
from torch import nn

from gredkit.ablation.record import eigenvalues, hop_weights
from gredkit.nn.encoders.lru import LRU


class Real(nn.Module):
    """Not an encoder of gredkit, with real eigenvalues in several heads."""

    def eigenvalues(self):
        return torch.tensor([[0.5, -0.25], [0.75, 1.0]])


class Wrapper(nn.Module):
    """Speaks for the encoder inside it."""

    def __init__(self):
        super().__init__()
        self.inner = LRU(4)

    def eigenvalues(self):
        return 2 * self.inner.eigenvalues()


class Silent(Wrapper):
    """Has the methods and says nothing, so that the encoder inside is asked."""

    def eigenvalues(self):
        return None


def test_real_eigenvalues_of_any_module_are_recorded():
    assert eigenvalues(nn.Sequential(nn.Linear(2, 2), Real())) == [
        {"real": [0.5, -0.25, 0.75, 1.0], "imag": [0.0, 0.0, 0.0, 0.0]}
    ]


def test_an_encoder_that_wraps_another_one_counts_once():
    wrapper, silent = Wrapper(), Silent()
    (outer,) = eigenvalues(nn.ModuleList([wrapper]))
    assert torch.allclose(torch.tensor(outer["real"]), 2 * wrapper.inner.eigenvalues().real)
    (inner,) = eigenvalues(nn.ModuleList([silent]))
    assert torch.allclose(torch.tensor(inner["real"]), silent.inner.eigenvalues().real)
    assert [len(weights) for weights in hop_weights(wrapper, 3)] == [3]  # which only the inner one has


def test_a_model_without_them_has_none():
    assert eigenvalues(nn.Linear(2, 2)) == []
    assert hop_weights(nn.Linear(2, 2), 4) == []
