"""At how many seeds a study with `study.seeds = 'until_decided'` looks at its scores."""

UNTIL_DECIDED = "until_decided"
FIRST = 5  # seeds; fewer decide nothing


def looks_until(most: int) -> tuple[int, ...]:
    """Five seeds, then half as many again (rounded up) at each look, at last `most`: 5, 8, 12."""
    looks = [FIRST]
    while looks[-1] < most:
        looks.append(min(looks[-1] + (looks[-1] + 1) // 2, most))
    return tuple(looks)
