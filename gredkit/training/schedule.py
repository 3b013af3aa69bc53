"""The learning rate as a function of the step."""

import math


def factor(step: int, total_steps: int, warmup: float) -> float:
    """What the learning rate is multiplied by at a step, counted from 0.

    With w = round(warmup · total_steps): (step + 1) / (w + 1) before step w, where it is 1, and from there
    (1 + cos(π (step - w) / (total_steps - w))) / 2, which would be 0 one step after the last.
    """
    rising = min(round(warmup * total_steps), total_steps)
    if step < rising:
        return (step + 1) / (rising + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(total_steps - rising, 1)))
