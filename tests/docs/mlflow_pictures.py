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
study.axes = {'variant.encoder': ('lru', 'lstm', 'rnn', 'mean')}
DATASETS = ('ring_transfer',)
SEEDS = (0, 1, 2)
EPOCHS = 15
LAYERS = 1
DIM = 16
datasets.ring_transfer.distance = 2
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
    """The runs, their charts by variant, one of each variant side by side, and the best model."""
    experiment = study.tracker().experiment
    trials = study.trials().values()
    compared = [known.run for known in trials if known.tags["seed"] == "0"]
    runs = f"{study.uri}/#/experiments/{experiment}/runs?searchFilter={quote(TRIALS)}"
    tab.width(1500)
    go(tab, runs)
    click(tab, "[data-component-id='mlflow.assistant.chat_panel.close']")
    click(tab, "[role=button]", "Model training")
    go(tab, runs)
    click(tab, "[role=gridcell] button")  # the trials below the run of the command
    show(tab, "seed 0")
    tab.screenshot(folder / "mlflow_runs.png")
    go(tab, f"{runs}&compareRunsMode=CHART")
    click(tab, "button", "Group by")
    click(tab, "[role=menuitem], [role=menuitemcheckbox], [role=option]", "variant")
    show(tab, "Group: ")
    tab.screenshot(folder / "mlflow.png")
    chosen = f"runs={quote(json.dumps(compared))}&experiments={quote(json.dumps([experiment]))}"
    go(tab, f"{study.uri}/#/compare-runs?{chosen}")
    show(tab, "Run Name:")
    tab.screenshot(folder / "mlflow_compare.png")
    go(tab, f"{study.uri}/#/experiments/{experiment}/models")
    show(tab, "Ready")
    tab.screenshot(folder / "mlflow_models.png")


def go(tab: Browser, address: str) -> None:
    """Open a view of MLflow, from nothing, since a change of what follows # loads no page."""
    tab.open("about:blank")
    tab.open(address)
    show(tab, "Experiments")


def show(tab: Browser, text: str) -> None:
    """Wait for a text, and then until nothing moves any more."""
    until = time.monotonic() + WAIT
    while text not in tab.run("document.body.innerText"):
        assert time.monotonic() < until, f"MLflow does not show {text!r}"
        time.sleep(0.2)
    before = None
    while before != (now := tab.run("document.body.innerHTML.length")):
        before = now
        time.sleep(2)


def click(tab: Browser, kind: str, text: str = "") -> None:
    """Click the last element of a kind with this text, once there is one."""
    found = (
        f"[...document.querySelectorAll({json.dumps(kind)})]"
        f".filter(one => one.textContent.trim() === {json.dumps(text)}).at(-1)"
    )
    until = time.monotonic() + WAIT
    while not tab.run(f"!!{found}"):
        assert time.monotonic() < until, f"MLflow has no {kind} {text!r}"
        time.sleep(0.2)
    tab.click(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
