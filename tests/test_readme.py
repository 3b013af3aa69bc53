"""The README's own examples, run as they stand there."""

import re
import shlex
import shutil

import pytest
from commands import ROOT, run

README = (ROOT / "README.md").read_text()
TINY = (
    *("--set", "DATASETS=('ring_transfer',)", "--set", "datasets.ring_transfer.graphs=20"),
    *("--set", "EPOCHS=1", "--set", "DIM=8"),
)


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


def commands(marker: str) -> list[list[str]]:
    """The commands of a block of bash, without their comments and the `python` before them."""
    lines = [shlex.split(line, comments=True) for line in block(marker, "bash").splitlines()]
    assert all(line[0] == "python" for line in lines)
    return [line[1:] for line in lines]


def test_a_users_own_encoder_is_listed_and_trained(tmp_path):
    (tmp_path / "near_and_far.py").write_text(block("Save as `near_and_far.py`", "python"))
    listing, training = commands("and use it by its name")
    for command in (listing, [*training, *TINY]):
        result = run(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "near_and_far" in result.stdout
        assert "lru" in result.stdout


def test_the_commands_about_studies(tmp_path):
    plan, smoke, single = commands("when the suite is added")
    for command, said in ((plan, "12 trials, about"), (smoke, "over 2 seeds."), (single, "over 3 seeds.")):
        smaller = [] if command is single else TINY
        result = run(*command, *smaller, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert said in result.stdout


def test_the_mistake_that_is_shown_is_the_sentence_that_is_said(tmp_path):
    shown = block("and end in one sentence", "")
    result = run("-m", "gredkit.run", "--gin", "gin/models/digits.gin", "--set", "fit.epohcs=3", cwd=tmp_path)
    assert result.stderr == shown


EXAMPLES = {"own_graphs": ["own_graphs", "FOLDER"], "solubility": ["new.csv"], "my_dataset": ["my_dataset:"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_your_own_graphs_from_the_file_to_predictions(tmp_path, name):
    shutil.copytree(ROOT / "tests/examples", tmp_path / "tests/examples")
    shutil.copy(ROOT / "tests/examples/solubility.csv", tmp_path / "new.csv")
    (tmp_path / "my_dataset.py").write_text(block("Save as `my_dataset.py`", "python"))
    marker = "and as `my_dataset.gin`" if name == "my_dataset" else f"Save as `{name}.gin`"
    (tmp_path / f"{name}.gin").write_text(block(marker, ""))
    describing, training = commands(marker)
    for command, said in ((describing, "distinct hop sets"), (training, "over 2 seeds")):
        result = run(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert said in result.stdout

    folder = next(tmp_path.glob(f"mlartifacts/{name}/*/artifacts/model"))
    names = {"ID": folder.parent.parent.name, "FOLDER": str(folder)}
    for command in commands("## Use a trained model"):
        if any(part in word for part in EXAMPLES[name] for word in command):
            result = run(*(names.get(word, word) for word in command), cwd=tmp_path)
            assert result.returncode == 0, result.stderr
            assert result.stdout.startswith(("graph,", "node,")) or (tmp_path / "predicted.parquet").is_file()


def test_the_data_commands(tmp_path):
    for command in commands("## Datasets"):
        result = run(*command, "--data", str(tmp_path), cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    assert (tmp_path / "molecule.png").is_file()


def test_pictures_are_there_and_nothing_is_left_to_fill_in():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)
    assert not re.findall(r"\b[A-Z]+_(?:TABLE|PICTURE)\b|TODO|TBD", README)
