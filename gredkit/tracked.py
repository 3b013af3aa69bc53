"""What an MLflow run keeps of its model."""

from pathlib import Path

from gredkit.errors import UserError, cause
from gredkit.store import ADVICE, connect, existing_store, shown, tracking_uri

ARTIFACT = "model"  # the folder among the artifacts of a run
UNKNOWN = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")  # what MLflow says of an id that no run has


def download(run_id: str, file: str, folder: Path, uri: str | None = None) -> Path:
    """Copy the stored model of a run, of which `file` is a part, into a folder; returns where it lies there."""
    uri = existing_store(tracking_uri(uri))
    client = connect(uri)
    try:
        client.get_run(run_id)
        found = [artifact.path for artifact in client.list_artifacts(run_id, ARTIFACT)]
    except Exception as error:  # MLflow's own, or of the database or the network below it
        if getattr(error, "error_code", None) in UNKNOWN:
            raise UserError(f"there is no run {run_id!r} in {shown(uri)}: correct its id, or {ADVICE}") from None
        raise UserError(f"{shown(uri)} cannot be read ({cause(error)}): {ADVICE}") from None
    if f"{ARTIFACT}/{file}" not in found:
        raise UserError(
            f"the run {run_id!r} has no stored model: choose a run that has finished training, or train it again"
        )
    try:
        return Path(client.download_artifacts(run_id, ARTIFACT, str(folder)))
    except Exception as error:
        raise UserError(f"the model of run {run_id!r} cannot be copied ({cause(error)}): try again") from None
