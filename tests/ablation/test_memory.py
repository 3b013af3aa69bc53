"""What a trial needs is estimated from a pass over a few graphs."""

import gin
import pytest
import torch

from gredkit.ablation.memory import PROCESS, trial_bytes
from gredkit.ablation.plan import make_plan
from gredkit.config.source import Source
from gredkit.registry import MODELS

SMALL = ("SEEDS=(0,)", "datasets.ring_transfer.graphs=40", "LAYERS=2", "DIM=16", "trial.dataset='ring_transfer'")


def needed(*bindings: str) -> int:
    """Above the bare process."""
    (trial,) = make_plan(Source(bindings=(*SMALL, "study.name='memory'", *bindings))).trials
    return trial_bytes(trial) - PROCESS


def weights(*bindings: str) -> int:
    (trial,) = make_plan(Source(bindings=(*SMALL, "study.name='memory'", *bindings))).trials
    return 4 * 4 * trial.parameters


def test_a_step_needs_as_much_more_as_its_batch_is_larger():
    small, large = (needed(f"BATCH_SIZE={size}") - weights() for size in (8, 80))
    assert small > 0
    assert large == pytest.approx(10 * small, rel=1e-3)


@pytest.mark.parametrize("model", ["gred", "gps", "gin"])
def test_deeper_and_wider_models_need_more(model):
    chosen = f"variant.model={model!r}"
    assert needed(chosen) < needed(chosen, "LAYERS=4") < needed(chosen, "LAYERS=4", "DIM=32")


def test_more_hops_need_more():
    assert needed("K=1") < needed("K=4")


def test_a_model_that_cannot_be_tried_counts_as_a_process(monkeypatch):
    class Broken(torch.nn.Module):
        def __init__(self, spec, dim=8):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(dim))

        def forward(self, batch):
            raise RuntimeError("it was never finished")

    gin.clear_config()  # what was read is locked
    monkeypatch.setitem(MODELS._entries, "broken", Broken)
    assert needed("variant.model='broken'") == 0
