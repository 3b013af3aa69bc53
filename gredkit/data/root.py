"""Where datasets lie."""

import os
from pathlib import Path

from platformdirs import user_cache_path


def data_root(root: str | Path | None = None) -> Path:
    """The folder given, `$GREDKIT_DATA`, or a cache folder of the user's."""
    chosen = root or os.environ.get("GREDKIT_DATA") or user_cache_path("gredkit", appauthor=False)
    return Path(chosen).expanduser().absolute()
