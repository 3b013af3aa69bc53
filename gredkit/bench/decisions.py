"""How often a report is wrong, and how often it has an answer: simulated studies with scores of known means.

A study has three tasks; on each, three variants are compared with a base, so there are nine comparisons.

- error: no variant differs, and the report says of at least one that it does; or every variant differs by just the
  margin, and the report says of at least one that it is equivalent. Per study, and as a share of the comparisons
- power: the share of comparisons that are decided, if variants differ by so many standard deviations, or are equal and
  the margin is 3 standard deviations
- seeds: what a variant was trained on, on average over the comparisons with a difference of 2

Two kinds of scores show the limits of t tests (`LIMITS`). Lognormal scores have one long tail, and the base has a
quarter of the spread. With rare failures every variant but the base loses 20 standard deviations on one seed of five,
so that its true difference of 4 is above the margin: it is wrong to call it equivalent, and right to call it different.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from gredkit.reports.samples import Method, Samples
from gredkit.reports.verdicts import Decision, Look, Verdict, decided, shares

TASKS, VARIANTS = 3, 3
COMPARISONS = TASKS * VARIANTS
LOOKS = (5, 8, 12)
DESIGNS: dict[str, tuple[int, ...]] = {"3 seeds": (3,), "5 seeds": (5,), "10 seeds": (10,), "until_decided": LOOKS}
MARGIN = 3.0  # standard deviations
FAILING, LOSS = 0.2, 20.0  # how often a seed fails, and what that costs in standard deviations
STUDIES, FEW_STUDIES = 4000, 5
Draw = Callable[[np.random.Generator, Sequence[int]], np.ndarray]  # scores of mean 0, last axis: seeds


def normal(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    return rng.normal(size=shape)


def heavy_tailed(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Student's t with 3 degrees of freedom, whose standard deviation is made 1."""
    return rng.standard_t(3, size=shape) / np.sqrt(3)


