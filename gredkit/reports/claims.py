"""One comparison of two variants in a sentence, by its verdict."""

import math
from typing import Any

from gredkit.reports.numbers import metric_name, p_value, several, significant
from gredkit.reports.power import SAID, about
from gredkit.reports.samples import LEVEL, Method
from gredkit.reports.verdicts import FEWEST, Verdict, unseen

Row = dict[str, Any]  # of a frame of comparisons
SHARE, WITHIN = (f"{100 * (1 - level):.0f} %" for level in (LEVEL, 2 * LEVEL))


def difference(row: Row) -> str:
    """Which variant is ahead, by how much, how certain that is, and what is missing where it is not certain."""
    verdict, variant, base, dataset = Verdict(row["verdict"]), row["variant"], row["base"], row["dataset"]
    if math.isnan(row["difference"]):
        return f"{variant} and {base} cannot be compared on {dataset}: {_no_scores(row)}."
    better, worse = (variant, base) if row["difference"] > 0 else (base, variant)
    amount = f"by {significant(abs(row['difference']))} {metric_name(row['metric'])}"
    lead = f"{better} is ahead of {worse} on {dataset} {amount}"
    if not row["difference"]:
        lead = f"{variant} and {base} are equal on average on {dataset}"
    rest = f"{_now(row)}{_left_out(row)}"
    if row["flattered"]:
        return f"{lead}, but {better} diverged on some seeds, so that nothing is decided.{rest}"
    if verdict == Verdict.UNTESTED:
        return f"{lead}, but {replicates(row)} cannot show anything.{rest}"
    if verdict == Verdict.DIFFERENT:
        told = f"({interval(row)}) over {replicates(row)}; {_corrected(row)}."
        return f"{better} beats {worse} on {dataset} {amount} {told}{_small(row)}{rest}"
    if verdict == Verdict.EQUIVALENT:
        told = f"no difference that matters, within ±{significant(row['margin'], 2)} {metric_name(row['metric'])}"
        over = f"over {replicates(row)}; {missed(row)}"
        return f"{variant} and {base} are equivalent on {dataset}: {told} ({within(row)}), {over}.{rest}"
    if verdict == Verdict.SUGGESTED:
        few = f"{replicates(row)} suggest it, but at least {FEWEST} decide"
        return f"{lead} ({interval(row)}): {few}.{rest}"
    return f"{lead} ({interval(row)}); {missing(row)}.{rest}"


def interval(row: Row) -> str:
    """The interval of the difference, seen from the better variant."""
    return f"{SHARE} interval {_ends(row, 'low', 'high')}"


def within(row: Row) -> str:
    """The interval that shows equivalence, seen from the better variant."""
    return f"{WITHIN} interval {_ends(row, 'equivalence_low', 'equivalence_high')}"


def missing(row: Row) -> str:
    """How many seeds an open comparison needs."""
    needed = row["seeds_needed"]
    if math.isnan(needed):
        return f"{replicates(row)} cannot decide"
    if needed > SAID:
        return f"{replicates(row)} cannot decide, nor would {SAID}"
    return f"{replicates(row)} cannot decide, {about(needed)} would"


def missed(row: Row) -> str:
    """Which failures no test could see: those that did not occur."""
    return f"failures of fewer than {100 * unseen(int(row['n'])):.0f} % of {_unit(row)}s may have gone unseen"


def wins(row: Row) -> str:
    """On how many of the seeds that both have the variant is better: `7 of 8 seeds`."""
    return f"{row['wins']} of {row['pairs']} {'runs' if row['method'] == Method.FOLDS else 'seeds'}"


def often(row: Row) -> str:
    """`better on 7 of 8 seeds, P(A > B) = 0.95`; nothing if that is not known."""
    if math.isnan(row["better"]):
        return ""
    return f"{f'better on {wins(row)}, ' if row['pairs'] else ''}P(A > B) = {row['better']:.2f}"


def now(row: Row) -> str:
    """The difference of all scores so far, with their numbers; nothing if the decision rests on all of them."""
    if math.isnan(row["difference_now"]):
        return ""
    return f"{significant(row['difference_now'])} with all seeds so far ({row['n_now']} and {row['base_n_now']})"


def is_small(row: Row) -> bool:
    """Whether a difference is shown to be smaller than the margin of what matters."""
    return bool(-row["margin"] < row["equivalence_low"] and row["equivalence_high"] < row["margin"])


def replicates(row: Row) -> str:
    """`5 seeds`, or `10 folds`."""
    return several(int(row["n"]), _unit(row))


def _unit(row: Row) -> str:
    return "fold" if row["method"] == Method.FOLDS else "seed"


def _ends(row: Row, low: str, high: str) -> str:
    ends = (row[low], row[high]) if row["difference"] >= 0 else (-row[high], -row[low])
    return " to ".join(map(significant, ends))


def _corrected(row: Row) -> str:
    if math.isnan(row["p_corrected"]):
        return "the same on every seed"
    p = p_value(row["p_corrected"])
    return f"{p}, corrected for {row['tests']} comparisons" if row["tests"] > 1 else p


def _small(row: Row) -> str:
    """A difference can be certain and still too small to matter."""
    if is_small(row):
        return f" It is smaller than ±{significant(row['margin'], 2)}, the margin of what matters."
    return ""


def _now(row: Row) -> str:
    """What more seeds have made of the difference since it was decided, seen from the better variant."""
    if math.isnan(row["difference_now"]):
        return ""
    sign = -1 if row["difference"] < 0 else 1
    return f" With all seeds so far it is {significant(sign * row['difference_now'])}."


def _left_out(row: Row) -> str:
    """What the comparison could not use."""
    if not row["left_out"]:
        return ""
    if row["method"] == Method.WELCH:
        return f" Left out: {several(row['left_out'], 'trial')} without a score."
    return f" Left out: {several(row['left_out'], 'seed')} that did not finish for both."


def _no_scores(row: Row) -> str:
    return "one of them has no score" if row["method"] == Method.WELCH else "no seed has finished for both"
