"""A study as its report keeps it, so that the report can be written again without MLflow."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gredkit.errors import UserError
from gredkit.reports.study import AXIS, NOT_SET, StudyData

STUDY, AXES = "study.json", "axes"
ALWAYS = ("results", "curves")  # other frames are left out where they are empty
FRAMES = (*ALWAYS, "eigenvalues", "hop_weights", "influence", "knock_out")


def keep(study: StudyData, folder: Path) -> list[Path]:
    """Write each frame as Parquet, and all else as JSON."""
    frames = {name: getattr(study, name) for name in FRAMES}
    frames["results"] = _of_one_type(study.results)
    files = []
    for name, frame in frames.items():
        if name in ALWAYS or len(frame):
            files.append(folder / f"{name}.parquet")
            frame.to_parquet(files[-1], index=False)
    rest = {one.name: getattr(study, one.name) for one in fields(StudyData) if one.name not in FRAMES}
    rest[AXES] = {name: list(study.results[name]) for name in _axes(study.results)}  # of whatever types
    files.append(folder / STUDY)
    files[-1].write_text(json.dumps(rest, ensure_ascii=False, default=_plain) + "\n", encoding="utf-8")
    return files


def read_kept(folder: Path) -> StudyData:
    """The study of a report, from the files of `keep`."""
    for name in (STUDY, *(f"{name}.parquet" for name in ALWAYS)):
        if not (folder / name).is_file():
            raise UserError(f"{str(folder)!r} keeps no study: {name} is missing")
    try:
        rest = json.loads((folder / STUDY).read_text(encoding="utf-8"))
        found = {name: folder / f"{name}.parquet" for name in FRAMES}
        frames = {name: pd.read_parquet(file) for name, file in found.items() if name in ALWAYS or file.is_file()}
        axes = rest.pop(AXES)
        diameters = {name: tuple(pair) for name, pair in rest.pop("diameters").items()}
        frames["results"] = frames["results"].assign(**{name: pd.Series(values) for name, values in axes.items()})
        study = StudyData(**rest, **frames, diameters=diameters)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{str(folder)!r} keeps no study that can be read: write the report again with --study"
        ) from None
    return study


def _of_one_type(results: pd.DataFrame) -> pd.DataFrame:
    """The values of an axis, and K: numbers stay numbers; several types become text, as Parquet has one per column."""
    results = results.copy()
    for name in _axes(results):
        column = results[name].mask(results[name] == NOT_SET, None).infer_objects()
        is_mixed = column.dtype == object
        results[name] = column.map(lambda value: None if value is None else str(value)) if is_mixed else column
    return results


def _axes(results: pd.DataFrame) -> list[str]:
    """The columns whose values may be of several types: axes, and K, which may be a number, 'dataset' or None."""
    return [name for name in results if str(name).startswith(AXIS) or name == "K"]


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python; anything else as text."""
    return value.item() if isinstance(value, np.generic) else str(value)
