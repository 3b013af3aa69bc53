"""A stored model as MLflow's `mlflow.pyfunc.load_model` and `mlflow models serve` know it.

The file `MLmodel` beside a model names this module, which reads the same two files as `gredkit.load`, by its rules.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

import pandas as pd
from torch_geometric.data import Data

from gredkit.data.own.tables import Problems
from gredkit.data.unlabelled import from_frame
from gredkit.errors import UserError
from gredkit.inference.trained import TrainedModel

MLMODEL = "MLmodel"


def described() -> str:
    """The content of MLmodel; nothing in it depends on the model."""
    return f"""flavors:
  python_function:
    loader_module: {__name__}
    python_version: {platform.python_version()}
    config:
      modules: []
mlflow_version: {version("mlflow")}
utc_time_created: '{datetime.now(timezone.utc).replace(tzinfo=None)}'
"""


@dataclass(frozen=True)
class Predictor:
    """What MLflow asks for predictions."""

    trained: TrainedModel

    def predict(self, model_input: pd.DataFrame | Data | Sequence[Data]) -> pd.DataFrame:
        """One row per graph or node, like `python -m gredkit.predict`.

        model_input: a table with one row per graph (`from_frame` says which columns), or graphs of PyG
        """
        from mlflow.exceptions import MlflowException

        try:
            return self._predict(model_input)
        except UserError as error:  # so that a server answers with the sentence and the status of a mistake
            raise MlflowException.invalid_parameter_value(str(error)) from None

    def _predict(self, given: pd.DataFrame | Data | Sequence[Data]) -> pd.DataFrame:
        about = self.trained.about
        if isinstance(given, Data):
            return self.trained.predict([given])
        if isinstance(given, pd.DataFrame):
            new = from_frame(given, about.reading, about.dataset, about.needs_edges, Problems("raise", skipped_by=""))
            return new.named(self.trained.predict(new.graphs))
        if isinstance(given, list | tuple) and all(isinstance(graph, Data) for graph in given):
            return self.trained.predict(given)
        raise UserError(f"give a table with one row per graph, or a list of PyG Data, not {type(given).__name__}")


def _load_pyfunc(path: str, model_config: Mapping[str, Any]) -> Predictor:
    """MLflow calls this with the folder of a model.

    model_config: `modules` are imported to register the user's own components
    """
    from gredkit.inference.saved import load_folder

    return Predictor(load_folder(path, model_config["modules"]))
