import pytest
from helpers.studies import LONG, TinyStudy


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """Every trial with its scores, trained one after another without a disturbance."""
    study = TinyStudy(tmp_path_factory.mktemp("undisturbed"), has_store=False, reports=True)
    result = study.run(*LONG)
    assert result.returncode == 0, result.stderr
    return study
