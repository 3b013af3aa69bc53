"""The examples of README and docs, run as they stand there, or made smaller by settings that are added at their end."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from helpers.commands import ROOT, run
from helpers.pages import ALL, PAGES, all_commands, block, commands, parsed
from helpers.raw_files import write_zinc

from gredkit.tracking.store import open_command

TINY = (
    *("--set", "DATASETS=('ring_transfer',)", "--set", "datasets.ring_transfer.graphs=20"),
    *("--set", "EPOCHS=1", "--set", "DIM=8"),
)


def test_the_library_runs_without_a_study(tmp_path):
    (tmp_path / "example.py").write_text(block("docs/trained_models.md", "## The library in a notebook", "python"))
    result = run("example.py", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "torch.Size([2, 1])" in result.stdout


[OWN_ENCODER] = commands("README.md", "and use it by its name")
LISTING, *AS_IN_README = commands("docs/models.md", "and use it by its name")


def test_a_users_own_encoder_is_listed_and_trained(tmp_path):
    """The class of docs/models.md, which is longer, is run by the notebook."""
    (tmp_path / "near_and_far.py").write_text(block("README.md", "Save this as `near_and_far.py`", "python"))
    assert AS_IN_README == [OWN_ENCODER]
    for command in (LISTING, [*OWN_ENCODER, *TINY, "--set", "SEEDS=(0, 1)"]):
        result = run(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "near_and_far" in result.stdout
        assert "lru" in result.stdout


[MODELS] = commands("docs/models.md", "The model is an axis")
[OWN_MODEL] = commands("README.md", "## Your own model in one file")


def test_models_are_compared_and_a_users_own_among_them(tmp_path):
    code = block("README.md", "Save this as `sage.py`", "python")
    assert block("docs/models.md", "Save this as `sage.py`", "python") == code
    assert commands("docs/models.md", "and compare it with others") == [OWN_MODEL]
    (tmp_path / "sage.py").write_text(code)
    result = run(*OWN_MODEL, *TINY, "--set", "SEEDS=(0,)", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert all(name in result.stdout for name in ("gred", "gps", "gin", "sage"))


[OWN_LOSS] = commands("docs/models.md", "and compare it with other losses")


def test_a_users_own_loss_is_compared(tmp_path):
    (tmp_path / "log_cosh.py").write_text(block("docs/models.md", "Save this as `log_cosh.py`", "python"))
    smaller = ("--set", "SEEDS=(0,)", "--set", "EPOCHS=1", "--set", "DIM=8", "--set", "datasets.molecules.lines=60")
    result = run(*OWN_LOSS, *smaller, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert all(name in result.stdout for name in ("l1", "l2", "log_cosh"))


STUDY = commands("README.md", "Save this as `my_study.gin`")


def test_a_study_in_ten_lines(tmp_path):
    text = block("README.md", "Save this as `my_study.gin`", "")
    assert len(text.splitlines()) <= 10
    (tmp_path / "my_study.gin").write_text(text)
    for command, said in zip(STUDY, ("4 trials, about", "gru, mean"), strict=True):
        result = run(*command, *TINY, "--set", "SEEDS=(0,)", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert said in result.stdout


PLAN, SMOKE, SINGLE, PAPER = commands("docs/studies.md", "Add the suite of the paper")
[REPORT] = commands("docs/reports.md", "You can write the report again")
[PREDICT] = parsed(re.findall(r"\| `predict` .*`(python [^`]+)`", PAGES["docs/studies.md"]))


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        (PLAN, (*TINY, "--set", "K_VALUES=(1, 2)"), "10 to 24 trials, about"),
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
    (tmp_path / "slowest.py").write_text(block("docs/reports.md", "Save this as `slowest.py`", "python"))
    (tmp_path / "histogram.py").write_text(block("docs/reports.md", "Save this as `histogram.py`", "python"))
    for command, more, said in (
        (SMOKE, (*TINY, "--set", "K_VALUES=(1, 2)"), "over 2 seeds."),
        (REPORT, ("--import", "slowest", "--import", "histogram"), "over 2 seeds."),
        (PREDICT, (), "p_"),
    ):
        model = next(tmp_path.glob("mlartifacts/k_hops/*/artifacts/model"), Path())
        words = [model.parent.parent.name if word == "ID" else word for word in command]
        result = run(*words, *more, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert said in result.stdout
    report = tmp_path / "reports" / "k_hops"
    assert (report / "histogram.png").is_file()
    assert len((report / "slowest.csv").read_text().splitlines()) == 5  # two values of K, two seeds, and the header
    table = PAGES["docs/reports.md"].split("| file | content |", 1)[1].split("\n\n", 1)[0]
    always = "".join(row for row in table.splitlines(keepends=True) if " of studies " not in row)
    promised = re.findall(r"`([\w.]+)`", always)
    assert "table.tex" in promised
    assert all((report / name).is_file() for name in promised)


def test_the_mistake_that_is_shown_is_the_sentence_that_is_said(tmp_path):
    shown = block("docs/studies.md", "A mistake ends in one sentence", "")
    result = run("-m", "gredkit.run", "--gin", "gin/models/digits.gin", "--set", "fit.epohcs=3", cwd=tmp_path)
    assert result.stderr == shown


OWN = "docs/own_graphs.md"
EXAMPLES = {"own_graphs": ["own_graphs", "FOLDER"], "solubility": ["new.csv"], "my_dataset": ["my_dataset:"]}
MARKERS = {name: f"{'and ' if name == 'my_dataset' else 'Save '}this as `{name}.gin`" for name in EXAMPLES}


def predictions(name: str) -> list[list[str]]:
    """The commands that ask the model of an example."""
    asking = commands("docs/trained_models.md", "## On the command line")
    return [command for command in asking if any(part in word for part in EXAMPLES[name] for word in command)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_your_own_graphs_from_the_file_to_predictions(tmp_path, name):
    shutil.copytree(ROOT / "tests/examples", tmp_path / "tests/examples")
    shutil.copy(ROOT / "tests/examples/solubility.csv", tmp_path / "new.csv")
    (tmp_path / "my_dataset.py").write_text(block(OWN, "Save this as `my_dataset.py`", "python"))
    (tmp_path / f"{name}.gin").write_text(block(OWN, MARKERS[name], ""))
    describing, training = commands(OWN, MARKERS[name])
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
    *(PLAN, SMOKE, SINGLE, PAPER, REPORT, PREDICT, OWN_ENCODER, LISTING, MODELS, OWN_MODEL, OWN_LOSS, *STUDY),
    *(command for marker in MARKERS.values() for command in commands(OWN, marker)),
    *(command for name in EXAMPLES for command in predictions(name)),
]
ELSEWHERE = [  # test_run.py runs every study, test_bench_command.py every benchmark, test_quoted.py the copies
    # and test_explain.py, test_compare.py and test_subsets.py their commands
    ["-m", "gredkit.explain", "--run", "ID"],
    ["-m", "gredkit.explain", "--run", "ID", "--graph", "3", "--node", "0"],
    ["-m", "gredkit.report", "--compare", "k_hops", "rnn_flavors"],
    ["-m", "gredkit.data", "subset", "zinc", "--train", "1000", "--validation", "200", "--test", "200"],
    ["-m", "gredkit.run", "--gin", "ablations/rnn_flavors.gin"],
    ["-m", "gredkit.run", "--gin", "ablations/rnn_flavors.gin", "--jobs", "1"],
    ["-m", "gredkit.run", "--gin", "ablations/k_hops.gin"],
    ["-m", "gredkit.run", "--gin", "ablations/aggregators.gin", "--set", "SCATTER='torch_scatter'"],
    *(
        ["-m", "gredkit.bench", name]
        for name in ("hops", "growth", "segments", "launches", "busy", "startup", "report", "decisions")
    ),
    ["-m", "gredkit.bench", "memory", "--data", "FOLDER"],
    ["-m", "gredkit.bench", "encoders", "--data", "FOLDER"],
    ["-m", "gredkit.bench", "training", "encoders", "launches", "busy", "--data", "FOLDER"],
    ["-m", "gredkit.bench", "training", "--json", "FILE"],
    ["-m", "gredkit.bench", "--profile", "zinc"],
    ["tests/quoted.py", "--write"],
    ["tests/docs/mlflow_pictures.py"],
    ["-m", "pytest", "-n", "2", "tests/chaos/test_kills.py", "--long"],
    ["-m", "pytest", "-n", "2", "tests/chaos"],
    ["-m", "pytest", "tests/chaos/test_shared_server.py", "--long", "-k", "many_share"],
]
OTHERS = [command for command in all_commands() if command not in [*PREPARED, *ELSEWHERE]]  # so that none is forgotten
SMALLER = {"gredkit.bench": ("--quick",), "gredkit.data": ("--data", "."), "gredkit.run": ("--dry-run", *TINY)}


@pytest.mark.parametrize("command", OTHERS, ids=shlex.join)
def test_every_other_command_runs(tmp_path, command):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    if "FOLDER" in command:
        write_zinc(tmp_path / "FOLDER")
    copies = ("--set", "COPIES=2") if "COPIES=70" in command else ()  # the last one counts
    result = run(*command, *SMALLER.get(command[1], ()), *copies, cwd=tmp_path, fresh=command == OTHERS[0])
    assert result.returncode == 0, result.stderr
    assert "--out" not in command or (tmp_path / command[command.index("--out") + 1]).is_file()


def test_what_is_run_elsewhere_is_on_a_page():
    assert all(command in all_commands() for command in ELSEWHERE)


def test_make_does_what_is_run_here_or_in_ci():
    """CI itself is `make setup scatter` and `make test`; any other target that a page names is in the Makefile."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?:^|`)make (\w+)", ALL, re.MULTILINE))
    assert {"ablation", "test"} <= targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    [recipe] = re.findall(r"^ablation:.*\n\t\$\(BIN\)/python (.*)\n\n", makefile, re.MULTILINE)
    assert shlex.split(recipe) in all_commands()


def test_the_command_that_opens_mlflow_is_the_one_that_is_printed():
    shown = block("docs/mlflow.md", "prints the command that opens the store", "")
    assert shown == f"{open_command('sqlite:////home/you/mlflow.db')}\n"
