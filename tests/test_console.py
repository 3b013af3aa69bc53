"""`gredkit COMMAND` and `python -m gredkit.COMMAND` are the same command."""

from pathlib import Path

import pytest
from helpers.commands import fails_with_a_sentence, run

import gredkit
from gredkit.__main__ import COMMANDS

MODULES = {"data": "gredkit.data", "bench": "gredkit.bench"}


def test_all_commands_are_shown_when_none_is_named():
    for arguments in ((), ("--help",)):
        result = run("-m", "gredkit", *arguments)
        assert result.returncode == 0, result.stderr
        assert all(f"    {name}" in result.stdout for name in COMMANDS)


def test_the_version_is_that_of_the_package():
    assert run("-m", "gredkit", "--version").stdout == f"gredkit {gredkit.__version__}\n"


def test_a_command_calls_itself_as_it_was_started(tmp_path):
    said = {
        module: run("-m", *module, "draw", "--help", cwd=tmp_path).stdout.split()
        for module in (("gredkit.data",), ("gredkit", "data"))
    }
    assert said["gredkit.data",][:5] == ["usage:", "python", "-m", "gredkit.data", "draw"]
    assert said["gredkit", "data"][:4] == ["usage:", "gredkit", "data", "draw"]
    assert said["gredkit.data",][5:] == said["gredkit", "data"][4:]


def test_the_rest_of_the_line_goes_to_the_command(tmp_path):
    for module in (("gredkit.components",), ("gredkit", "components")):
        result = run("-m", *module, "encoders", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "lru" in result.stdout
        assert "aggregators" not in result.stdout


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_mistake_in_a_command_ends_in_one_sentence(name, tmp_path):
    line = fails_with_a_sentence(run("-m", "gredkit", name, "--no-such-option", cwd=tmp_path))
    assert line.startswith("error: ")


@pytest.mark.parametrize(("word", "meant"), [("rnu", "run"), ("reports", "report"), ("--versoin", "--version")])
def test_what_there_is_not_ends_in_one_sentence(word, meant):
    assert f"did you mean '{meant}'" in fails_with_a_sentence(run("-m", "gredkit", word))


def test_every_command_has_a_module_for_python_m():
    for name, (module, _) in COMMANDS.items():
        assert name == "copy" or module.removesuffix(".__main__") == MODULES.get(name, f"gredkit.{name}")
        assert Path(gredkit.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py").is_file()
