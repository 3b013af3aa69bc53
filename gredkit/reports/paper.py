"""What of the paper has been run here, at which budget, beside the published numbers."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

import pandas as pd

from gredkit.registry import MODELS
from gredkit.reports.budget import GRAPHS, steps
from gredkit.reports.numbers import NOTHING, mean_and_spread, significant
from gredkit.reports.published import OURS, hyperparameters, in_words, plain_name, sizes_differ, tables
from gredkit.reports.question import listed
from gredkit.tracking.runs import Known
from gredkit.trials.state import TrialState

FILES = {  # by the label of a table: what trains it
    "tab:accuracy": ("accuracy",),
    "tab:zinc": ("zinc",),
    "tab:lrgb": ("peptides_func", "peptides_struct"),
    "tab:speed": ("efficiency",),
    "tab:tree_neighbor_match": ("trees",),
    "tab:tud": ("tud",),
}
OF_FIGURES = ("cifar10", "zinc", "peptides_func")
FIGURES = {  # of the paper, without printed numbers: what trains it, the setting that it shows, its datasets
    "Learned (complex) eigenvalues": ("flavours", "encoders.lru.eigenvalues", ("cifar10", "peptides_func")),
    "Effect of K on performance": ("k", "K", OF_FIGURES),
    "RNNs of different flavors": ("flavours", "encoder", OF_FIGURES),
}
SCORES = {"seconds_per_epoch": "s", "memory_gb": "GB"}  # other metrics than scores, with their unit
POSITIONS = ("lap_pe", "rwse")  # one of these is in the models that the paper marks with a star
# What tells the baselines of the paper's tables from later models of the same name here, such as GCN+, GIN+, GatedGCN+
# and the re-tuned GPS; what a run does not tell is taken to be so.
CLASSICAL = {
    "gcn": {"norm": "batch", "residual": "True", "ffn": "False"},
    "gat": {"norm": "batch", "residual": "True", "ffn": "False"},
    "gin": {"norm": "batch", "residual": "True", "ffn": "False"},
    "gatedgcn": {"norm": "batch", "residual": "True", "ffn": "False"},
    "gps": {"act": "relu"},
}
RETUNED = {  # those with a star, of table 3
    "gcn": {"norm": "none", "act": "gelu", "residual": "True", "ffn": "False"},
    "gin": {"norm": "none", "mlp_act": "gelu", "residual": "True", "ffn": "False"},
    "gatedgcn": {"norm": "batch", "act": "gelu", "residual": "True", "ffn": "False"},
}
PAPERS_OWN = {"encoder": "lru", "aggregator": "sum", "sequence": "hops"}  # parts of the paper's model


@dataclass(frozen=True)
class Row:
    """A number of the paper and what was run here; empty texts if nothing was."""

    dataset: str
    model: str
    published: str
    its_size: str  # parameters of the published model
    here: str = ""
    size: str = ""  # parameters of the model here
    epochs: str = ""
    runs: str = ""
    steps: str = ""
    of_paper: int | None = None  # parameters as a number, of the published model
    of_runs: int | None = None  # and of the model here

    def cells(self) -> list[str]:
        """All but the dataset, which stands above the table."""
        return [text or NOTHING for text in list(vars(self).values())[1 : len(TITLES) + 1]]


TITLES = ("model", "published", "size", "here", "size", "epochs", "runs", "steps")


def paper_tables(trials: Iterable[Known]) -> Iterator[tuple[str, str, list[Row]]]:
    """Label, title and rows of each table with scores: one row per number of a model that gredkit has."""
    finished = [trial for trial in trials if trial.state == TrialState.FINISHED and trial.tags.get("role") == "final"]
    for label, title, values in tables():
        rows = [_row(value, finished) for value in values.to_dict("records") if _name(value["model"]) in MODELS]
        if rows:
            yield label, title, rows


def paper_figures(trials: Iterable[Known]) -> Iterator[tuple[str, str, str]]:
    """Title, study and what was run of the figures that have no printed numbers."""
    finished = [trial for trial in trials if trial.state == TrialState.FINISHED]
    for title, (study, setting, datasets) in FIGURES.items():
        told = []
        for dataset in datasets:
            runs = [trial.params for trial in finished if _is(trial.params, dataset, OURS)]
            found = dict.fromkeys(run[setting] for run in runs if setting in run)
            told.append(f"{dataset} {', '.join(found) or NOTHING}")
        yield title, study, "; ".join(told)


def other_budgets(rows: Sequence[Row]) -> Iterator[str]:
    """Where models of quite another size stand side by side: in the paper's own table, and those here beside them."""
    for dataset in dict.fromkeys(row.dataset for row in rows):
        of_dataset = [row for row in rows if row.dataset == dataset]
        ours = next((row.of_paper for row in of_dataset if row.model == OURS and row.of_paper), None)
        sizes: dict[str, list[str]] = {}
        for row in of_dataset:
            if ours and row.of_paper and sizes_differ(ours, row.of_paper) and row.model != OURS:
                sizes.setdefault(in_words(row.of_paper), []).append(row.model)
        for size, models in sizes.items():
            yield (
                f"On {dataset} the published {OURS} has {in_words(ours or 0)} parameters, the published "
                f"{listed(list(dict.fromkeys(models)), 'models', len(models))} {size}: not the same budget."
            )
        here = {(row.model, row.of_paper, row.of_runs) for row in of_dataset if row.of_paper and row.of_runs}
        for model, published, runs in sorted(here):
            if sizes_differ(published, runs):
                yield (
                    f"On {dataset} the published {model} has {in_words(published)} parameters, the model here "
                    f"{runs:,}: not the same budget."
                )


