"""Processes that make stores, to be killed while they do: forked, as commands are."""

import resource
import time
from pathlib import Path

from gredkit.tracking.store import connect
from helpers.commands import server

LONG_AGO = (1e9, 1e9)  # for os.utime: nobody is at work on it


def assert_usable(path: Path) -> None:
    """A run can be written and read."""
    client = connect(f"sqlite:///{path}")
    experiment = client.create_experiment(f"study {time.monotonic_ns()}")
    run = client.create_run(experiment, tags={"kind": "trial"}).info.run_id
    client.log_metric(run, "score", 0.5)
    assert client.get_run(run).data.metrics == {"score": 0.5}


def start(target, *arguments):
    """A process that has MLflow already."""
    process = server().Process(target=target, args=arguments)
    process.start()
    return process


def make_plainly(path: Path) -> None:
    """As MLflow makes a store by itself."""
    from mlflow import MlflowClient

    MlflowClient(tracking_uri=f"sqlite:///{path}").search_experiments()


def make_ours(path: Path, largest_file: int | None = None) -> None:
    """As gredkit does; with files of so many bytes at most."""
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    connect(f"sqlite:///{path}")
