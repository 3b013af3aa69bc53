"""Several studies as one: their variants on the datasets that they have in common, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from gredkit.errors import UserError
from gredkit.reports.drawing.trials import plain, values, written
from gredkit.reports.question import listed, question
from gredkit.reports.statistics import TASK, final
from gredkit.reports.study import AXIS, SETTING, StudyData

STUDY = "study"
OWN = (f"{SETTING}seed", f"{SETTING}variant", f"{SETTING}{STUDY}")  # settings that say nothing about a study
OF_A_STUDY = ["looks", "compare"]  # columns that are about one study alone
MOST = 12  # values of a setting that are listed
BETWEEN = "_vs_"


def combined(studies: Sequence[StudyData]) -> StudyData:
    """One study whose variants are named after their studies; the first variant of the first one is the base.

    Trials of two studies are never paired: column `setting:study` makes them different architectures, so that they are
    compared by Welch's t test. Seeds that a study added in rounds are used all at once, in one test that does not allow
    for the looks at the scores.
    """
    common = _common(studies)
    here = {study.name: _only(study.results, common) for study in studies}
    named = {study.name: _named(here[study.name], study.name) for study in studies}
    name = BETWEEN.join(named)
    axes = [column for frame in named.values() for column in frame if column.startswith(AXIS)]
    results = pd.concat(named.values(), ignore_index=True).drop(columns=[*axes, *OF_A_STUDY], errors="ignore")
    results[f"{AXIS}{STUDY}"] = results[f"{SETTING}{STUDY}"]
    places = {dataset: place for place, (dataset, _) in enumerate(common)}
    results = results.sort_values("dataset", key=lambda column: column.map(places), kind="stable", ignore_index=True)
    first = studies[0]
    return replace(
        first,
        name=name,
        results=results,
        **{kind: _frames(studies, kind, results) for kind in ("curves", "eigenvalues", "hop_weights")},
        diameters={dataset: ends for study in studies for dataset, ends in study.diameters.items()},
        files={f"{study.name}/{file}": text for study in studies for file, text in study.files.items()},
        command="",
        commit="",
        environments=tuple(environment for study in studies for environment in study.environments),
        hashes={dataset: _hashes(studies, dataset) for dataset, _ in common},
        question=f"How do {listed([study.name for study in studies], 'studies')} compare?",
        experiments={str(run): study.experiment for study in studies for run in study.results["run"].dropna()},
    )


def _common(studies: Sequence[StudyData]) -> list[tuple[str, str]]:
    """Datasets with their metrics that all studies have, in the order of the first one."""
    tasks = [list(final(study.results)[TASK].drop_duplicates().itertuples(index=False, name=None)) for study in studies]
    common = [task for task in tasks[0] if all(task in others for others in tasks[1:])]
    if not common:
        known = "; ".join(
            f"{study.name}: {', '.join(f'{dataset} ({metric})' for dataset, metric in some) or 'no trials'}"
            for study, some in zip(studies, tasks, strict=True)
        )
        raise UserError(f"the studies have no dataset with the same metric in common ({known}): compare others")
    return common


def _only(results: pd.DataFrame, common: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """The trials that are compared, on these datasets."""
    trials = results[results["role"] != "tune"]
    return trials[[task in common for task in trials[TASK].itertuples(index=False, name=None)]]


def _named(frame: pd.DataFrame, study: str) -> pd.DataFrame:
    """Variants with the name of their study; the same trial may be in several studies, so ids have it too."""
    named = frame.assign(variant=frame["variant"] + f" ({study})", id=f"{study}/" + frame["id"])
    return named.assign(**{f"{SETTING}{STUDY}": study}) if "role" in frame else named


def _frames(studies: Sequence[StudyData], kind: str, results: pd.DataFrame) -> pd.DataFrame:
    """The rows of one frame that belong to the trials."""
    frames = [_named(getattr(study, kind), study.name) for study in studies if len(getattr(study, kind))]
    if not frames:
        return getattr(studies[0], kind)
    joined = pd.concat(frames, ignore_index=True)
    return joined[joined["id"].isin(results["id"])]


def _hashes(studies: Sequence[StudyData], dataset: str) -> list[str]:
    return list(dict.fromkeys(one for study in studies for one in study.hashes.get(dataset, ())))


def about(studies: Sequence[StudyData]) -> pd.DataFrame:
    """One row per study: its question, its trials, its commit and its command."""
    rows = [(study.name, question(study), len(study.results), study.commit[:12], study.command) for study in studies]
    return pd.DataFrame(rows, columns=["study", "question", "trials", "commit", "command"])


def differing(studies: Sequence[StudyData]) -> pd.DataFrame:
    """One row per setting whose values are not the same in all studies, on the datasets that they have in common."""
    common = _common(studies)
    told = {study.name: _settings(study, common) for study in studies}
    names = sorted({name for settings in told.values() for name in settings})
    rows = [(name, *(settings.get(name, "") for settings in told.values())) for name in names]
    frame = pd.DataFrame(rows, columns=["setting", *told])
    return frame[frame[list(told)].nunique(axis=1) > 1].reset_index(drop=True)


def _settings(study: StudyData, common: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """The values of each setting in words; data that are not the same have other hashes."""
    trials = _only(study.results, common)
    columns = [name for name in trials if str(name).startswith(SETTING) and name not in OWN]
    found = {name.removeprefix(SETTING): _listed(trials[name]) for name in columns if trials[name].notna().any()}
    found |= {"seeds": _listed(trials["seed"]), "epochs": _listed(trials["epochs"])}
    return found | {f"data of {name}": ", ".join(study.hashes[name]) for name, _ in common if name in study.hashes}


def _listed(column: pd.Series) -> str:
    texts = [written(plain(value)) for value in values(column.dropna())]
    return ", ".join(texts[:MOST]) + (f", … ({len(texts)} values)" if len(texts) > MOST else "")
