"""Datasets that are a part of another one: every figure says so in its titles."""

from collections.abc import Mapping
from dataclasses import fields, replace

import pandas as pd

from gredkit.data.subsets import share
from gredkit.reports.budget import PART
from gredkit.reports.study import StudyData


def shares(results: pd.DataFrame) -> dict[str, str]:
    """How large the parts are: `1,087 of 10,873 training graphs of peptides_func`, by dataset."""
    if PART not in results:
        return {}
    known = results.dropna(subset=[PART]).drop_duplicates("dataset")
    return {dataset: share(said) for dataset, said in zip(known["dataset"], known[PART], strict=True)}


def titled(study: StudyData) -> StudyData:
    """The study as figures show it: a dataset that is a part of another one is called so."""
    names = {name: f"{name} ({_short(said)})" for name, said in shares(study.results).items()}
    if not names:
        return study
    frames = {one.name: getattr(study, one.name) for one in fields(study)}
    renamed = {name: _renamed(frame, names) for name, frame in frames.items() if isinstance(frame, pd.DataFrame)}
    diameters = {names.get(dataset, dataset): pair for dataset, pair in study.diameters.items()}
    return replace(study, **renamed, diameters=diameters)


def with_parts(title: str, results: pd.DataFrame) -> str:
    """The title of a figure, with the sizes of the parts that it shows."""
    told = list(dict.fromkeys(shares(results).values()))
    return f"{title}, on {' and '.join(told)}" if told else title


def _short(said: str) -> str:
    """Without the name of the whole dataset, which the name of a part begins with."""
    return said.rpartition(" of ")[0]


def _renamed(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    return frame.assign(dataset=frame["dataset"].replace(names)) if "dataset" in frame else frame
