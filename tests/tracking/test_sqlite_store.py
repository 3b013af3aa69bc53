"""A SQLite store has all its tables or is made anew, whoever was stopped while making it."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from helpers.stores import LONG_AGO, assert_usable, make_ours, make_plainly, start

from gredkit.errors import UserError
from gredkit.system.writing import CannotWrite
from gredkit.tracking.sqlite_store import database
from gredkit.tracking.store import connect


def tables(path):
    with closing(sqlite3.connect(path)) as store:
        return [name for (name,) in store.execute("select name from sqlite_master where type = 'table'")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "mlflow.db"
    connect(f"sqlite:///{path}")
    return path


def test_a_new_store_has_what_mlflow_makes_and_nothing_lies_beside_it(whole, tmp_path):
    plain = tmp_path / "plain.db"
    process = start(make_plainly, plain)
    process.join()
    assert sorted(tables(whole)) == sorted(tables(plain))
    assert {file.name for file in whole.parent.iterdir()} == {"mlflow.db", "mlflow.db.lock"}
    assert_usable(shutil.copy(whole, tmp_path / "copy.db"))


@pytest.mark.parametrize("kept", [0, 1, 9, 25])
def test_a_store_that_has_some_of_its_tables_is_made_anew(whole, tmp_path, kept):
    half = tmp_path / "half.db"
    with closing(sqlite3.connect(whole)) as source, closing(sqlite3.connect(half)) as made:
        created = source.execute("select sql from sqlite_master where type = 'table' and sql not null").fetchall()
        for (sql,) in created[:kept]:
            made.execute(sql)
    os.utime(half, LONG_AGO)
    assert_usable(half)


def test_what_holds_something_is_never_replaced(tmp_path):
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as made:
        made.execute("create table runs (name text)")
        made.execute("insert into runs values ('mine')")
        made.commit()
    os.utime(other, LONG_AGO)
    with pytest.raises(UserError):
        connect(f"sqlite:///{other}")
    with closing(sqlite3.connect(other)) as made:
        assert made.execute("select name from runs").fetchall() == [("mine",)]


def test_what_is_no_database_is_never_replaced(tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("some text that is longer than the header of a database, " * 9)
    os.utime(other, LONG_AGO)
    before = other.read_bytes()
    with pytest.raises(UserError, match="not a database"):
        connect(f"sqlite:///{other}")
    assert other.read_bytes() == before


def test_several_that_start_at_once_share_a_new_store(tmp_path):
    path = tmp_path / "shared" / "mlflow.db"
    processes = [start(make_ours, path) for _ in range(3)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert_usable(path)


@pytest.mark.parametrize("largest", [0, 500_000])
def test_no_room_for_the_tables_is_a_sentence_and_the_next_one_makes_them(tmp_path, largest):
    path = tmp_path / "mlflow.db"
    process = start(make_ours, path, largest)
    process.join()
    assert process.exitcode == 1
    assert not path.exists()
    assert_usable(path)


def test_the_sentence_names_the_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match=f"nothing can be written to {tmp_path}/file/below"):
        connect(f"sqlite:///{tmp_path}/file/below/mlflow.db")


def test_the_file_of_an_address():
    assert str(database("sqlite:////some%20runs.db?timeout=3")) == "/some runs.db"
    assert database("https://somewhere") is None
