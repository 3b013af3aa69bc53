import os
import shutil

import pytest
from filelock import FileLock
from helpers.studies import LONG, TinyStudy


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """Every trial with its scores, trained one after another without a disturbance.

    Tests that run side by side train it once; each process has a copy of its folder.
    """
    own = tmp_path_factory.mktemp("undisturbed")
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return trained(TinyStudy(own, has_store=False, reports=True))
    shared = tmp_path_factory.getbasetemp().parent / "undisturbed"  # of all processes of this session
    with FileLock(f"{shared}.lock"):
        if not (shared / "done").exists():
            trained(TinyStudy(shared, has_store=False, reports=True))
            (shared / "done").touch()
    shutil.copytree(shared, own, dirs_exist_ok=True)
    return TinyStudy(own, has_store=False, reports=True)


def trained(study: TinyStudy) -> TinyStudy:
    result = study.run(*LONG)
    assert result.returncode == 0, result.stderr
    return study
