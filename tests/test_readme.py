"""The README's own examples, run as they stand there, or made smaller by settings that are added at their end."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from helpers.commands import ROOT, run
from helpers.raw_files import write_zinc

from gredkit.tracking.store import open_command

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


def parsed(lines: list[str]) -> list[list[str]]:
    """Commands as words, without their comments and the `python` before them; no `make`."""
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[1:] for line in words if line[0] == "python"]


def commands(marker: str) -> list[list[str]]:
    """The commands of the block of bash that follows a line of text."""
    return parsed(block(marker, "bash").splitlines())


def in_text(marker: str) -> list[list[str]]:
    """The commands within the line that a text begins."""
    return parsed(re.findall(r"`(python [^`]+)`", README.split(marker, 1)[1].split("\n", 1)[0]))


def all_commands() -> list[list[str]]:
    """Those of every block of bash and those within the text and its tables, each once, in the order of the page."""
    found = re.findall(r"```(\w*)\n(.*?)```|`(python [^`]+)`", README, re.DOTALL)
    lines = [one for kind, text, inline in found for one in (text.splitlines() if kind == "bash" else [inline]) if one]
    return [list(one) for one in dict.fromkeys(map(tuple, parsed(lines)))]


def test_the_notebook_example_runs(tmp_path):
    (tmp_path / "example.py").write_text(block("## From a notebook", "python"))
    result = run("example.py", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "torch.Size([2, 1])" in result.stdout


OWN_ENCODER = "and use it by its name"


def test_a_users_own_encoder_is_listed_and_trained(tmp_path):
    (tmp_path / "near_and_far.py").write_text(block("Save as `near_and_far.py`", "python"))
    listing, training = commands(OWN_ENCODER)
    for command in (listing, [*training, *TINY]):
        result = run(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "near_and_far" in result.stdout
        assert "lru" in result.stdout


STUDIES = "when the suite is added"
PLAN, SMOKE, SINGLE, PAPER = commands(STUDIES)
[REPORT], [PREDICT] = in_text("| `report` |"), in_text("| `predict` |")


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        (PLAN, (*TINY, "--set", "K_VALUES=(1, 2)"), "10 trials, about"),
        (SINGLE, ("--set", "EPOCHS=1", "--set", "DIM=8"), "over 3 seeds."),
        (
            PAPER,
            ("--dry-run", "--set", "LAYERS=1", "--set", "BATCH_SIZE=2", "--set", "K_VALUES=(1,)"),
            "4 trials, about",
        ),
    ],
)
def test_the_commands_about_studies(tmp_path, command, more, said):
    write_zinc(tmp_path / "FOLDER")
    result = run(*command, *more, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert said in result.stdout


def test_a_study_is_trained_then_reported_and_asked(tmp_path):
    (tmp_path / "slowest.py").write_text(block("Save as `slowest.py`", "python"))
    for command, more, said in (
        (SMOKE, (*TINY, "--set", "K_VALUES=(1, 2)"), "over 2 seeds."),
        (REPORT, ("--import", "slowest"), "over 2 seeds."),
        (PREDICT, (), "p_"),
    ):
        model = next(tmp_path.glob("mlartifacts/k_hops/*/artifacts/model"), Path())
        words = [model.parent.parent.name if word == "ID" else word for word in command]
        result = run(*words, *more, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert said in result.stdout
    report = tmp_path / "reports" / "k_hops"
    assert len((report / "slowest.csv").read_text().splitlines()) == 5  # two values of K, two seeds, and the header
    promised = re.findall(r"`([\w.]+)`", README.split("| file | what |", 1)[1].split("\n\n", 1)[0])
    assert "table.tex" in promised
    assert all((report / name).is_file() for name in promised)


def test_the_mistake_that_is_shown_is_the_sentence_that_is_said(tmp_path):
    shown = block("and end in one sentence", "")
    result = run("-m", "gredkit.run", "--gin", "gin/models/digits.gin", "--set", "fit.epohcs=3", cwd=tmp_path)
    assert result.stderr == shown


EXAMPLES = {"own_graphs": ["own_graphs", "FOLDER"], "solubility": ["new.csv"], "my_dataset": ["my_dataset:"]}
MARKERS = {name: "and as `my_dataset.gin`" if name == "my_dataset" else f"Save as `{name}.gin`" for name in EXAMPLES}


def predictions(name: str) -> list[list[str]]:
    """The commands that ask the model of an example."""
    asking = commands("## Use a trained model")
    return [command for command in asking if any(part in word for part in EXAMPLES[name] for word in command)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_your_own_graphs_from_the_file_to_predictions(tmp_path, name):
    shutil.copytree(ROOT / "tests/examples", tmp_path / "tests/examples")
    shutil.copy(ROOT / "tests/examples/solubility.csv", tmp_path / "new.csv")
    (tmp_path / "my_dataset.py").write_text(block("Save as `my_dataset.py`", "python"))
    (tmp_path / f"{name}.gin").write_text(block(MARKERS[name], ""))
    describing, training = commands(MARKERS[name])
    for command, said in ((describing, "distinct hop sets"), (training, "over 2 seeds")):
        result = run(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert said in result.stdout

    folder = next(tmp_path.glob(f"mlartifacts/{name}/*/artifacts/model"))
    names = {"ID": folder.parent.parent.name, "FOLDER": str(folder)}
    for command in predictions(name):
        result = run(*(names.get(word, word) for word in command), cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith(("graph,", "node,")) or (tmp_path / "predicted.parquet").is_file()


PREPARED = [
    *(command for marker in (OWN_ENCODER, STUDIES, *MARKERS.values()) for command in commands(marker)),
    *(command for name in EXAMPLES for command in predictions(name)),
    *(REPORT, PREDICT),
]
ELSEWHERE = [  # test_run.py runs every study and test_bench_command.py every benchmark, small
    ["-m", "gredkit.run", "--gin", "ablations/rnn_flavors.gin", "--jobs", "2"],
    ["-m", "gredkit.run", "--gin", "ablations/k_hops.gin", "--jobs", "2"],
    ["-m", "gredkit.bench", "training", "--json", "FILE"],
    ["-m", "gredkit.bench", "--profile", "zinc"],
]
OTHERS = [command for command in all_commands() if command not in [*PREPARED, *ELSEWHERE]]  # so that none is forgotten
SMALLER = {"gredkit.bench": ("--quick",), "gredkit.data": ("--data", ".")}


@pytest.mark.parametrize("command", OTHERS, ids=shlex.join)
def test_every_other_command_runs(tmp_path, command):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    result = run(*command, *SMALLER.get(command[1], ()), cwd=tmp_path, fresh=True)
    assert result.returncode == 0, result.stderr
    assert "--out" not in command or (tmp_path / command[command.index("--out") + 1]).is_file()


def test_what_is_run_elsewhere_is_on_the_page():
    assert all(command in all_commands() for command in ELSEWHERE)


def test_make_does_what_is_run_here_or_in_ci():
    """CI itself is `make setup scatter` and `make test`; any other target is a command of the page."""
    ci = re.findall(r"^make (.*)", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    targets = set(re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE))
    assert {"ablation", "test"} <= targets
    for target in targets - {word for line in ci for word in line.split()}:
        [recipe] = re.findall(
            rf"^{target}:.*\n\t\$\(BIN\)/python (.*)\n\n", (ROOT / "Makefile").read_text(), re.MULTILINE
        )
        assert shlex.split(recipe) in all_commands()


def test_the_command_that_opens_mlflow_is_the_one_that_is_printed():
    assert block("prints the command that opens them", "") == f"{open_command('sqlite:////home/you/mlflow.db')}\n"


def test_links_within_the_page_lead_somewhere():
    headings = re.findall(r"^#+ (.+)$", README, re.MULTILINE)
    places = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(#([^)]+)\)", README)
    assert links
    assert set(links) <= places


def test_pictures_are_there_and_nothing_is_left_to_fill_in():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)
    assert not re.findall(r"\b[A-Z_]+_(?:TABLE|NOTES|PICTURE)\b|TODO|TBD", README)