def bimodal(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """A seed works or it does not, each with probability 1/2; nearly the same scores else."""
    return rng.choice([-1.0, 1.0], size=shape) + 0.02 * rng.normal(size=shape)


def unequal_variances(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Normal; the first variant, which is the base, has a quarter of the spread of the others."""
    scores = rng.normal(size=shape)
    scores[:, 0] /= 4
    return scores


def lognormal(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """One long tail, standard deviation 1; the first variant, which is the base, has a quarter of that spread."""
    scores = (np.exp(rng.normal(size=shape)) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    scores[:, 0] /= 4
    return scores


def rare_failures(rng: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Normal; each variant but the first, which is the base, loses 20 on one seed of five."""
    scores = rng.normal(size=shape)
    scores[:, 1:] -= LOSS * (rng.random(size=scores[:, 1:].shape) < FAILING)
    return scores


SCORES: dict[str, Draw] = {
    "normal": normal,
    "heavy-tailed": heavy_tailed,
    "bimodal": bimodal,
    "unequal variances": unequal_variances,
}
RARE = "rare failures"
LIMITS: dict[str, Draw] = {"lognormal, unequal": lognormal, RARE: rare_failures}


def study(
    rng: np.random.Generator, draw: Draw, looks: Sequence[int], difference: float, margin: float, method: Method
) -> list[Decision]:
    """The decisions of one simulated study, whose variants are better than the base by so much."""
    scores = draw(rng, (TASKS, VARIANTS + 1, looks[-1]))
    scores[:, 1:] += difference
    found = []
    for base, *variants in scores:
        for variant in variants:
            parts = zip(looks, shares(looks) if len(looks) > 1 else [1.0], strict=True)  # a fixed number spends all
            seen = [Look(Samples(method, variant[:n], base[:n]), n, share) for n, share in parts]
            found.append(decided(seen, COMPARISONS, margin))
    return found


def claims(decision: Decision, verdict: Verdict) -> bool:
    """Whether a report says so; with fewer than five seeds it says that a difference is suggested."""
    said = decision.verdict
    return said == verdict or (verdict == Verdict.DIFFERENT and said == Verdict.SUGGESTED)


def simulated(
    draw: Draw,
    looks: Sequence[int],
    studies: int,
    difference: float,
    margin: float,
    verdict: Verdict,
    method: Method = Method.WELCH,
) -> tuple[float, float, float]:
    """The share of studies and of comparisons that claim a verdict, and the mean number of seeds of a variant."""
    rng = np.random.default_rng(17)
    found = [study(rng, draw, looks, difference, margin, method) for _ in range(studies)]
    said = np.array([[claims(one, verdict) for one in decisions] for decisions in found])
    seeds = np.mean([[one.look.seeds for one in decisions] for decisions in found])
    return float(said.any(1).mean()), float(said.mean()), float(seeds)


def run(quick: bool) -> dict[str, Any]:
    """One entry per kind of scores and design; None is what has no meaning for these scores."""
    studies = FEW_STUDIES if quick else STUDIES
    found: dict[str, Any] = {"studies": studies, "designs": []}
    for scores, draw in (SCORES | LIMITS).items():
        for design, looks in DESIGNS.items():
            of = _rare(draw, looks, studies) if scores == RARE else _usual(draw, looks, studies)
            found["designs"].append({"scores": scores, "design": design, **of})
    return found


def _usual(draw: Draw, looks: Sequence[int], studies: int) -> dict[str, Any]:
    different = simulated(draw, looks, studies, 0.0, 0.0, Verdict.DIFFERENT)
    equivalent = simulated(draw, looks, studies, MARGIN, MARGIN, Verdict.EQUIVALENT)
    of: dict[str, Any] = {
        "wrongly_different": different[:2],
        "wrongly_equivalent": equivalent[:2],
        "power_equivalent": simulated(draw, looks, studies // 4 + 1, 0.0, MARGIN, Verdict.EQUIVALENT)[1],
    }
    for size in (2.0, 4.0):
        claimed = simulated(draw, looks, studies // 4 + 1, size, 0.0, Verdict.DIFFERENT)
        of |= {f"power_{size:.0f}": claimed[1], f"seeds_{size:.0f}": claimed[2]}
    return of


def _rare(draw: Draw, looks: Sequence[int], studies: int) -> dict[str, Any]:
    """The variants differ by 4 on average as they are drawn."""
    equivalent = simulated(draw, looks, studies, 0.0, MARGIN, Verdict.EQUIVALENT)
    power = simulated(draw, looks, studies // 4 + 1, 0.0, MARGIN, Verdict.DIFFERENT)[1]
    unknown = dict.fromkeys(("wrongly_different", "power_2", "power_equivalent", "seeds_2"))
    return {**unknown, "wrongly_equivalent": equivalent[:2], "power_4": power, "seeds_4": equivalent[2]}


def table(result: dict[str, Any]) -> Table:
    shown = Table(title=f"{result['studies']} simulated studies of {COMPARISONS} comparisons each")
    errors = [f"wrongly {word}, per {unit}" for word in ("different", "equivalent") for unit in ("study", "comparison")]
    titles = ("scores", "design", *errors, "power at 2 sd", "at 4 sd", "to show equivalence", "seeds at 2 sd")
    for title in titles:
        shown.add_column(title, justify="left" if title in titles[:2] else "right")
    for of in result["designs"]:
        rates = [rate for name in ("different", "equivalent") for rate in of[f"wrongly_{name}"] or (None, None)]
        powers = [of[name] for name in ("power_2", "power_4", "power_equivalent")]
        seeds = "-" if of["seeds_2"] is None else f"{of['seeds_2']:.1f}"
        cells = [*(_percent(rate, 1) for rate in rates), *(_percent(power, 0) for power in powers), seeds]
        shown.add_row(of["scores"], of["design"], *cells)
    return shown


def _percent(share: float | None, digits: int) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"
