"""What every trial needs, tried before the first: a folder that cannot be written would fail them all."""

from collections.abc import Iterable
from pathlib import Path

import torch

from gredkit.ablation.described import describe, load_task
from gredkit.data.hops.cache import ADVICE, last_hop, prepare
from gredkit.nn.positional.base import PositionalEncoding
from gredkit.paths import hop_cache
from gredkit.system.writing import CannotWrite, check_writable
from gredkit.trials.trial import Trial


def check_folders(trials: Iterable[Trial], work: Path, reports: Path | None) -> None:
    """Whether files and locks can be made where they will be needed."""
    check_writable(work, "choose another folder with --work")
    if reports is not None:
        check_writable(reports, "choose another folder with --reports")
    try:
        check_writable(hop_cache(), ADVICE)
    except CannotWrite:
        for trial in {(trial.dataset, trial.variant): trial for trial in trials}.values():
            _read_from_cache(trial)


def _read_from_cache(trial: Trial) -> None:
    """A cache that takes nothing new will do, if it has all that a trial needs."""
    trial.load()
    task = load_task()
    described = describe(task.spec)
    with torch.device("meta"):
        positional: PositionalEncoding = described.composition.build(task.spec).positional  # type: ignore[assignment]
    prepare(task.graphs, last_hop(described.settings.K, task), positional, progress=False)
