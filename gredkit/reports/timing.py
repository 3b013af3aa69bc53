"""Whether times and memory of trials can be compared, and which trials ran with compiled kernels."""

import pandas as pd

QUIET = 0.1  # the largest share of the processor that other programs may use while a time is measured
ALONE = ("seconds_per_epoch", "peak_mb")  # costs that are only known of trials that ran alone
MOST = 12  # variants whose names are listed
LEFT_OUT = "Times and memory are left out"
ADVICE = "run the study with --jobs 1 on a quiet machine to compare them"


def why_no_times(trials: pd.DataFrame) -> str:
    """One sentence that says why times and memory are left out; empty if each of these trials ran alone on its machine.

    `trials` has the columns `jobs` and `other_load`, with one row per trial, or with the largest of several trials.
    """
    if trials.empty:
        return ""
    jobs, load = (
        pd.to_numeric(trials[name], errors="coerce") if name in trials else pd.Series(float("nan"), trials.index)
        for name in ("jobs", "other_load")
    )
    if jobs.isna().any() or load.isna().any():
        return f"{LEFT_OUT}, because it is not known whether every trial ran alone: {ADVICE}."
    if jobs.max() > 1:
        return f"{LEFT_OUT}, because up to {jobs.max():.0f} trials ran side by side: {ADVICE}."
    if load.max() > QUIET:
        share = f"{load.max():.0%}".replace("%", " %")
        return f"{LEFT_OUT}, because other programs used up to {share} of the processor: {ADVICE}."
    return ""


def with_kernels(trials: pd.DataFrame) -> str:
    """Which variants ran with compiled kernels, in words; empty if that is not known.

    `trials` has the columns `variant` and `kernels`, with one row per trial, or with all answers of several trials.
    """
    told = (trials["kernels"] if "kernels" in trials else pd.Series("", trials.index)).fillna("").astype(str)
    fused = told.str.contains(r"\byes\b").astype(float).mask(told.str.contains(r"yes\b.|.\byes"), 0.5)
    known = trials.assign(fused=fused)[told != ""]
    shares = known.groupby("variant", sort=False)["fused"].mean()
    if shares.empty:
        return ""
    if (shares == 1).all():
        return "All variants ran with compiled kernels."
    if (shares == 0).all():
        return "All variants ran without compiled kernels."
    groups = {
        "With compiled kernels": shares[shares == 1],
        "Without": shares[shares == 0],
        "With compiled kernels in some trials only": shares[shares % 1 > 0],
    }
    return " ".join(f"{how}: {_listed(group.index)}." for how, group in groups.items() if len(group))


def _listed(names: pd.Index) -> str:
    """Names in a row, or their number if they are many."""
    if len(names) > MOST:
        return f"{len(names)} variants"
    return ("; " if any("," in str(name) for name in names) else ", ").join(map(str, names))
