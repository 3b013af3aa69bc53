"""Random `kill -9` of everything that takes part: nothing is lost, nothing is doubled, and all scores are bit-equal."""

import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import psutil
import pytest
from helpers.commands import Command
from helpers.mlflow_server import MlflowServer
from helpers.once import assert_everything_once
from helpers.studies import TRIALS, TinyStudy, fork_servers

VICTIMS = ("the command", "a worker", "the fork server", "the MLflow server")


@dataclass(frozen=True)
class Form:
    """How long the trials are, how often each victim is killed, and the most seconds between two kills."""

    epochs: int
    times: int
    longest_wait: float

    @property
    def arguments(self) -> tuple[str, ...]:
        return "--set", f"EPOCHS={self.epochs}", "--jobs", "2"


@pytest.fixture(scope="module")
def form(request):
    return Form(200, 2, 3.0) if request.config.getoption("--long") else Form(80, 1, 1.5)


@pytest.fixture(scope="module")
def scores(form):
    """Of every trial, trained without a disturbance."""
    with TemporaryDirectory() as folder:
        study = TinyStudy(Path(folder))
        assert study.run(*form.arguments).returncode == 0
        return study.scores()


class Disturbed:
    """A study that tells a real server, and is started again whenever it has ended."""

    def __init__(self, folder: Path, form: Form):
        self.form, self.server = form, MlflowServer(folder)
        self.study = TinyStudy(folder / "study", has_store=False)
        self.study.uri = self.server.uri
        self.command = self.start()

    def start(self) -> Command:
        return self.study.start(*self.form.arguments, "--tracking-uri", self.server.uri)

    def ended(self) -> bool:
        """Whether it has ended, of itself or since it was killed; always in a way that a user can read."""
        if self.command.returncode is None:
            return False
        assert "Traceback" not in self.command.printed("stderr"), self.command.printed("stderr")
        assert self.command.returncode in (0, 1, 2, -signal.SIGKILL)
        return True

    def kill(self, victim: str) -> bool:
        """Whether there was somebody to kill."""
        if victim == "the MLflow server":
            self.server.stop()
            self.server.start()
            return True
        servers = fork_servers(self.command)
        found = {
            "the command": [psutil.Process(self.command.pid)],
            "a worker": [child for server in servers for child in children(server)],
            "the fork server": servers,
        }[victim]
        if found:
            with suppress(psutil.Error):
                found[0].kill()
                found[0].wait(10)
                return True
        return False


def children(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return process.children()
    return []


@pytest.fixture
def disturbed(tmp_path, form):
    disturbed = Disturbed(tmp_path, form)
    yield disturbed
    disturbed.command.kill()
    disturbed.server.stop()


@pytest.mark.rounds(short=1, long=13)
def test_killed_again_and_again_in_random_moments(seed, form, scores, disturbed, count):
    random, study = Random(seed), disturbed.study
    victims = random.sample(VICTIMS * form.times, form.times * len(VICTIMS))
    while victims:
        time.sleep(random.uniform(0, form.longest_wait))
        if disturbed.ended():
            if disturbed.command.returncode == 0:
                break  # all is trained: nobody is left to kill
            disturbed.command = disturbed.start()
        elif disturbed.kill(victims[-1]):
            count(f"kill -9 of {victims.pop()}")
    for _ in range(5):
        disturbed.command.communicate(timeout=600)
        assert disturbed.ended()
        if disturbed.command.returncode == 0:
            break
        disturbed.command = disturbed.start()
    assert disturbed.command.returncode == 0, disturbed.command.printed()
    assert study.scores() == scores
    assert len(scores) == TRIALS
    assert_everything_once(study, form.epochs)
