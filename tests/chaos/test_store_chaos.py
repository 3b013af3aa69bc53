"""kill -9 at any moment while a SQLite store gets its tables, by gredkit or by MLflow alone."""

import os
import random
import shutil
import sqlite3
import time
from contextlib import closing

import pytest
from helpers.stores import LONG_AGO, assert_usable, make_ours, make_plainly, start


@pytest.mark.rounds(short=2, long=40)
def test_mlflow_killed_while_it_makes_its_tables(seed, tmp_path, count):
    path, wanted = tmp_path / "mlflow.db", random.Random(seed).randint(0, 60)
    process = start(make_plainly, path)
    while process.is_alive() and tables(path) <= wanted:
        time.sleep(0.001)
    process.kill()
    process.join()
    for left in tmp_path.iterdir():
        os.utime(left, LONG_AGO)
    assert_usable(path)
    count("kill -9 of MLflow while it makes a store")


@pytest.mark.rounds(short=3, long=60)
def test_gredkit_killed_while_it_makes_a_store(seed, tmp_path, count):
    chosen, path = random.Random(seed), tmp_path / "mlflow.db"
    processes = [start(make_ours, path) for _ in range(1 + seed % 2)]
    time.sleep(chosen.uniform(0.2, 2.5))
    for process in processes:
        process.kill()
        process.join()
        count("kill -9 of gredkit while it makes a store")
    if path.exists():
        copy = shutil.copy(path, tmp_path / "copy.db")
        assert tables(copy) > 50  # whole, as soon as it is there
    assert_usable(path)


def tables(path):
    """How many there are by now."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            return store.execute("select count(*) from sqlite_master where type = 'table'").fetchone()[0]
    except sqlite3.Error:
        return 0
