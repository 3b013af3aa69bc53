"""How small is a difference that does not matter? The margin of equivalence of each metric.

By default it is 1 % of the metric's range, which is 0.01 for accuracy, and 1 % of the base's mean for metrics without
a range, such as MAE. `study.margin` sets another one.
"""

from collections.abc import Sequence

import numpy as np

SHARE = 0.01  # of the range, or of the base's mean
# Not in the line that registers a metric: that line is a part of the code that the ids of trials are made from.
RANGES = {
    **dict.fromkeys(("accuracy", "class_mean_accuracy", "macro_f1", "average_precision", "roc_auc"), 1.0),
    "r2": 1.0,  # from the mean of the targets to perfect outputs
}


def margin_of(metric: str, asked: float | None, base: Sequence[float]) -> float:
    """The margin of a comparison.

    asked: what the study sets
    base: the scores of the base at the first look, so that later ones cannot move the margin
    """
    if asked is not None:
        return asked
    if metric in RANGES:
        return SHARE * RANGES[metric]
    return SHARE * abs(float(np.mean(base))) if len(base) else float("nan")
