import sys
from pathlib import Path

import pytest
import torch

from gredkit.errors import UserError
from gredkit.training.device import autocast, peak_mb, resolve
from gredkit.training.recipe import Recipe

CPU = torch.device("cpu")


def test_auto_is_the_gpu_if_there_is_one():
    assert Recipe().resolve_device().type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert resolve("cpu") == CPU


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "meta", ""])
def test_a_device_that_is_not_there(name):
    with pytest.raises(UserError, match=r"there is no device '.*' on this machine: use 'auto' or 'cpu'"):
        Recipe(device=name).resolve_device()


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_no_gpu():
    with pytest.raises(UserError, match="there is no device 'cuda' on this machine"):
        Recipe(device="cuda").resolve_device()


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_products_have_the_precision_that_was_asked_for(precision):
    with autocast(CPU, precision):
        product = torch.ones(2, 2) @ torch.ones(2, 2)
    assert product.dtype == getattr(torch, precision)


@pytest.mark.skipif(sys.platform != "linux", reason="reads what the Linux kernel says")
def test_the_peak_is_what_the_kernel_says():
    status = Path("/proc/self/status").read_text()
    kilobytes = int(status.partition("VmHWM:")[2].split()[0])
    assert peak_mb(CPU) == pytest.approx(kilobytes * 1024 / 1e6, rel=0.05)


def test_the_peak_grows_with_what_is_allocated():
    before = peak_mb(CPU)
    block = torch.ones(int(before * 1e6) // 4)  # float32: as much as all there was
    assert peak_mb(CPU) > 1.1 * before
    del block
