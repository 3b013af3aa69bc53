"""The time to write the report of a study with many trials: reading from MLflow, then writing."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np
from rich.table import Table

from gredkit.config.source import Source
from gredkit.reports.reading import read_study
from gredkit.reports.write import write_report
from gredkit.tracking.runs import StudyRuns
from gredkit.tracking.sending import send
from gredkit.tracking.tracker import Tracker
from gredkit.trials.folder import TrialFolder, write_json
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

TRIALS, FEW = (1_000, 3_000, 10_000), (20, 40)
DATASETS, SEEDS, EPOCHS, SETTINGS = 2, 10, 100, 40  # so a study has one variant for every 20 trials
COPIED = ("params", "metrics", "latest_metrics", "tags")  # MLflow's tables with rows that belong to a run
STATES = 16  # eigenvalues in each of two layers


def run(quick: bool = False) -> dict[str, Any]:
    """Seconds to read the study and to write its report, for several numbers of trials."""
    result = {}
    for count in FEW if quick else TRIALS:
        with TemporaryDirectory() as name:
            folder = Path(name)
            uri = f"sqlite:///{folder / 'mlflow.db'}"
            fill(uri, folder, count)
            begin = perf_counter()
            study = read_study(StudyRuns.existing("many", uri))
            read = perf_counter()
            files = write_report(study, folder / "report")
            result[str(count)] = {
                "variants": int(study.results["variant"].nunique()),
                "read_seconds": read - begin,
                "write_seconds": perf_counter() - read,
                "ms_per_trial": 1000 * (perf_counter() - begin) / count,
                "files": len(files),
            }
    return result


def table(result: dict[str, Any]) -> Table:
    """One row per number of trials."""
    shown = Table(title="report of a study, seconds", title_justify="left", title_style="bold")
    for column in ("trials", "variants", "read from MLflow", "write", "together", "ms per trial"):
        shown.add_column(column, justify="right")
    for count, row in result.items():
        read, write = row["read_seconds"], row["write_seconds"]
        times = (f"{seconds:.1f}" for seconds in (read, write, read + write))
        shown.add_row(f"{int(count):,}", str(row["variants"]), *times, f"{row['ms_per_trial']:.2f}")
    return shown


def fill(uri: str, folder: Path, count: int) -> None:
    """Create a study of finished trials in a new store: one is sent like a real trial, the others are copies."""
    trials = list(_trials(count))
    tracker = Tracker("many", uri)
    tracker.begin("python -m gredkit.run --gin many.gin", [])
    tracker.add_plan(trials, is_tuning=False)
    first = TrialFolder(folder / "first")
    _train(first, trials[0])
    send(tracker, first)
    database = sqlite3.connect(uri.removeprefix("sqlite:///"))
    with database:
        _copy(database, first.sent()["run"], trials[1:])
    database.close()
    tracker.end({TrialState.FINISHED: count})


def _trials(count: int) -> Iterator[Trial]:
    """Trials of variants along two axes, with every dataset and seed."""
    source = Source(("many.gin",))
    for place in range(count):
        variant, dataset, seed = place // (DATASETS * SEEDS), place // SEEDS % DATASETS, place % SEEDS
        axes = {"K": 1 + variant % 10, "fit.learning_rate": 0.001 * (1 + variant // 10)}
        settings = {"fit.epochs": EPOCHS, "K": axes["K"], "encoder": "lru", "seed": seed}
        settings |= {f"some.setting_{i}": i for i in range(SETTINGS)}
        yield Trial(
            "many", ", ".join(f"{name}={value:g}" for name, value in axes.items()), f"data_{dataset}", seed, source,
            axes=axes, id=f"{place:016x}", settings=settings, parameters=100_000, metric="accuracy", diameters=(9, 12),
        )  # fmt: skip


def _train(folder: TrialFolder, trial: Trial) -> None:
    """Write the files that a real trial would write."""
    folder.create(trial)
    folder.append("started", device="cpu", described={
        "parameters": "100000", "layers_with_eigenvalues": "2", "layers_with_hop_weights": "2",
    })  # fmt: skip
    angles = np.linspace(0, 6, STATES)
    layers = [{"real": np.cos(angles).tolist(), "imag": np.sin(angles).tolist()}] * 2
    write_json(folder.artifacts / "eigenvalues.json", {"start": layers, "end": layers})
    weights = [[0.9**hop for hop in range(12)]] * 2
    write_json(folder.artifacts / "hop_weights.json", {"start": weights, "end": weights})
    costs = {"seconds": 1.0, "samples_per_second": 100.0, "peak_mb": 500.0}
    for epoch in range(EPOCHS):
        losses = {"train_loss": 1 / (1 + epoch), "validation_loss": 1.0, "learning_rate": 0.001}
        folder.append("epoch", epoch=epoch, validation=1 - 0.5**epoch, **losses, **costs)
    final = {"final_epoch": EPOCHS - 1, "final_validation": 0.9, "final_train_loss": 0.1, "seconds": 100.0}
    folder.append("result", epoch=EPOCHS - 1, validation=0.9, test=0.8, test_loss=0.5, **final)
    folder.append("ended", state=TrialState.FINISHED, message="")


def _copy(database: sqlite3.Connection, run: str, trials: list[Trial]) -> None:
    """Copy the rows of a run for each trial, with the values that differ between trials."""
    scores = np.random.default_rng(0).normal(0.8, 0.02, len(trials))
    runs = [uuid4().hex for _ in trials]
    for name in ("runs", *COPIED):
        cursor = database.execute(f"SELECT * FROM {name} WHERE run_uuid = ?", (run,))
        columns = [column[0] for column in cursor.description]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor]
        if name == "metrics":  # only two epochs of the history, which a report does not read
            rows = [row for row in rows if row["step"] in (0, EPOCHS - 1)]
        marks = ", ".join("?" * len(columns))
        database.executemany(
            f"INSERT INTO {name} VALUES ({marks})",
            (
                tuple(_told(row | {"run_uuid": new}, trial, score).values())
                for new, trial, score in zip(runs, trials, scores, strict=True)
                for row in rows
            ),
        )


def _told(row: dict[str, Any], trial: Trial, score: float) -> dict[str, Any]:
    """The row with the values of another trial."""
    told = {"trial_id": trial.id, "variant": trial.variant, "dataset": trial.dataset, "seed": str(trial.seed)}
    if row.get("key") in told:
        return row | {"value": told[row["key"]]}
    return row | {"value": float(score)} if row.get("key") == "best/test" else row
