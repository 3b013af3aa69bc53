"""Imported by the server that trials are forked from: what every trial would do first is done once, for all of them."""

import gc
from contextlib import suppress

import sklearn.metrics  # noqa: F401  what most trials score with
import torch
from torch_geometric.data import Data

from gredkit.ablation.record import packages
from gredkit.data.hops.index import hop_arrays

with suppress(Exception):  # trials that need it will say what is wrong
    packages()
    hop_arrays(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), None)  # numba loads what it has compiled
gc.collect()
gc.freeze()  # no trial looks through all of this for garbage, nor copies it in doing so
