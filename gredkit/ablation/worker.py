"""Train one trial in its own process, which writes to the trial's folder and never talks to MLflow."""

import os
import traceback
from collections.abc import Callable
from dataclasses import asdict

from filelock import FileLock, Timeout

from gredkit.ablation.dataset import load_task
from gredkit.ablation.described import describe
from gredkit.ablation.record import (
    eigenvalues,
    environment,
    gin_text,
    hop_weights,
    kernels,
    recorded_hops,
    write_moments,
)
from gredkit.data.hops.cache import last_hop, prepare
from gredkit.errors import UserError
from gredkit.inference.about import SavedModel
from gredkit.inference.saved import save
from gredkit.nn.kernels.call import CALLED
from gredkit.nn.models.base import needs_of
from gredkit.nn.parameters import count_parameters
from gredkit.system.other_load import OtherLoad
from gredkit.system.private import portable
from gredkit.system.sealed import Damaged
from gredkit.system.writing import DISK, CannotWrite, writing
from gredkit.tracking.machine import monitor
from gredkit.training.fit import Diverged, EpochReport, Interrupted, Result, fit
from gredkit.training.seeds import seed_all
from gredkit.trials.folder import TrialFolder, write_json
from gredkit.trials.state import TrialState

WAIT = 10.0  # seconds until the process of a killed invocation notices it and ends


def attempt(folder: TrialFolder, should_stop: Callable[[], bool], jobs: int | None = None) -> tuple[TrialState, str]:
    """Train the trial of a folder; returns its final state and a message.

    jobs: how many trials may run side by side; reports compare times only if it is 1 for all trials
    """
    try:
        with writing(folder.path), FileLock(folder.lock, timeout=WAIT):
            state, message = _trained(folder, should_stop, jobs)
            folder.append("ended", state=state, message=message)
            return state, message
    except Timeout:
        return TrialState.ELSEWHERE, "another process trains it"
    except CannotWrite as error:  # the disk is full or missing; the trial can continue later
        return TrialState.INTERRUPTED, str(error)
    except OSError as error:
        return TrialState.INTERRUPTED, f"{type(error).__name__}: {error}"


def _trained(folder: TrialFolder, should_stop: Callable[[], bool], jobs: int | None) -> tuple[TrialState, str]:
    if folder.has_result():  # an earlier process died before it could record this
        return TrialState.FINISHED, ""
    try:
        train(folder, should_stop, jobs)
    except Diverged as error:
        return TrialState.DIVERGED, str(error)
    except Interrupted as error:
        return TrialState.INTERRUPTED, str(error)
    except (CannotWrite, Damaged) as error:
        return TrialState.INTERRUPTED, str(error)
    except UserError as error:
        return TrialState.FAILED, str(error)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK:
            raise
        (folder.artifacts / "error.txt").write_text(portable(traceback.format_exc()))
        return TrialState.FAILED, f"{type(error).__name__}: {error}".splitlines()[0]
    return TrialState.FINISHED, ""


def train(folder: TrialFolder, should_stop: Callable[[], bool], jobs: int | None = None) -> Result:
    """Build what gin describes, train it, and write everything that is tracked into the folder."""
    trial = folder.trial()
    configuration = trial.configuration()
    task = load_task(configuration)
    described = describe(configuration, task.spec)
    seed_all(trial.seed)
    model = described.composition.build(task.spec)
    device = described.recipe.resolve_device()
    K = last_hop(described.settings.K, task)
    hops = recorded_hops(K, trial.diameters)
    start, start_weights = eigenvalues(model), hop_weights(model, hops)

    (folder.artifacts / "config.gin").write_text(gin_text(trial.id, trial.study, trial.settings))
    write_json(folder.artifacts / "environment.json", environment(str(device)))
    write_moments(folder.artifacts / "eigenvalues.json", start=start)
    write_moments(folder.artifacts / "hop_weights.json", start=start_weights)
    described_as = {f"notes.{name}": str(note) for name, note in task.notes.items()}
    described_as["last_hop"] = "diameter" if K is None else str(K)
    described_as["loss"], described_as["metric"] = task.objective.loss_name, task.objective.metric.name
    described_as["parameters"] = str(count_parameters(model))
    described_as["layers_with_eigenvalues"] = str(len(start))
    described_as["layers_with_hop_weights"] = str(len(start_weights))
    folder.append("started", pid=os.getpid(), device=str(device), described=described_as, jobs=jobs)

    graphs = prepare(task.graphs, needs_of(model, K))
    known, is_told = folder.epochs(), False
    CALLED.clear()
    machine, others = monitor(), OtherLoad()

    def on_epoch(report: EpochReport) -> None:
        nonlocal is_told
        if not is_told:  # once per attempt: another attempt may run with or without kernels
            used, is_told = kernels(str(device), described.recipe.precision), True
            write_json(folder.artifacts / "environment.json", environment(str(device), kernels=used))
            folder.append("kernels", used=used)
        if report.epoch not in known:  # an epoch without a checkpoint is trained again, but recorded once
            folder.append("epoch", **asdict(report), system=machine())

    result = fit(model, task, graphs, described.recipe, trial.seed, checkpoint=folder.checkpoint,
                 on_epoch=on_epoch, should_stop=should_stop)  # fmt: skip
    other_load = others.share()
    write_moments(folder.artifacts / "eigenvalues.json", start=start, end=eigenvalues(model))
    write_moments(folder.artifacts / "hop_weights.json", start=start_weights, end=hop_weights(model, hops))
    about = SavedModel.of(task, described.composition, K, described.settings.dataset,
                          described.dataset_settings, trial.source.modules,
                          described.recipe.precision)  # fmt: skip
    save(folder.artifacts / "model", model, about)
    folder.append("result", **asdict(result), other_load=other_load)
    return result
