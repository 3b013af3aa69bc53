"""gredkit: ablations of GRED, the graph model that reads hops with a linear RNN."""

from gredkit.data import HopData, add_hops, add_hops_to_all
from gredkit.data.task import GraphSpec
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.layer import GREDLayer
from gredkit.nn.models.gred import GRED, count_parameters
from gredkit.nn.scan import linear_scan
from gredkit.saved import load

__all__ = [
    "GRED",
    "GREDLayer",
    "GraphSpec",
    "HopData",
    "HopIndex",
    "add_hops",
    "add_hops_to_all",
    "count_parameters",
    "linear_scan",
    "load",
]
__version__ = "0.1.0"
