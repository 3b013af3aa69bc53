"""At which distance the models of a study hear: measured once for each trial, and kept in the store."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from tqdm import tqdm

from gredkit.errors import UserError
from gredkit.inference.distance.record import USUAL, Measured
from gredkit.reports.drawing.trials import compared
from gredkit.reports.study import IDENTITY, INFLUENCE, KNOCK_OUT
from gredkit.tracking.store import StoreError
from gredkit.trials.state import TrialState

if TYPE_CHECKING:
    from gredkit.tracking.runs import StudyRuns

FILE = "distance.json"  # the artifact of a run
MODEL = "model"  # the folder among the artifacts of a run that has a stored model
SEEDS = 3  # of a variant on a dataset; more would only make the first report slower
log = logging.getLogger(__name__)


def read_distance(runs: StudyRuns, results: pd.DataFrame, benchmarks: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Influence by hop and knock-out of the first seeds of every variant that have a stored model.

    What the store has not yet is measured now and added to the run of the trial, so that the next report reads it.

    benchmarks: whether datasets that may have to be downloaded are opened
    """
    influence: list[tuple[Any, ...]] = []
    knock_out: list[tuple[Any, ...]] = []
    tasks: dict[str, Any] = {}
    chosen = list(_chosen(results))
    for *trial, run in tqdm(chosen, desc="distances", unit="model", disable=None, leave=False):
        if (found := _measured(runs, run, tasks, benchmarks)) is None:
            continue
        mixed = [*found.mixed, *[None] * (len(found.influence) - len(found.mixed))]
        for hop, row in enumerate(zip(found.influence, found.pairs, mixed, strict=False)):
            sizes = found.range_hops, found.range_resistance, found.graphs, found.nodes
            influence.append((*trial, hop, *row, *sizes))
        knock_out += [(*trial, *row) for row in found.knock_out_rows]
    return pd.DataFrame(influence, columns=list(INFLUENCE)), pd.DataFrame(knock_out, columns=list(KNOCK_OUT))


def _chosen(results: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Identity and run of the trials that are looked at."""
    trials = compared(results)
    finished = trials[trials["state"] == TrialState.FINISHED].sort_values("seed", kind="stable")
    first = finished.groupby(["dataset", "variant"], sort=False).head(SEEDS).sort_index()
    yield from first[[*IDENTITY, "run"]].itertuples(index=False, name=None)


def _measured(runs: StudyRuns, run: str, tasks: dict[str, Any], benchmarks: bool) -> Measured | None:
    """What the store has of a run or, if it has a model only, what a look at the model finds; None if that fails."""
    try:
        files = {file.path for file in runs.client.list_artifacts(run)}
        if FILE in files and (stored := Measured.from_json(runs.text(run, FILE), USUAL)) is not None:
            return stored
        if MODEL not in files or (found := _measure(runs, run, tasks, benchmarks)) is None:
            return None
        with tempfile.TemporaryDirectory(prefix="gredkit-") as folder:
            file = Path(folder, FILE)
            file.write_text(found.to_json(USUAL), encoding="utf-8")
            runs.client.log_artifact(run, str(file))
        return found
    except StoreError as error:
        log.warning("the distances at which the model of run %s hears are left out: %s", run, error)
    except (UserError, RuntimeError, ArithmeticError, ValueError, TypeError) as error:  # of a model of the user, too
        log.warning("the distances at which the model of run %s hears cannot be measured: %s", run, error)
    return None


def _measure(runs: StudyRuns, run: str, tasks: dict[str, Any], benchmarks: bool) -> Measured | None:
    from gredkit.inference.distance.measured import measure  # it imports PyTorch
    from gredkit.inference.saved import load
    from gredkit.inference.trained_on import dataset_of, is_in_a_folder, metric_of

    trained = load(run, runs.uri)
    about = trained.about
    if not benchmarks and is_in_a_folder(about.dataset, about.dataset_settings):
        return None
    key = repr((about.dataset, sorted(about.dataset_settings.items())))
    if key not in tasks:
        tasks.clear()  # one dataset in memory is enough
        tasks[key] = dataset_of(about)
    return measure(trained.model, tasks[key], about.K, metric=metric_of(tasks[key], about))
