"""Imported by the fork server: work that every trial would do first is done once for all of them."""

import gc
from contextlib import suppress

import sklearn.metrics  # noqa: F401  most trials compute scores with it
import torch
from torch_geometric.data import Data

from gredkit.ablation.record import packages
from gredkit.data.hops.index import hop_arrays

with suppress(Exception):  # trials that need it will report the error
    packages()
    hop_arrays(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), None)  # numba loads its compiled code
gc.collect()
gc.freeze()  # so that no trial's garbage collection scans, and thereby copies, all of this
