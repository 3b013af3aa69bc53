"""The gin files that come with gredkit: found from any folder, listed, copied, and replaced by the user's own."""

import shutil

import gin
import pytest
from helpers.commands import ROOT, fails_with_a_sentence, run

from gredkit.config import gin_files, source
from gredkit.config.shipped import copy, purpose, shipped
from gredkit.config.source import Source
from gredkit.errors import UserError
from gredkit.registry import DATASETS

STUDY = "ablations/rnn_flavors.gin"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gin.clear_config()
    yield
    gin.clear_config()


def test_all_studies_and_blocks_are_shipped():
    assert shipped() == sorted(
        path.relative_to(ROOT).as_posix() for top in ("ablations", "gin") for path in ROOT.glob(f"{top}/**/*.gin")
    )


@pytest.mark.parametrize("file", shipped())
def test_a_file_says_what_it_is_for(file):
    assert purpose(file)
    assert not purpose(file).startswith("#")


def test_a_file_of_this_folder_wins_and_so_does_one_that_is_included(tmp_path):
    assert gin_files.find(STUDY) == str(ROOT / STUDY)
    assert Source((STUDY,)).load("digits", "smoke").recipe.epochs == 1
    (tmp_path / "gin" / "suites").mkdir(parents=True)
    (tmp_path / "gin" / "budgets").mkdir()
    (tmp_path / "gin/suites/embedded.gin").write_text("DATASETS = ('digits',)\n")
    (tmp_path / "gin/budgets/smoke.gin").write_text("EPOCHS = 7\n")
    configuration = Source((STUDY,)).load("digits", "smoke")
    assert configuration.study.datasets == ("digits",)
    assert configuration.recipe.epochs == 7


def test_a_file_of_the_user_includes_one_that_is_shipped(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "ablations", tmp_path / "path" / "ablations")
    monkeypatch.syspath_prepend(tmp_path / "path")  # as the checkout is in an editable install
    (tmp_path / "mine.gin").write_text(f"include '{STUDY}'\nSEEDS = (7,)\n")
    assert Source(("mine.gin",)).load("digits").study.seeds == (7,)


def test_a_copy_is_the_file_itself_and_is_used_from_then_on(tmp_path):
    result = run("-m", "gredkit", "copy", STUDY, f"./{shipped()[-1]}", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert STUDY in result.stdout
    for file in (STUDY, shipped()[-1]):
        assert (tmp_path / file).read_bytes() == (ROOT / file).read_bytes()
    assert gin_files.find(STUDY) == STUDY
    listed = run("-m", "gredkit", "components", "--gin", cwd=tmp_path).stdout.splitlines()
    assert [line.split()[1] for line in listed if "the file in this folder is used instead" in line] == [
        STUDY,
        shipped()[-1],
    ]


def test_a_copy_overwrites_nothing(tmp_path):
    (tmp_path / "ablations").mkdir()
    (tmp_path / STUDY).write_text("mine")
    assert "is in this folder already" in fails_with_a_sentence(run("-m", "gredkit", "copy", STUDY, cwd=tmp_path))
    assert (tmp_path / STUDY).read_text() == "mine"


@pytest.mark.parametrize("file", ["ablations/rnn_flavours.gin", "pyproject.toml", "../gin/budgets/cpu.gin", "gin", ""])
def test_only_what_is_shipped_can_be_copied(file, tmp_path):
    with pytest.raises(UserError, match="gredkit has no gin file"):
        copy(file)
    assert not list(tmp_path.iterdir())


def test_a_folder_in_which_nothing_can_be_written_ends_in_a_sentence(tmp_path):
    (tmp_path / "ablations").write_text("a file")
    with pytest.raises(UserError, match="nothing can be written to ablations"):
        copy(STUDY)


@pytest.mark.parametrize("dataset", sorted(set(DATASETS) - source.WITHOUT_BLOCK))
def test_a_dataset_of_ours_without_its_block_is_a_mistake(dataset, monkeypatch, tmp_path):
    """Another model than that of the block would be trained."""
    monkeypatch.setattr(gin_files, "ROOTS", (tmp_path,))
    with pytest.raises(UserError, match=f"there is no gin/models/{dataset}.gin"):
        Source().load(dataset)


@pytest.mark.parametrize("dataset", sorted(source.WITHOUT_BLOCK))
def test_data_that_the_user_names_needs_no_block(dataset):
    assert Source().load(dataset).trial.dataset == dataset


def test_a_dataset_that_the_user_registers_needs_no_block(tmp_path):
    (tmp_path / "my_shipped_data.py").write_text(
        "from gredkit.data.datasets.ring_transfer import ring_transfer\nfrom gredkit.registry import DATASETS\n\n\n"
        "@DATASETS.register('my_rings')\ndef my_rings():\n    return ring_transfer(graphs=10)\n"
    )
    try:
        assert Source(modules=("my_shipped_data",)).load("my_rings").trial.dataset == "my_rings"
    finally:
        DATASETS._entries.pop("my_rings", None)
