"""Every mistake ends in one sentence that is about it, soon, and leaves nothing behind."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import Command, run
from helpers.studies import TinyStudy
from helpers.user_mistakes import FILES, Mistake, mistakes, write_files

ALL = list(mistakes())
SURPRISE = """
import gredkit.config.bindings

def broken(*_):
    raise LookupError("a surprise")

gredkit.config.bindings.load = broken
"""
TIMEOUT = 300  # seconds: far more than any of them takes on a busy machine


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name in ("MLFLOW_TRACKING_URI", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    write_files(tmp_path)
    return tmp_path


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if "__pycache__" not in path.parts}


def ended(command: str, arguments: tuple[str, ...], folder: Path) -> tuple[int, list[str]]:
    """Exit code, and the lines on stderr."""
    process = Command(["-m", f"gredkit.{command}", *arguments], folder)
    _, stderr = process.communicate(timeout=TIMEOUT)
    assert process.returncode is not None
    return process.returncode, stderr.strip().splitlines()


def test_there_are_enough():
    assert len(ALL) >= 200
    assert len(set(ALL)) == len(ALL)


@pytest.mark.parametrize("mistake", ALL, ids=str)
def test_a_mistake_gets_a_sentence(mistake: Mistake, here, count):
    count("mistakes of a user")
    before = files(here)
    code, lines = ended(mistake.command, mistake.arguments, here)
    assert code == mistake.code, lines
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    assert mistake.word in lines[0]
    assert "secret" not in lines[0]
    assert files(here) == before


@pytest.mark.parametrize("command", ["run --gin tiny.gin", "report --study tiny", "predict --run x --data digits"])
def test_a_closed_port_is_said_at_once(command, here, count):
    count("mistakes of a user")
    before = files(here)
    name, *arguments = command.split()
    code, lines = ended(name, (*arguments, "--tracking-uri", "http://127.0.0.1:9"), here)
    assert (code, len(lines)) == (1, 1)
    assert "does not answer at http://127.0.0.1:9" in lines[0]
    assert files(here) == before


def test_a_machine_without_slurm_gets_a_sentence(here, monkeypatch, count):
    count("mistakes of a user")
    monkeypatch.setenv("PATH", str(here))
    code, lines = ended("run", ("--gin", "tiny.gin", "--launcher", "slurm"), here)
    assert code == 2
    assert lines == ["error: no jobs can be submitted from here, as there is no sbatch: use --launcher local"]


WITHOUT_RAY = """
import runpy, sys
sys.modules["ray"] = None
sys.argv[1:] = ["--gin", "tiny.gin", "--launcher", "ray"]
runpy.run_module("gredkit.run", run_name="__main__")
"""


def test_without_ray_a_sentence_says_what_to_install(here, count):
    count("mistakes of a user")
    result = run("-c", WITHOUT_RAY, cwd=here)
    assert (result.returncode, result.stderr) == (2, "error: Ray is not installed: pip install 'gredkit[ray]'\n")


@pytest.mark.needs("ray")
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:9", "no Ray answers at 127.0.0.1:9: "),
        ("ray://127.0.0.1:9", "no Ray answers at ray://127.0.0.1:9: "),
        ("nowhere", "'nowhere' is no address of Ray: write auto, HOST:PORT or ray://HOST:PORT"),
    ],
)
def test_where_no_ray_runs_a_sentence_says_so_at_once(address, said, here, count):
    count("mistakes of a user")
    code, lines = ended("run", ("--gin", "tiny.gin", "--launcher", "ray", "--address", address), here)
    assert (code, len(lines)) == (2, 1)
    assert lines[0].startswith(f"error: {said}")


def test_a_cluster_that_refuses_ends_the_run(tmp_path, monkeypatch, count):
    count("mistakes of a user")
    for name in ("sbatch", "srun", "squeue"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\necho 'invalid account' >&2\nexit 1\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    study = TinyStudy(tmp_path / "study", FILES["tiny.gin"])
    result = study.run("--launcher", "slurm")
    assert result.returncode == 1, result.stderr
    assert result.stderr.splitlines() == [
        "error: the cluster accepts no job (invalid account): correct launchers.slurm.…",
    ]
    assert "RUNNING" not in study.statuses()


def test_what_nobody_expected_keeps_its_traceback(here, count):
    count("mistakes of a user")
    (here / "breaks.py").write_text(SURPRISE)
    result = run("-m", "gredkit.data", "describe", "digits", "--import", "breaks", cwd=here)
    assert result.returncode == 1
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: gredkit did not expect LookupError: a surprise (the traceback is in ")
    kept = Path(line.rpartition(" is in ")[2].rstrip(")"))
    assert "Traceback (most recent call last)" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0
    kept.unlink()


def test_ctrl_c_while_a_module_is_imported(here, count):
    count("mistakes of a user")
    (here / "slow.py").write_text("import pathlib, time\npathlib.Path('begun').touch()\ntime.sleep(600)\n")
    process = Command(["-m", "gredkit.components", "--import", "slow"], here)
    while not (here / "begun").exists():
        assert process.returncode is None
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130
    assert stderr == "stopped\n"


def test_a_reader_that_goes_hears_nothing_more(here, count):
    count("mistakes of a user")
    command = [sys.executable, "-m", "gredkit.components", "aggregators"]
    with subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()  # as `| head` does
        assert process.stderr is not None
        assert process.stderr.read() == b""
