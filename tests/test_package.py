"""What people install: the wheel in an environment without gredkit, used from an empty folder."""

import ast
import email
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from helpers.commands import ROOT, run
from packaging.requirements import Requirement

import gredkit
from gredkit import registry
from gredkit.config.shipped import shipped
from gredkit.tracking.runs import StudyRuns

SMOKE = (
    *("--gin", "ablations/rnn_flavors.gin", "--set", "BUDGET='smoke'", "--set", "DATASETS=('ring_transfer',)"),
    *("--set", "ENCODERS=('lru',)", "--set", "datasets.ring_transfer.graphs=40"),
)
SCORES = ("best/test", "best/test_loss", "best/validation", "final/train_loss")


def call(*words: str | Path, cwd: Path = ROOT) -> str:
    """What a program prints; it must end well."""
    result = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """The sdist, and the wheel made from it, by their endings."""
    out = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT)
    return {file.name.rpartition(".")[2]: file for file in out.iterdir()}


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Callable[..., Path]:
    """Makes an environment with the tested versions of what gredkit needs, but without gredkit, and installs there."""

    def make(*wanted: str | Path) -> Path:
        folder = tmp_path_factory.mktemp("environment")
        venv.create(folder, symlinks=True)
        own = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
        # A path in a .pth file is searched, but its own .pth files, such as that of an editable gredkit, are not read.
        Path(own, "dependencies.pth").write_text(sysconfig.get_path("purelib"))
        python = folder / "bin" / "python"
        gone = subprocess.run([python, "-c", "import gredkit"], cwd=folder, capture_output=True, text=True)
        assert "No module named 'gredkit'" in gone.stderr
        options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
        call(sys.executable, "-m", "pip", "--python", python, "install", *options, *wanted)
        return folder / "bin"

    return make


@pytest.fixture(scope="module")
def installed(built, environment) -> Path:
    """The folder of the programs of an environment into which the wheel was installed."""
    return environment(built["whl"])


def trained(folder: Path) -> dict[str, tuple[Mapping[str, str], list[float]]]:
    """Settings and scores of the trials of a folder, by their ids; the settings hold the number of parameters."""
    trials = StudyRuns.existing("rnn_flavors", f"sqlite:///{folder / 'mlflow.db'}").trials()
    return {id: (known.params, [known.metrics[name] for name in SCORES]) for id, known in trials.items()}


def test_a_study_from_an_empty_folder_gives_what_it_gives_in_the_repository(installed, tmp_path):
    here, there = tmp_path / "installed", tmp_path / "repository"
    for folder in (here, there):
        folder.mkdir()
    call(installed / "python", "-m", "gredkit.run", *SMOKE, cwd=here)
    assert run("-m", "gredkit.run", *SMOKE, "--no-report", cwd=there).returncode == 0
    assert trained(here) == trained(there)
    assert [params["parameters"] for params, _ in trained(here).values()] == ["19589", "19589"]
    assert (here / "reports/rnn_flavors/index.html").is_file()


def test_the_console_command_lists_and_copies_what_was_installed(installed, tmp_path):
    listed = call(installed / "gredkit", "components", "--gin", cwd=tmp_path)
    assert all(f" {file} " in listed for file in shipped())
    call(installed / "gredkit", "copy", *shipped(), cwd=tmp_path)
    for file in shipped():
        assert (tmp_path / file).read_bytes() == (ROOT / file).read_bytes()


def test_the_wheel_holds_every_file_of_the_package_and_every_gin_file(built):
    inside = {name for name in zipfile.ZipFile(built["whl"]).namelist() if ".dist-info/" not in name}
    package = (file for file in ROOT.glob("gredkit/**/*") if file.is_file() and "__pycache__" not in file.parts)
    expected = {file.relative_to(ROOT).as_posix() for file in package}
    assert "gredkit/py.typed" in expected
    blocks = {file.relative_to(ROOT).as_posix() for file in (ROOT / "gin").rglob("*") if file.is_file()}
    assert "gin/subsets/cifar10_ninth.json" in blocks
    assert inside == expected | {f"gredkit/shipped/{file}" for file in {*shipped(), *blocks}}


def test_twine_finds_nothing_wrong(built):
    call(sys.executable, "-m", "twine", "check", "--strict", *built.values())


def test_an_editable_install_works_in_the_folder_above_a_clone_named_gredkit(environment, tmp_path):
    (tmp_path / "gredkit").symlink_to(ROOT)
    programs = environment("--editable", ROOT)
    for program in ((programs / "python", "-m", "gredkit.components"), (programs / "gredkit", "components")):
        assert "ablations/rnn_flavors.gin" in call(*program, "--gin", cwd=tmp_path)


def test_everything_that_is_imported_is_declared(built):
    wheel = zipfile.ZipFile(built["whl"])
    (about,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    lines = email.message_from_bytes(wheel.read(about)).get_all("Requires-Dist") or []
    wanted = [Requirement(line) for line in lines if "extra == 'dev'" not in line]
    declared = {one.name.lower().replace("_", "-") for one in wanted}
    owners = packages_distributions()
    for file in ROOT.glob("gredkit/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"gredkit"}:
                owner = {one.lower().replace("_", "-") for one in owners.get(name, [name])}
                assert owner & declared, f"{file} imports {name}, which pyproject.toml does not name"


HELPED = ["", "run", "report", "predict", "explain", "components", "copy", "data", "data draw", "bench"]
SLOW = {"torch", "torch_geometric", "mlflow", "pandas", "numpy", "scipy", "numba", "sklearn", "matplotlib", "seaborn"}


@pytest.mark.parametrize("command", HELPED)
def test_help_imports_nothing_that_takes_long(command):
    words = [sys.executable, "-X", "importtime", "-m", "gredkit", *command.split(), "--help"]
    result = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"usage: gredkit {command}".strip())
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in result.stderr.splitlines()}
    assert "argparse" in imported
    assert not imported & SLOW


def test_the_guide_for_contributors_names_every_registry():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    variables = {id(value): name for name, value in vars(registry).items()}
    for one in registry.REGISTRIES.values():
        line = next(line for line in guide.splitlines() if f"`{one.home.replace('.', '/')}/`" in line)
        assert f"`@{variables[id(one)]}.register(" in line
    for folder in re.findall(r"^\| an? .*?\| `([\w/]+/)`", guide, re.MULTILINE):
        assert (ROOT / folder).is_dir()


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = [ROOT / "CONTRIBUTING.md", ROOT / ".ci" / "run", *ROOT.glob(".github/workflows/*.yml")]
    for file in named:
        lines = re.findall(r"(?:^|`|run: )make ([a-z ]+)", file.read_text(), re.MULTILINE)
        assert {target for line in lines for target in line.split()} <= targets, file


def test_one_version_everywhere():
    newest = re.findall(r"^## \[(\d.*?)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert newest == gredkit.__version__
    assert f"\nversion: {gredkit.__version__}\n" in (ROOT / "CITATION.cff").read_text()
