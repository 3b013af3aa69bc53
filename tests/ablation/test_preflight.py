"""Folders that cannot be written are found before the first trial."""

import pytest
from helpers.studies import WITHOUT_AXES

from gredkit.ablation.plan import make_plan
from gredkit.ablation.preflight import check_folders
from gredkit.config.source import Source
from gredkit.system.writing import CannotWrite


@pytest.fixture
def trials(tmp_path):
    (tmp_path / "tiny.gin").write_text(WITHOUT_AXES)
    return make_plan(Source((str(tmp_path / "tiny.gin"),))).trials


def test_every_folder_is_tried_and_named(trials, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GREDKIT_CACHE", str(tmp_path / "cache"))
    check_folders(trials, tmp_path / "work", tmp_path / "reports")
    for work, reports in (("file/work", "reports"), ("work", "file/reports")):
        with pytest.raises(CannotWrite, match=f"nothing can be written to {tmp_path}/file/") as error:
            check_folders(trials, tmp_path / work, tmp_path / reports)
        assert error.value.exit_code == 2
    monkeypatch.setenv("GREDKIT_CACHE", str(tmp_path / "file/cache"))
    with pytest.raises(CannotWrite, match=f"nothing can be written to {tmp_path}/file/cache .*GREDKIT_CACHE"):
        check_folders(trials, tmp_path / "work", None)
    check_folders([], tmp_path / "work", None)  # nothing is to be trained
