"""Check before the first trial that all folders can be written; otherwise every trial would fail."""

from collections.abc import Iterable
from pathlib import Path

import torch

from gredkit.ablation.dataset import load_task
from gredkit.ablation.described import describe
from gredkit.data.hops.cache import ADVICE, last_hop, prepare
from gredkit.nn.models.base import needs_of
from gredkit.paths import hop_cache
from gredkit.system.writing import CannotWrite, check_writable
from gredkit.trials.trial import Trial


def check_folders(trials: Iterable[Trial], work: Path, reports: Path | None) -> None:
    """Raise unless files and locks can be created in the folders that the trials need."""
    check_writable(work, "choose another folder with --work")
    if reports is not None:
        check_writable(reports, "choose another folder with --reports")
    try:
        check_writable(hop_cache(), ADVICE)
    except CannotWrite:
        for trial in {(trial.dataset, trial.variant): trial for trial in trials}.values():
            _read_from_cache(trial)


def _read_from_cache(trial: Trial) -> None:
    """A read-only cache is enough if it contains everything that the trial needs."""
    configuration = trial.configuration()
    task = load_task(configuration)
    described = describe(configuration, task.spec)
    with torch.device("meta"):
        model = described.composition.build(task.spec)
    prepare(task.graphs, needs_of(model, last_hop(described.settings.K, task)), progress=False)
