"""The README's own examples, run as they stand there."""

import re
import shlex
import shutil

import pytest
from commands import ROOT, run

README = (ROOT / "README.md").read_text()


def block(marker: str, language: str) -> str:
    """The code block that follows a line of text."""
    after = README.split(marker, 1)[1]
    found = re.search(rf"```{language}\n(.*?)```", after, re.DOTALL)
    assert found, marker
    return found.group(1)


def test_the_notebook_example_runs(tmp_path):
    (tmp_path / "example.py").write_text(block("From a notebook", "python"))
    result = run("example.py", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "torch.Size([2, 1])" in result.stdout


@pytest.fixture
def own_encoder(tmp_path):
    (tmp_path / "near_and_far.py").write_text(block("Save as `near_and_far.py`", "python"))
    shutil.copytree(ROOT / "ablations", tmp_path / "ablations")
    return tmp_path


def test_a_users_own_encoder_is_listed_and_trained(own_encoder):
    commands = [line for line in block("and use it by its name", "bash").splitlines() if line]
    assert len(commands) == 2
    for command in commands:
        assert command.startswith("python -m gredkit.")
        shorter = ["--set", "EPOCHS=1"] if "gredkit.run" in command else []
        result = run(*shlex.split(command)[1:], *shorter, cwd=own_encoder)
        assert result.returncode == 0, result.stderr
        assert "near_and_far" in result.stdout
        assert "lru" in result.stdout


@pytest.mark.parametrize("name", ["own_graphs", "solubility", "my_dataset"])
def test_your_own_graphs(tmp_path, name):
    shutil.copytree(ROOT / "tests/examples", tmp_path / "tests/examples")
    (tmp_path / "my_dataset.py").write_text(block("Save as `my_dataset.py`", "python"))
    marker = "and as `my_dataset.gin`" if name == "my_dataset" else f"Save as `{name}.gin`"
    (tmp_path / f"{name}.gin").write_text(block(marker, ""))
    commands = block(marker, "bash").splitlines()
    assert [command.split()[2] for command in commands] == ["gredkit.data", "gredkit.run"]
    for command, said in zip(commands, ("distinct hop sets", "| 2 |"), strict=True):
        result = run(*shlex.split(command)[1:], cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert said in result.stdout


def test_the_data_commands(tmp_path):
    commands = [line.split("#")[0] for line in block("## Datasets", "bash").splitlines()]
    assert len(commands) == 4
    for command in commands:
        result = run(*shlex.split(command)[1:], "--data", str(tmp_path), cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    assert (tmp_path / "molecule.png").is_file()


def test_pictures_are_there_and_nothing_is_left_to_fill_in():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)
    assert not re.findall(r"\b[A-Z]+_TABLE\b|TODO|TBD", README)