def missing_models() -> list[str]:
    """Models of the paper's tables that are published numbers only."""
    names = dict.fromkeys(model for _, _, values in tables() for model in values["model"])
    return [name for name in names if _name(name) not in MODELS]


def _row(value: Mapping[str, Any], trials: Sequence[Known]) -> Row:
    """The number, and the runs here that are nearest to it: most epochs, then most runs."""
    dataset, model, metric = value["dataset"], value["model"], value["metric"]
    depth = None if pd.isna(value.get("depth")) else int(value["depth"])
    name = model if depth is None else f"{model} r={depth}"
    unit = SCORES.get(metric, "")
    digits = 2 if unit else 4
    size = value["parameters"]
    row = Row(
        dataset,
        name,
        f"{value['mean']:g} {unit}" if unit else _score(value, digits),
        "" if pd.isna(size) else in_thousands(int(size)),
        of_paper=None if pd.isna(size) else int(size),
    )
    groups: dict[str, list[Known]] = {}
    for trial in trials:
        fits = _is(trial.params, dataset, model) and (depth is None or _depth(trial.params) == depth)
        if fits and _measured(trial, metric) is not None:
            groups.setdefault(_budget(trial.params), []).append(trial)
    if not groups:
        return row
    runs = max(groups.values(), key=lambda some: (_epochs(some[0]), len(some)))
    scores = [score for trial in runs if (score := _measured(trial, metric)) is not None]
    spread = stdev(scores) if len(scores) > 1 else float("nan")
    here = mean_and_spread(fmean(scores), spread, digits)
    first = runs[0]
    if unit:
        here = f"{significant(fmean(scores))} {unit} ({first.tags.get('device', '?')})"
    graphs, batch = GRAPHS.get(dataset, 0), int(first.params.get("fit.batch_size", 1))
    parameters = int(first.params.get("parameters", 0))
    return replace(
        row,
        here=here,
        size=in_thousands(parameters),
        of_runs=parameters,
        epochs=str(_epochs(first)),
        runs=str(len(runs)),
        steps=in_thousands(steps(graphs, batch, _epochs(first))) if graphs else "",
    )


def in_thousands(number: int) -> str:
    """`535k`; small numbers as they are."""
    return str(number) if number < 1000 else f"{number / 1000:,.0f}k"


def _name(model: str) -> str:
    """The name in the registry of a model of the paper's tables."""
    return plain_name(model).removesuffix("+lappe")


def _is(params: Mapping[str, str], dataset: str, model: str) -> bool:
    """Whether a trial is of a model on a dataset; GRED is only what has the paper's parts and hyper-parameters."""
    if params.get("dataset") != dataset or params.get("model") != _name(model):
        return False
    if _name(model) == plain_name(OURS):
        settings = hyperparameters(dataset)
        wanted = {key: str(value) for key, value in settings.items() if key in ("layers", "dim")}
    else:
        wanted = (RETUNED if model.endswith("*") else CLASSICAL).get(_name(model), {})
    own = {f"models.{_name(model)}.{key}": value for key, value in wanted.items()}
    return _has_its_inputs(params, model) and all(params.get(key, value) == value for key, value in own.items())


def _has_its_inputs(params: Mapping[str, str], model: str) -> bool:
    """Whether a trial reads the positional encodings and features of edges that a model of the paper reads."""
    positional = params.get("positional", "none")
    if model.endswith("*"):
        edges = params.get("edge_features", "None") != "None"
        return positional in POSITIONS and edges != (_name(model) == "gcn")
    if model.endswith("+LapPE"):
        return positional == "lap_pe"
    edges_are_its_own = _name(model) not in ("gcn", "gin") or params.get("edge_features", "None") == "None"
    return edges_are_its_own and (positional == "none" or _name(model) == "gps")


def _measured(trial: Known, metric: str) -> float | None:
    """What the paper's metric is called here; a score needs the paper's own model to be complete."""
    metrics, params = trial.metrics, trial.params
    if metric == "seconds_per_epoch":
        seconds = metrics.get("cost/seconds")
        return seconds / _epochs(trial) if seconds is not None and trial.tags.get("jobs") == "1" else None
    if metric == "memory_gb":
        return metrics["cost/peak_mb"] / 1000 if "cost/peak_mb" in metrics else None
    if params.get("model") == plain_name(OURS):
        hops = hyperparameters(params["dataset"]).get("K", params.get("K"))
        wanted = {**PAPERS_OWN, "K": "dataset" if hops is None else str(hops)}
        if any(params.get(key, value) != value for key, value in wanted.items()):
            return None
    if metric == "training_accuracy":
        return metrics.get("best/train")
    return metrics.get("best/test") if params.get("metric") == metric else None


def _budget(params: Mapping[str, str]) -> str:
    """All settings but seed and fold, and what follows from them: runs that have them in common are averaged."""
    own = ("seed", "variant", "last_hop", "notes.")
    return json.dumps(sorted(item for item in params.items() if not item[0].startswith(own) and ".fold" not in item[0]))


def _epochs(trial: Known) -> int:
    return int(trial.metrics.get("final/epoch", -1)) + 1


def _depth(params: Mapping[str, str]) -> int:
    return int(params.get("datasets.tree_match.depth", 0))


def _score(value: Mapping[str, Any], digits: int) -> str:
    spread = value.get("std")
    return mean_and_spread(value["mean"], float("nan") if spread is None else spread, digits)
