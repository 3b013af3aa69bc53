"""The learning rate as a function of the step."""

import math


def factor(step: int, total_steps: int, warmup: float) -> float:
    """The factor of the learning rate at a step: linear warm-up, then cosine decay. Steps count from 0.

    With w = round(warmup · total_steps):
    before step w: (step + 1) / (w + 1);
    from step w on: (1 + cos(π (step - w) / (total_steps - w))) / 2, from 1 down to almost 0.
    """
    rising = min(round(warmup * total_steps), total_steps)
    if step < rising:
        return (step + 1) / (rising + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(total_steps - rising, 1)))
