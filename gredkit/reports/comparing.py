"""One comparison of two variants as a row of a table, and what the comparisons of a study share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gredkit.reports.margins import RANGES, margin_of
from gredkit.reports.pairing import Scores, looks_of, method_of
from gredkit.reports.power import seeds_needed
from gredkit.reports.samples import LEVEL, ROUNDING, Method, Samples
from gredkit.reports.verdicts import ENOUGH, FEWEST, LEAST, Decision, Verdict, decided, share_of

COMPARED = (
    *("method", "pairs", "wins", "ties", "losses", "n", "difference", "low", "high", "tests", "effect"),
    *("difference_now", "n_now", "base_n_now"),
    *("p", "p_corrected", "margin", "equivalence_low", "equivalence_high", "p_equivalence"),
    *(
        "better",
        "better_low",
        "better_high",
        "verdict",
        "look",
        "seeds_needed",
        "left_out",
        "flattered",
        "holds",
        "note",
    ),
)


UNBOUNDED = ("r2",)  # its range ends where a model is as good as the mean; scores may lie below
ENDS = ("low", "high", "equivalence_low", "equivalence_high")


@dataclass(frozen=True)
class Facts:
    """What the comparisons on one dataset share."""

    metric: str
    larger_is_better: bool
    looks: tuple[int, ...]  # numbers of seeds; none if they are fixed
    test_share: float  # test graphs over training graphs; for folds
    margin: float | None  # what the study sets

    @classmethod
    def of(cls, trials: pd.DataFrame) -> "Facts":
        """From the trials of one dataset."""
        shares = (
            pd.to_numeric(trials["test_share"], errors="coerce") if "test_share" in trials else pd.Series(dtype=float)
        )
        return cls(
            str(trials["metric"].iloc[0]),
            bool(trials["larger_is_better"].iloc[0]),
            looks_in(trials),
            float(shares.max()) if shares.notna().any() else _of_folds(trials),
            _first(trials["margin"]) if "margin" in trials else None,
        )


def _first(column: pd.Series) -> float | None:
    """The first number of a column in which all known ones are equal."""
    known = pd.to_numeric(column, errors="coerce").dropna()
    return float(known.iloc[0]) if len(known) else None


def _of_folds(trials: pd.DataFrame) -> float:
    """Test graphs over the others, if every graph is in the test split of one fold; not known otherwise."""
    folds = trials["replicate"].nunique() if "replicate" in trials else 1
    return 1 / (folds - 1) if folds > 1 else 0.0


def looks_in(trials: pd.DataFrame) -> tuple[int, ...]:
    """The numbers of seeds at which a study looks at its scores; none if they are fixed."""
    told = [text for text in trials["looks"].dropna().astype(str).unique() if text] if "looks" in trials else []
    return tuple(int(number) for number in told[0].split(",")) if told else ()


def decision(variants: Mapping[str, Scores], name: str, base: str, facts: Facts, tests: int) -> tuple[Decision, float]:
    """What a comparison has shown as one of so many, and its margin."""
    ours, theirs = variants[name], variants[base]
    margin = margin_of(facts.metric, facts.margin, _first_scores(theirs, facts.looks))
    looks = looks_of(ours, theirs, facts.looks, facts.larger_is_better, facts.test_share)
    return decided(looks, tests, margin), margin


def _first_scores(base: Scores, looks: tuple[int, ...]) -> list[float]:
    """The scores of the base at the first look, so that later ones cannot move the margin."""
    first = sorted({seed for _, seed in base.all})[: looks[0] if looks else None]
    return list(base.until(set(first)).scores.values())


def row(variants: Mapping[str, Scores], name: str, base: str, facts: Facts, tests: int) -> tuple[Any, ...]:
    """The variant, the base, and the columns `COMPARED`."""
    found, margin = decision(variants, name, base, facts, tests)
    look, samples = found.look, found.look.samples
    told: dict[str, Any] = dict.fromkeys(COMPARED, np.nan)
    told |= {"method": method_of(variants[name], variants[base]).value, "tests": tests, "margin": margin}
    told |= dict.fromkeys(("pairs", "wins", "ties", "losses", "n"), 0)
    told |= {"verdict": found.verdict.value, "look": look.seeds, "left_out": look.left_out, "flattered": look.flattered}
    told |= {"holds": found.verdict == Verdict.DIFFERENT, "note": note(found)}
    if samples is not None:
        told |= _seed_by_seed(variants[name], variants[base], facts, look.seeds) | {"n": samples.n}
        told["difference"] = samples.difference
    told |= _now(variants[name], variants[base], facts, look.seeds)
    if samples is not None and found.verdict != Verdict.UNTESTED:
        reach = _farthest(facts.metric, samples)
        told |= {end: float(np.clip(getattr(found, end), -reach, reach)) for end in ENDS} | {"p": found.p}
        told |= {"p_corrected": np.minimum(1.0, found.p * tests), "effect": samples.effect}
        told["p_equivalence"] = samples.p_equivalence(margin)
        told["better"], told["better_low"], told["better_high"] = samples.wins()
    if samples is not None and found.verdict in (Verdict.OPEN, Verdict.SUGGESTED) and not look.flattered:
        later = max(facts.looks.index(look.seeds) + 1, len(facts.looks) - 1) if look.seeds else 0
        share = share_of(later) if facts.looks else 1.0
        within = 0.0 if look.diverged else margin  # no number of seeds shows that they are equivalent
        told["seeds_needed"] = seeds_needed(samples, LEVEL * share / tests, within, FEWEST, ENOUGH)
    return name, base, *told.values()


def _farthest(metric: str, samples: Samples) -> float:
    """How large a difference of means can be: that of the ends of a metric that has two."""
    scores = np.abs(np.concatenate([samples.ours, samples.theirs]))  # of a smaller error the sign is turned
    is_bounded = metric in RANGES and metric not in UNBOUNDED and scores.max() <= RANGES[metric]
    return RANGES[metric] if is_bounded else np.inf


def _now(ours: Scores, theirs: Scores, facts: Facts, seeds: int) -> dict[str, Any]:
    """The difference of the means of all scores, if there are more than the look with so many seeds has used."""
    told = {"n_now": len(ours.scores), "base_n_now": len(theirs.scores)}
    some = set(_first_seeds(ours, theirs, seeds)) if seeds else None
    if some is None or not any(seed not in some for one in (ours, theirs) for _, seed in one.scores):
        return told
    gain = float(np.mean(list(ours.scores.values())) - np.mean(list(theirs.scores.values())))
    return told | {"difference_now": gain if facts.larger_is_better else -gain}


def _first_seeds(ours: Scores, theirs: Scores, seeds: int) -> list[int]:
    """Those of a look."""
    return sorted({seed for _, seed in ours.all | theirs.all})[:seeds]


def _seed_by_seed(ours: Scores, theirs: Scores, facts: Facts, seeds: int) -> dict[str, int]:
    """On how many seeds which one is better, of those that both have; with folds on how many folds and seeds."""
    if seeds:
        some = set(_first_seeds(ours, theirs, seeds))
        ours, theirs = ours.until(some), theirs.until(some)
    both = sorted(ours.scores.keys() & theirs.scores.keys())
    gains = np.array([ours.scores[unit] - theirs.scores[unit] for unit in both])
    sizes = np.array([max(abs(ours.scores[unit]), abs(theirs.scores[unit])) for unit in both])
    gains = np.where(np.abs(gains) <= ROUNDING * sizes.max(initial=0), 0, gains if facts.larger_is_better else -gains)
    wins, losses = int((gains > 0).sum()), int((gains < 0).sum())
    return {"pairs": len(both), "wins": wins, "ties": len(both) - wins - losses, "losses": losses}


def note(found: Decision) -> str:
    """What the reader of a comparison must know, if anything."""
    samples = found.look.samples
    if samples is None:
        return "one of the two has no score" if found.look.seeds or found.look.is_complete else "not finished"
    unit = "folds" if samples.method == Method.FOLDS else "seeds"
    if found.verdict == Verdict.UNTESTED:
        return f"fewer than {LEAST} {unit}: no test was made"
    if found.look.flattered:
        return "the better variant diverged on a seed: nothing is decided"
    if not found.look.is_complete:
        return "the first round of seeds has not ended: nothing is decided"
    if samples.n < FEWEST:
        return f"fewer than {FEWEST} {unit}: nothing is decided"
    if found.verdict == Verdict.OPEN and found.look.diverged:
        return "one of the two diverged on a seed: they are not equivalent"
    return "" if samples.error else _without_spread(samples)


def _without_spread(samples: Samples) -> str:
    return "the same difference on every seed" if samples.difference else "equal on every seed"


def holm(p: pd.Series, tests: int) -> pd.Series:
    """p, corrected for several tests after Holm; tests without a p count as not significant."""
    values = p.astype(float)
    known = values.dropna().sort_values()
    factors = np.arange(tests, tests - len(known), -1)
    return (known * factors).cummax().clip(upper=1.0).reindex(p.index)
