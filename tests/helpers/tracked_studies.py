"""Studies in a real MLflow store, planned from gin and told as a trial tells them, without the training."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gredkit.ablation.plan import Plan, make_plan
from gredkit.config.source import Source
from gredkit.reports.reading import read_study
from gredkit.reports.study import StudyData
from gredkit.tracking.sending import send
from gredkit.tracking.tracker import Tracker
from gredkit.trials.folder import TrialFolder
from gredkit.trials.trial import Trial
from helpers.studies import empty_store

COMMAND = "python -m gredkit.run --gin tiny.gin --tracking-uri http://me:secret@somewhere"
GIN = """
study.axes = {'variant.encoder': ('lru', 'mean')}
SEEDS = (0, 1, 2)
EPOCHS = 3
LAYERS = 1
DIM = 8
datasets.ring_transfer.distance = 2
datasets.ring_transfer.graphs = 40
"""
FATES = {"diverged": "the loss is not a number", "failed": "RuntimeError: broken", "interrupted": "stopped"}
Fate = Callable[[Trial], float | str]  # a score, or the state of a trial without one; 'missing' is not told at all


class TrackedStudy:
    """A study that was begun in a store of its own."""

    def __init__(self, folder: Path, text: str = GIN):
        self.folder = folder
        file = folder / "tiny.gin"
        file.write_text(text)
        (folder / "mlflow.db").write_bytes(empty_store())
        self.uri = f"sqlite:///{folder / 'mlflow.db'}"
        self.plan = make_plan(Source((str(file),)))
        self.tracker = Tracker("tiny", self.uri)
        self.tracker.begin(COMMAND, [str(file)])
        self.tracker.add_plan(self.plan.trials, self.plan.is_tuning)

    def tell(self, fate: Fate, plan: Plan | None = None) -> None:
        """What becomes of each trial."""
        for trial in (plan or self.plan).trials:
            end = fate(trial)
            if end != "missing":
                folder = TrialFolder(self.folder / "work" / trial.id)
                _train(folder, trial, end)
                send(self.tracker, folder)

    def read(self) -> StudyData:
        return read_study(self.tracker)


def _train(folder: TrialFolder, trial: Trial, end: float | str) -> None:
    """The events of a trial; one that is still running has no end."""
    folder.create(trial)
    layers = trial.settings["encoder"] == "lru"
    have = dict.fromkeys(("layers_with_eigenvalues", "layers_with_hop_weights"), str(int(layers)))
    folder.append("started", device="cpu", described=have | {"notes.made": "up"}, jobs=1)
    if layers:
        spectrum = [{"real": [0.5, 0.6], "imag": [0.1, -0.1 * trial.seed]}]
        (folder.artifacts / "eigenvalues.json").write_text(json.dumps({"start": spectrum, "end": spectrum}))
        weights = {"start": [[1.0, 0.5]], "end": [[0.9, 0.1 * trial.seed]]}
        (folder.artifacts / "hop_weights.json").write_text(json.dumps(weights))
    score = 0.4 if isinstance(end, str) else end
    costs = {"seconds": 0.5, "samples_per_second": 100.0, "peak_mb": 300.0}
    for epoch in range(2 if isinstance(end, str) else trial.settings["fit.epochs"]):
        losses = {"train_loss": 1.0 / (1 + epoch), "validation_loss": np.nan, "learning_rate": 0.001}
        folder.append("epoch", epoch=epoch, validation=score - 0.1 / (1 + epoch), **losses, **costs)
    if isinstance(end, str):
        if end != "running":
            folder.append("ended", state=end, message=FATES[end])
        return
    final = {"final_epoch": 2, "final_validation": score, "final_train_loss": 0.1, "seconds": 1.5, "other_load": 0.01}
    folder.append("result", epoch=2, validation=score, test=end, test_loss=0.5, **final)
    folder.append("ended", state="finished", message="")


def good(trial: Trial) -> float:
    """Every trial finishes, the recurrence ahead."""
    return 0.9 + 0.01 * trial.seed if trial.settings["encoder"] == "lru" else 0.5 + 0.02 * trial.seed
