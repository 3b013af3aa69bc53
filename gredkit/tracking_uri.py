"""Where MLflow keeps the runs."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from gredkit.errors import UserError

SQLITE = "sqlite:///"


def tracking_uri(given: str | None = None) -> str:
    """The address given, `$MLFLOW_TRACKING_URI`, or `mlflow.db` in the working folder."""
    return given or os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}{Path('mlflow.db').absolute()}"


def existing_store(uri: str) -> str:
    """The same address, once it is clear that MLflow would not make an empty store there."""
    if uri.startswith(SQLITE):
        file = Path(unquote(uri[len(SQLITE) :].partition("?")[0]))
        if not file.is_absolute():
            raise UserError(
                f"{uri} depends on the working folder: give the whole path, as in {SQLITE}{Path(file).absolute()}"
            )
        if not file.is_file():
            raise UserError(f"there is no database {file}: {ADVICE}")
    elif not re.match(r"\w[\w+.-]+:", uri) or uri.startswith("file:"):
        folder = Path(unquote(re.sub("^file:(//)?", "", uri)))
        if not folder.is_dir():
            raise UserError(f"there is no folder of runs {folder}: {ADVICE}")
    return uri


def shown(uri: str) -> str:
    """An address as it may be printed, without a password."""
    return re.sub(r"//[^/@]*@", "//", uri)


ADVICE = "say where the runs are, with --tracking-uri or $MLFLOW_TRACKING_URI"
