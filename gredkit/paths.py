"""The folders that gredkit reads and writes, each in one place."""

import os
from pathlib import Path

from platformdirs import user_cache_path

WORK = Path(".gredkit")  # what is not finished: folders of trials
REPORTS = Path("reports")  # one folder per study
STORE = Path("mlflow.db")  # MLflow's runs, unless an address is given

_PACKAGE = Path(__file__).parent
# The folder of the gin files that come with gredkit: inside the package if it was installed, or else the checkout.
SHIPPED = _PACKAGE / "shipped" if (_PACKAGE / "shipped").is_dir() else _PACKAGE.parent


def data_root(root: str | Path | None = None) -> Path:
    """Where datasets lie: the folder given, `$GREDKIT_DATA`, or a folder in the user's cache."""
    chosen = root or os.environ.get("GREDKIT_DATA") or user_cache_path("gredkit", appauthor=False)
    return Path(chosen).expanduser().absolute()


def hop_cache() -> Path:
    """Where prepared graphs are kept: `$GREDKIT_CACHE`, or a folder beside the data."""
    return Path(os.environ.get("GREDKIT_CACHE") or data_root() / "hop_cache")


def compiled_root() -> Path:
    """Where compiled code is kept: `$GREDKIT_COMPILED`, or a folder in the user's cache."""
    chosen = os.environ.get("GREDKIT_COMPILED")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return user_cache_path("gredkit", appauthor=False) / "compiled"
