"""Which of our modules a file of a baseline is compared with."""

from collections.abc import Callable, Mapping

import numpy as np
from golden.baselines import by_hops, by_pairs, gnn_plus, gps
from golden.baselines.vectors import Baseline

FAMILIES: dict[str, Callable[[Mapping, Mapping[str, np.ndarray]], Baseline]] = {  # by the first word of `model`
    "gatedgcn": gnn_plus.gated_gcn,
    "gcn": gnn_plus.gcn,
    "gcne": gnn_plus.gcn,
    "gin": gnn_plus.gin,
    "gps": gps.gps,
    "spn": by_hops.spn,
    "drew": by_hops.drew,
    "graphormer": by_pairs.graphormer,
    "grit": by_pairs.grit,
}


def family_of(config: Mapping) -> Callable[[Mapping, Mapping[str, np.ndarray]], Baseline]:
    """The function that builds our modules for such a file."""
    word = config["model"].partition("_")[0]
    if word not in FAMILIES:
        raise SystemExit(f"unknown model {config['model']!r}: known are those that begin with {', '.join(FAMILIES)}")
    return FAMILIES[word]
