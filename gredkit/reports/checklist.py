"""What a checklist for reproducibility asks (as that of NeurIPS does), answered from what was recorded."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from gredkit.reports.drawing.trials import axis_columns, plain, values, written
from gredkit.reports.numbers import several, significant
from gredkit.reports.question import listed
from gredkit.reports.statistics import final
from gredkit.reports.study import AXIS, SETTING, StudyData

UNKNOWN = "not recorded"
PACKAGES = ("gredkit", "torch", "torch-geometric", "numpy", "scipy", "mlflow")
MANY = 8  # values that are listed


def checklist(study: StudyData) -> list[tuple[str, str]]:
    """Pairs of what is asked and its answer; what is missing in the store is said to be missing."""
    trials = final(study.results)
    return [
        ("Number of runs", _runs(study.results, trials)),
        ("Scores and bars", _bars(trials)),
        ("What was varied", _varied(study.results)),
        ("Hyper-parameters searched", _searched(study.results)),
        ("Compute", _compute(study)),
        ("Hardware", _hardware(study)),
        ("Versions", _versions(study.environments)),
        ("Code", _code(study)),
        ("Data", _data(study, trials)),
    ]


def _runs(results: pd.DataFrame, trials: pd.DataFrame) -> str:
    seeds = sorted(trials["seed"].unique())
    sizes = [several(trials[name].nunique(), name) for name in ("variant", "dataset")]
    named = f" ({listed(list(map(str, seeds)), 'values', MANY)})" if len(seeds) <= MANY else ""
    lost = int(trials["score"].isna().sum())
    tuning = len(results) - len(trials)
    return (
        f"{several(len(trials), 'trial')}: {', '.join(sizes)}, {several(len(seeds), 'seed')}{named}; "
        f"{len(trials) - lost} have a score, {lost} {'has' if lost == 1 else 'have'} none"
        f"{f'; {tuning} more chose hyper-parameters' if tuning else ''}."
    )


def _bars(trials: pd.DataFrame) -> str:
    return (
        "A score is the test metric after the epoch with the best validation score. Means are over seeds; ± and bars "
        "of scores are one standard deviation over seeds (n - 1), not a standard error. Bars of differences are 95 % "
        "intervals, which hold for all comparisons of the report at once. A seed determines the initial weights, the "
        "order of the batches and dropout."
    )


def _varied(results: pd.DataFrame) -> str:
    told = [f"{column.removeprefix(AXIS)}: {_listed(values(results[column]))}" for column in axis_columns(results)]
    return "; ".join(told) + "." if told else "Named variants; their settings are below."


def _searched(results: pd.DataFrame) -> str:
    tried = results[results["role"] == "tune"]
    if tried.empty:
        return "None: all other settings are fixed, and they are the same for every seed."
    groups = tried.groupby(["dataset", "variant"], sort=False)
    columns = [
        name for name in tried if name.startswith(SETTING) and name not in (f"{SETTING}seed", f"{SETTING}variant")
    ]
    ranges = [f"{name.removeprefix(SETTING)}: {_listed(values(tried[name].dropna()))}" for name in columns
              if groups[name].nunique().max() > 1]  # fmt: skip
    return f"{'; '.join(ranges) or UNKNOWN}. The best validation score chose, separately for each variant and dataset."


def _listed(found: Sequence[Any]) -> str:
    texts = [written(plain(value)) for value in found]
    return ", ".join(texts[:MANY]) + (f", … ({len(texts)} values)" if len(texts) > MANY else "")


def _compute(study: StudyData) -> str:
    """Core-hours: the time of every trial times its threads; of those that were lost, from their start to their end."""
    results = study.results
    seconds = pd.to_numeric(results["seconds"], errors="coerce").astype(float)
    if {"started", "ended"} <= set(results):
        lasted = pd.to_datetime(results["ended"], utc=True) - pd.to_datetime(results["started"], utc=True)
        seconds = seconds.fillna(lasted.dt.total_seconds())
    known, hours = int(seconds.notna().sum()), float(seconds.sum()) / 3600
    if not known:
        return UNKNOWN
    missing = f" The times of {len(results) - known} trials are {UNKNOWN}." if known < len(results) else ""
    threads = {environment["threads"] for environment in study.environments if "threads" in environment}
    devices = sorted({str(one) for one in results.get("device", pd.Series(dtype=str)).dropna() if one})
    spent = f"{significant(hours, 2)} hours of training, summed over {several(known, 'trial')}"
    if any(not device.startswith("cpu") for device in devices):
        return f"{spent}, on {', '.join(devices)}: device-hours.{missing}"
    if len(threads) != 1:
        return f"{spent}; how many threads each trial had is {UNKNOWN if not threads else 'not the same'}.{missing}"
    (count,) = threads
    spent = f"{significant(hours * count, 2)} core-hours: {spent}, times {several(count, 'thread')} of each"
    return f"{spent}. Searching for hops and loading data are not part of it.{missing}"


def _hardware(study: StudyData) -> str:
    machines = list(dict.fromkeys(_machine(environment) for environment in study.environments))
    jobs = pd.to_numeric(study.results.get("jobs", pd.Series(dtype=float)), errors="coerce").dropna()
    side = f" Up to {several(int(jobs.max()), 'trial')} side by side." if len(jobs) else ""
    if machines:
        return f"{'; '.join(machines)}.{side}"
    devices = sorted({str(one) for one in study.results.get("device", pd.Series(dtype=str)).dropna() if one})
    return f"{', '.join(devices) or 'device'}; the machine is {UNKNOWN}.{side}"


def _machine(told: Mapping[str, Any]) -> str:
    parts = [str(told["device"])] if str(told.get("device", "cpu")) != "cpu" else []
    parts.append(str(told.get("processor_name") or told.get("processor") or f"processor {UNKNOWN}"))
    parts.append(several(told["cores"], "core") if "cores" in told else f"number of cores {UNKNOWN}")
    parts.append(f"{told['memory_gb']} GB of memory" if "memory_gb" in told else f"memory {UNKNOWN}")
    parts += [str(told["platform"])] if "platform" in told else []
    return ", ".join(parts)


def _versions(environments: Sequence[Mapping[str, Any]]) -> str:
    told = dict.fromkeys(", ".join(_packages(environment)) for environment in environments)
    return "; ".join(told) + ". environment.json of each run lists all packages." if told else UNKNOWN


def _packages(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"Python {told.get('python', UNKNOWN)}"
    installed = {name.lower().replace("_", "-"): version for name, version in (told.get("packages") or {}).items()}
    yield from (f"{name} {installed[name]}" for name in PACKAGES if name in installed)


def _code(study: StudyData) -> str:
    """The commits of the trials; "none" is a run outside of git, a plus are changes that no commit has."""
    found = study.results.get("git_commit", pd.Series(dtype=str)).dropna().astype(str)
    commits = found[~found.isin(["", "none"])].value_counts(sort=False)
    if commits.empty:
        return f"commit {UNKNOWN}: the study ran outside of a git repository."
    told = [f"{commit.rstrip('+')[:12]} ({several(count, 'trial')})" if len(commits) > 1 else commit.rstrip("+")
            for commit, count in commits.head(MANY).items()]  # fmt: skip
    text = f"{'commits' if len(commits) > 1 else 'commit'} {', '.join(told)}"
    changed = any(commit.endswith("+") for commit in commits.index)
    return f"{text}{', with changes that were not committed' if changed else ''}."


def _data(study: StudyData, trials: pd.DataFrame) -> str:
    told = []
    for dataset in trials["dataset"].unique():
        hashes = study.hashes.get(str(dataset), ())
        told.append(f"{dataset}: {', '.join(hashes) if hashes else f'hash {UNKNOWN}'}")
    return (
        f"{'; '.join(told)}. A hash is of all graphs and splits (XXH3); a dataset that is made has a seed of its own."
    )
