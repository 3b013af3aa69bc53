"""The disk of the cache, the work, the store or the reports is full at some moment: the sentence names its folder."""

import random

import pytest
from helpers.small_disk import small_disk
from helpers.studies import WITHOUT_AXES, TinyStudy

STUDY = WITHOUT_AXES.replace("(0, 1)", "(3,)").replace("DIM = 8", "DIM = 32")
LARGEST = {"cache": 48, "work": 160, "store": 1200, "reports": 400}  # kB, with which a little is missing


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    study = TinyStudy(tmp_path_factory.mktemp("undisturbed"), STUDY)
    assert study.run().returncode == 0
    return study.scores()


@pytest.mark.needs("mount")
@pytest.mark.parametrize("full", LARGEST)
@pytest.mark.rounds(short=1, long=15)
def test_a_full_disk_is_a_sentence_that_names_it_and_loses_nothing(
    full, seed, undisturbed, tmp_path, monkeypatch, count
):
    study = TinyStudy(tmp_path / "study", STUDY, has_store=full != "store", reports=full == "reports")
    room = random.Random(f"{full} {seed}").randint(4, LARGEST[full])
    with small_disk(tmp_path / "disk", room) as disk:
        options = {
            "cache": (),
            "work": ("--work", str(disk.folder)),
            "store": ("--tracking-uri", f"sqlite:///{disk.folder}/mlflow.db"),
            "reports": ("--reports", str(disk.folder)),
        }[full]
        monkeypatch.setenv("GREDKIT_CACHE", str(disk.folder if full == "cache" else tmp_path / "cache"))
        result = study.run(*options)
        said = result.stdout + result.stderr
        assert result.returncode in (0, 1), said
        assert "Traceback" not in said
        assert "failed" not in said
        if result.returncode == 1:
            count(f"full disk: {full}")
            assert f"the disk of {disk.folder}" in said
            assert "is full: free some space" in said
        disk.make_room()
        again = study.run(*options)
        assert again.returncode == 0, again.stdout + again.stderr
        study.uri = options[1] if full == "store" else study.uri
        assert study.scores() == undisturbed
