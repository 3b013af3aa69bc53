"""How far two arrays are apart."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

TOLERANCE = 1e-4  # of outputs, gradients, and final weights


@dataclass
class Difference:
    """The largest absolute difference, and the largest absolute value it is measured by."""

    absolute: float
    scale: float

    @property
    def relative(self) -> float:
        """Infinite where it is no number, so that it is the largest of several."""
        found = self.absolute / self.scale if self.scale else self.absolute
        return float("inf") if math.isnan(found) else found

    @classmethod
    def between(cls, ours: Tensor, theirs: np.ndarray, scale: float | None = None) -> "Difference":
        reference = torch.from_numpy(theirs).to(ours)
        if ours.shape != reference.shape:
            raise SystemExit(f"shapes differ: ours {tuple(ours.shape)}, theirs {tuple(reference.shape)}")
        both_finite = bool(ours.isfinite().all() and reference.isfinite().all())
        gap = (ours - reference).abs().max().item() if ours.numel() else 0.0
        if scale is None:
            scale = reference.abs().max().item() if ours.numel() else 0.0
        return cls(gap if both_finite else float("inf"), scale)
