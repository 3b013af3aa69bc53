"""Download the stored model of an MLflow run."""

from collections.abc import Iterable
from pathlib import Path

from gredkit.errors import UserError
from gredkit.system.private import shown
from gredkit.tracking.store import ADVICE, StoreError, connect, existing_store, tracking_uri

ARTIFACT = "model"  # the folder among the artifacts of a run


def download(run_id: str, files: Iterable[str], folder: Path, uri: str | None = None) -> Path:
    """Copy the files of a run's stored model into a folder; returns the folder that contains them."""
    uri = existing_store(tracking_uri(uri))
    client = connect(uri)
    try:
        client.get_run(run_id)
        found = [artifact.path for artifact in client.list_artifacts(run_id, ARTIFACT)]
    except StoreError as error:
        if error.refused:
            raise UserError(f"there is no run {run_id!r} in {shown(uri)}: correct its id, or {ADVICE}") from None
        raise
    for path in (f"{ARTIFACT}/{file}" for file in files):
        if path not in found:
            raise UserError(
                f"the run {run_id!r} has no stored model: choose a run that has finished training, or train it again"
            )
        copied = Path(client.download_artifacts(run_id, path, str(folder)))
    return copied.parent
