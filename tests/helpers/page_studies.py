"""Studies that a page is made of, and pictures for it."""

import struct
import zlib
from pathlib import Path
from typing import Any

import pandas as pd

from gredkit.reports.study import StudyData
from helpers.known_results import FLAVOURS, results

HOSTILE = """<script>document.title = 'taken'</script>"'&</td></pre><img src=x onerror="document.title = 'taken'">"""


def made_study(frame: pd.DataFrame, **fields: Any) -> StudyData:
    """A study of trials that all have a run, but those that are missing."""
    frame = frame.assign(run=[f"run{place}" for place in range(len(frame))])
    frame.loc[frame["state"] == "missing", "run"] = ""
    told: dict[str, Any] = {
        "name": "flavours",
        "uri": "sqlite:////home/you/mlflow.db",
        "experiment": "7",
        "commit": "0123abcd" * 5,
    }
    told |= {"command": "python -m gredkit.run --gin ablations/flavours.gin", "files": {"flavours.gin": "K = 3\n"}}
    return StudyData(results=frame, **(told | fields))


def full_study(**fields: Any) -> StudyData:
    """Three datasets, one of them the paper's, with trials that were lost."""
    zinc = {("zinc", "lru"): [9.1, 9.2, 9.3, 9.25], ("zinc", "lstm"): [19.0, 20.0, 21.0, 20.5]}
    frame = results({**FLAVOURS, **zinc}, zinc="mae")
    frame.loc[frame["state"] == "failed", "message"] = "ValueError: no such file"
    return made_study(frame, **fields)


def hostile_study() -> StudyData:
    """Whatever a user can name has a name that would break out of its place."""
    frame = results({("far", "lru"): [0.5, 0.6, 0.7], (HOSTILE, HOSTILE): [0.5, 0.6, "failed"]})
    frame.loc[frame["state"] == "failed", "message"] = HOSTILE
    return made_study(frame, name=HOSTILE, command=HOSTILE, commit=HOSTILE, files={HOSTILE: HOSTILE}, uri=HOSTILE)


def large_study(datasets: int, variants: int, seeds: int) -> StudyData:
    """As many trials as these make, all finished."""
    scores = [0.1 + (seed * 7 % 11) / 20 for seed in range(seeds)]
    return made_study(results({(f"data{i}", f"variant{j}"): scores for i in range(datasets) for j in range(variants)}))


def picture(path: Path, width: int = 40, height: int = 20) -> Path:
    """A grey PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x80" * width) * height)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))
    return path
