import os

import psutil

from gredkit.system.resources import free_memory, resources, room_of


def test_no_more_than_the_machine_has():
    found = resources()
    assert 1 <= found.cores <= (os.cpu_count() or 1)
    assert found.gpus >= 0
    assert 0 < found.memory <= psutil.virtual_memory().total


def test_the_limit_of_a_container_counts_without_its_cached_files(tmp_path):
    (tmp_path / "memory.max").write_text("4000000000\n")
    (tmp_path / "memory.stat").write_text("anon 1000000000\nfile 2500000000\n")
    assert room_of(tmp_path, otherwise=7) == 3_000_000_000
    (tmp_path / "memory.stat").write_text("anon 5000000000\n")
    assert room_of(tmp_path, otherwise=7) == 0


def test_without_a_limit_the_machine_counts(tmp_path):
    assert room_of(tmp_path, otherwise=7) == 7  # no such files
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.stat").write_text("anon 1\n")
    assert room_of(tmp_path, otherwise=7) == 7
    assert free_memory() > 0
