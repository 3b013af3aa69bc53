"""What counts as a launch, and how many a step of the paper's models takes."""

from dataclasses import replace

import pytest
import torch

from gredkit.bench import launches
from gredkit.bench.launches import counted
from gredkit.bench.settings import SETTINGS, chosen


def test_a_matrix_that_is_copied_before_something_is_added_to_it_counts():
    square, row = torch.ones(3, 3), torch.ones(3)
    with counted() as counts:
        torch.addmm(row, square, square)
    assert counts == {"addmm": 1}
    with counted() as counts:
        torch.addmm(square, square, square, out=torch.empty(3, 3))
        torch.baddbmm(square[None], square[None], square[None])
    assert counts == {"addmm": 1, "baddbmm": 1, "copy_": 2}
    with counted() as counts:
        torch.addmm(square, square, square, beta=0)
        torch.ones(3, 3).addmm_(square, square)
    assert counts == {"addmm": 1, "ones": 1, "addmm_": 1}


@pytest.mark.parametrize(("name", "layer", "step"), [("zinc", 23, 334), ("peptides", 25, 285), ("cifar10", 23, 247)])
def test_a_step_of_the_paper_takes_no_more_than_the_docs_say(name, layer, step):
    """The count depends on the number of layers, not on their width."""
    small = chosen(name, quick=True)
    setting = replace(small, layers=SETTINGS[name].layers)
    depths = setting.layers, setting.layers + 1
    found, more = (launches._step(setting, launches._gred(setting, depth)).total() for depth in depths)
    assert found <= step
    assert more - found <= layer
