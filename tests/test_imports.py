"""What is imported when: PyTorch takes seconds, and not every command needs it."""

import pytest
from helpers.commands import run

import gredkit

HEAVY = ("torch", "torch_geometric", "mlflow", "matplotlib")


@pytest.mark.parametrize(
    "statement",
    [
        "import gredkit",  # test_package.py asks the same of the help of every command
        "import gredkit.ablation.launchers.forking.server",
    ],
)
def test_what_needs_no_model_imports_none(statement):
    code = f"import sys, atexit; atexit.register(lambda: print([m for m in {HEAVY} if m in sys.modules])); {statement}"
    result = run("-c", code, fresh=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "[]"


def test_what_lies_in_the_working_folder_is_not_imported_unless_it_is_named(tmp_path):
    """As a file beside a stored model, whose name is that of a module which a command needs."""
    for name in ("argparse", "rich", "pandas", "filelock", "their_parts"):
        (tmp_path / f"{name}.py").write_text("print('imported', __name__)\nraise SystemExit(7)\n")
    result = run("-m", "gredkit.components", "--help", cwd=tmp_path, fresh=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "imported" not in result.stdout
    named = run("-m", "gredkit.components", "--import", "their_parts", cwd=tmp_path, fresh=True)
    assert (named.returncode, named.stdout) == (2, "imported their_parts\n"), named.stderr


def test_every_public_name_is_there_and_no_other():
    for name in gredkit.__all__:
        assert getattr(gredkit, name).__name__ == name
        assert name in dir(gredkit)
    for module in ("inference", "nn", "data"):
        result = run("-c", f"import gredkit; print(gredkit.{module}.__name__)", fresh=True)
        assert result.stdout == f"gredkit.{module}\n"
    with pytest.raises(AttributeError, match="has no attribute 'GERD'"):
        gredkit.GERD  # noqa: B018


def test_a_warning_about_torch_jit_is_silent_and_every_other_one_is_not():
    """PyTorch 2.15 prints it when PyTorch Geometric is imported, and nobody here can do anything about it."""
    jit = "`torch.jit.script` is deprecated. Please switch to `torch.compile` or `torch.export`."
    warn = "warnings.warn_explicit({!r}, FutureWarning, 'a.py', 1, module={!r})"
    shown = {}
    for name, message, module in (
        ("torch", jit, "torch.jit._script"),
        ("own", jit, "own"),
        ("else", "x", "torch.jit._script"),
    ):
        shown[name] = run("-c", f"import gredkit, warnings; {warn.format(message, module)}", fresh=True).stderr
    assert shown["torch"] == ""
    assert "FutureWarning" in shown["own"]
    assert "FutureWarning" in shown["else"]


def test_a_dry_run_imports_no_more_than_it_needs(tmp_path):
    """On top of PyTorch, where every second counts that a user waits for."""
    unneeded = ("mlflow", "matplotlib", "sklearn", "seaborn")
    seen = f"import sys, atexit; atexit.register(lambda: print([m for m in {unneeded} if m in sys.modules]))"
    arguments = ["run", "--gin", "ablations/rnn_flavors.gin", "--dry-run", "--set", "DATASETS=('digits',)"]
    command = f"import runpy; sys.argv = {arguments}; runpy.run_module('gredkit.run', run_name='__main__')"
    result = run("-c", f"{seen}; {command}", cwd=tmp_path, fresh=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("", "", "1000 None"), ("GOMP_SPINCOUNT", "77", "77 None"), ("OMP_WAIT_POLICY", "active", "None active")],
)
def test_how_long_threads_wait_is_set_unless_the_user_did(monkeypatch, name, value, expected):
    for own in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(own, raising=False)
    if name:
        monkeypatch.setenv(name, value)
    told = "print(os.environ.get('GOMP_SPINCOUNT'), os.environ.get('OMP_WAIT_POLICY'))"
    assert run("-c", f"import os, gredkit; {told}", fresh=True).stdout.split() == expected.split()
