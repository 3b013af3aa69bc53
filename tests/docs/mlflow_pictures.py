"""Take the pictures of MLflow in docs/ in a real browser, of a study that is trained for them.

python tests/docs/mlflow_pictures.py     # or with a folder, for other pictures than those in docs/
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.browser import Browser, browser
from helpers.commands import ROOT
from helpers.mlflow_server import MlflowServer
from helpers.studies import TinyStudy

STUDY = """
study.axes = {'variant.encoder': ('lru', 'gru', 'mean')}
DATASETS = ('ring_transfer',)
SEEDS = (0, 1, 2)
EPOCHS = 15
LAYERS = 1
DIM = 16
datasets.ring_transfer.distance = 4
datasets.ring_transfer.graphs = 400
"""
TRIALS = "tags.kind = 'trial' and tags.dataset = 'ring_transfer'"
WAIT = 60.0  # seconds for something to appear


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="gredkit-pictures-") as work:
        server = MlflowServer(Path(work))
        try:
            study = TinyStudy(Path(work) / "study", STUDY, has_store=False, reports=True, name="encoders")
            study.uri = server.uri
            result = study.run("--tracking-uri", server.uri, "--no-distance")
            assert result.returncode == 0, result.stderr
            with browser(Path(work) / "profile") as tab:
                take(tab, study, folder)
        finally:
            server.stop()


def take(tab: Browser, study: TinyStudy, folder: Path) -> None:
    """The table of runs, the charts, two runs side by side, and the models."""
    experiment = study.tracker().experiment
    runs = [known.run for known in sorted(study.trials().values(), key=lambda one: one.tags["variant"])]
    tab.width(1500)
    page = f"{study.uri}/#/experiments/{experiment}"
    trials = f"searchFilter={quote(TRIALS)}"
    shots = {
        "mlflow_runs": f"{page}/runs?{trials}",
        "mlflow": f"{page}/runs?{trials}&compareRunsMode=CHART",
        "mlflow_compare": f"{study.uri}/#/compare-runs?runs={quote(json.dumps(runs[::4]))}"
        f"&experiments={quote(json.dumps([experiment]))}",
        "mlflow_models": f"{page}/models",
    }
    for name, address in shots.items():
        tab.open("about:blank")
        tab.open(address)
        time.sleep(8)
        tab.screenshot(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
