from pathlib import Path

import platformdirs

from gredkit.paths import data_root


def test_given_then_environment_then_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GREDKIT_DATA", str(tmp_path / "environment"))
    assert data_root(tmp_path / "given") == tmp_path / "given"
    assert data_root(str(tmp_path / "given")) == tmp_path / "given"
    assert data_root() == tmp_path / "environment"
    for set_to in ("unset", ""):
        if set_to == "unset":
            monkeypatch.delenv("GREDKIT_DATA")
        else:
            monkeypatch.setenv("GREDKIT_DATA", set_to)
        assert data_root() == platformdirs.user_cache_path("gredkit", appauthor=False)


def test_paths_are_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert data_root("data") == tmp_path / "data"
    assert data_root("~/data") == Path.home() / "data"
