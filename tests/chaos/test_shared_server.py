"""A shared MLflow server with PostgreSQL, passwords and TLS, used by many at once while its database stops."""

import re
import time

import pytest
from helpers.commands import ROOT, fails_with_a_sentence
from helpers.once import assert_everything_once, trained
from helpers.shared_server import DEPLOY, SECRETS, SharedServer, compose
from helpers.studies import WITHOUT_AXES, TinyStudy

EPOCHS = 3


def test_what_compose_starts_has_no_secret_and_the_versions_that_are_tested():
    services = compose()["services"]
    wanted = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    example = dict(re.findall(r"^(\w+)=(.*)$", (DEPLOY / ".env.example").read_text(), re.MULTILINE))
    assert wanted == set(example)
    assert all(example[name] == "" for name in SECRETS if name != "SERVER_NAME")
    mounted = [volume.split(":")[0] for volume in services["mlflow"]["volumes"] if volume.startswith("./")]
    assert mounted == ["./tls", "./basic_auth.ini"]
    versions = dict(re.findall(r"([\w-]+)(?:\[\w+\])?==([\w.]+)", (DEPLOY / "Dockerfile").read_text()))
    tested = dict(re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    assert versions == {name: tested[name] for name in ("mlflow", "psycopg2-binary")}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = SharedServer(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture
def as_user(server, monkeypatch):
    for name, value in server.client.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.mark.needs("postgresql")
def test_a_study_is_tracked_with_a_password_through_tls(server, as_user, tmp_path):
    study = TinyStudy(tmp_path, WITHOUT_AXES, has_store=False)
    study.uri = server.uri
    result = study.run()
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    assert "View run" not in result.stdout
    assert_everything_once(study, EPOCHS, 2)
    assert not list(tmp_path.rglob("mlflow.db"))
    assert not any(secret in result.stdout for secret in SECRETS.values() if secret != "localhost")


@pytest.mark.needs("postgresql")
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MLFLOW_TRACKING_PASSWORD", "a wrong password", "does not know this user with this password: set MLFLOW_"),
        ("MLFLOW_TRACKING_SERVER_CERT_PATH", "", "is not trusted here: name the file"),
    ],
)
def test_without_the_password_or_the_certificate_it_is_a_sentence(server, as_user, tmp_path, name, value, said):
    as_user.setenv(name, value) if value else as_user.delenv(name)
    sentence = fails_with_a_sentence(TinyStudy(tmp_path, WITHOUT_AXES, has_store=False).run())
    assert said in sentence
    assert SECRETS["ADMIN_PASSWORD"] not in sentence


@pytest.mark.needs("postgresql")
def test_many_share_it_while_the_database_stops_and_every_trial_is_there_once(
    server, as_user, tmp_path, is_long, count
):
    """8 processes, 200 trials and 30 seconds in the long form."""
    processes, trials, seconds = (8, 200, 30) if is_long else (3, 12, 4)
    text = WITHOUT_AXES.replace("(0, 1)", str(tuple(range(trials))))
    studies = [TinyStudy(tmp_path / str(i), text, has_store=False, name="many") for i in range(processes)]
    for study in studies:
        study.uri = server.uri
    began = time.monotonic()
    running = [study.start("--jobs", "1") for study in studies]
    finished(studies[0], running, trials // 4)
    server.database.stop()
    time.sleep(seconds)
    server.database.start()
    for process in running:
        _, err = process.communicate(timeout=900)
        assert process.returncode in (0, 1), err  # 1: another one still trains something
        assert err == ""
    took = time.monotonic() - began
    for study in studies:  # the rest, if some could not be sent
        result = study.run("--jobs", "1")
        assert result.returncode == 0, result.stdout + result.stderr
        assert f"{trials} finished before" in result.stdout
        assert not list(study.folder.glob(".gredkit/*/*/trial.json"))
    assert_everything_once(studies[0], EPOCHS, trials)
    begun = trained(studies[0])
    assert len(begun) == trials
    count("shared server: trials of several processes while its database stops", trials)
    count("shared server: of these trained twice, with one result kept", sum(times > 1 for times in begun.values()))
    count("shared server: requests", len(server.requests()))
    count("shared server: seconds until all were trained", round(took))


def finished(study, running, number):
    """Wait until so many trials are in MLflow."""
    tracker = study.tracker()
    while len(tracker.search("tags.kind = 'trial' and tags.state = 'finished'")) < number:
        assert all(process.returncode is None for process in running), [p.printed("stderr") for p in running]
        time.sleep(0.2)
