"""How a table is laid out before it is written: one row per variant, one column per dataset, then the costs."""

from dataclasses import dataclass

import pandas as pd

from gredkit.reports.budget import compared
from gredkit.reports.numbers import DOWN, NOTHING, UP, decimals, mean_and_spread, metric_name, several, significant
from gredkit.reports.published import OURS, in_words, known_models, plain_name, reference
from gredkit.reports.statistics import TASK
from gredkit.reports.timing import ALONE, why_no_times, with_kernels
from gredkit.reports.verdicts import FEWEST

TIME = "seconds_per_epoch"
COSTS = {"parameters": "parameters", TIME: "seconds per epoch", "peak_mb": "peak memory (MB)"}
SCORE, TRAIN = "test score", "training score"
PUBLISHED = "published"


@dataclass(frozen=True)
class Cell:
    """A text, and whether it stands out."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Grid:
    """`columns` are pairs of a group and a name; each row begins with the name of the variant."""

    columns: list[tuple[str, str]]
    rows: list[list[Cell]]
    published: list[list[Cell]]  # one row per model of which values are published
    notes: list[str]  # what a reader of the scores must know
    cost_notes: list[str]  # what a reader of the costs must know


def grid(summary: pd.DataFrame) -> Grid:
    """The cells of a summary frame."""
    tasks = {task: here.set_index("variant") for task, here in summary.groupby(TASK, sort=False)}
    usual = _usual_seeds(summary)
    columns: list[tuple[str, str]] = []
    cells: list[dict[str, Cell]] = []  # of each column, by variant
    for (dataset, metric), here in tasks.items():
        digits, arrow = decimals(here["std"]), UP if here["larger_is_better"].iloc[0] else DOWN
        columns.append((SCORE, f"{dataset} ({metric_name(metric)} {arrow})"))
        cells.append({variant: _score(row, digits, usual) for variant, row in here.iterrows()})
    if summary["train_mean"].notna().any():
        for (dataset, metric), here in tasks.items():
            columns.append((TRAIN, f"{dataset} ({metric_name(metric)})"))
            cells.append({variant: _train(row, decimals(here["train_std"])) for variant, row in here.iterrows()})
    for cost, title in costs(summary).items():
        for (dataset, _), here in tasks.items():
            columns.append((title, dataset))
            cells.append({variant: Cell(_cost(value, cost)) for variant, value in here[cost].items()})
    known = {model: told for model in published_models(summary) if any(told := _published(model, list(tasks)))}
    return Grid(
        columns=columns,
        rows=[
            [Cell(str(variant)), *(column.get(variant, Cell("")) for column in cells)]
            for variant in summary["variant"].unique()
        ],
        published=[
            [Cell(f"{model}, {PUBLISHED}"), *(Cell(text) for text in texts), *[Cell("")] * (len(columns) - len(texts))]
            for model, texts in known.items()
        ],
        notes=[*_notes(summary, usual), *_about_published(summary, list(known))],
        cost_notes=_cost_notes(summary),
    )


def costs(summary: pd.DataFrame) -> dict[str, str]:
    """The costs that are shown, with their titles: times and memory only if all trials ran alone."""
    left_out = ALONE if why_no_times(summary[summary["n"] > 0]) else ()
    return {cost: title for cost, title in COSTS.items() if cost not in left_out}


def _cost_notes(summary: pd.DataFrame) -> list[str]:
    """Why there are no times and no memory, or which variants were faster because of compiled kernels."""
    scored = summary[summary["n"] > 0]
    note = why_no_times(scored) or with_kernels(scored)
    return [note] if note else []


def _score(row: pd.Series, digits: int, usual: int) -> Cell:
    """Mean and spread; in brackets what differs from the other cells."""
    seeds = [f"n = {row['n']}"] if row["n"] not in (0, usual) else []
    remarks = ", ".join([*seeds, *([row["others"]] if row["others"] else [])])
    text = mean_and_spread(row["mean"], row["std"], digits)
    return Cell(f"{text} ({remarks})" if remarks else text, bool(row["not_worse"]))


def _train(row: pd.Series, digits: int) -> Cell:
    return Cell(mean_and_spread(row["train_mean"], row["train_std"], digits))


def _cost(value: float, cost: str) -> str:
    if pd.isna(value):
        return NOTHING
    return significant(value) if cost == TIME else f"{value:,.0f}"


def published_models(summary: pd.DataFrame) -> list[str]:
    """The paper's own model, then the variants that are named after a published model."""
    known = known_models() - {plain_name(OURS)}
    return [OURS, *(str(name) for name in summary["variant"].unique() if plain_name(str(name)) in known)]


def _published(model: str, tasks: list[tuple[str, str]]) -> list[str]:
    """What is published for a model, one text per task."""
    found = [reference(dataset, metric, model) for dataset, metric in tasks]
    return [f"{known.score} ({known.budget})" if known else "" for known in found]


def _about_published(summary: pd.DataFrame, models: list[str]) -> list[str]:
    """On which terms published values stand beside ours."""
    notes = []
    if OURS in models:
        notes.append(
            f"{OURS}, {PUBLISHED}: from the paper, after the epochs in brackets, so not a comparison on equal terms."
        )
    if others := [model for model in models if model != OURS]:
        notes.append(f"Published values of {', '.join(others)}: in brackets the number of parameters behind them.")
    for (dataset, metric), here in summary.groupby(TASK, sort=False):
        sizes = here.set_index("variant")["parameters"]
        for model in models:
            ours = [float(size) for name, size in sizes.items() if plain_name(str(name)) == plain_name(model)]
            size = ours[0] if ours else float(sizes.iloc[0])
            known = reference(dataset, metric, model)
            if known and known.differs_from(size) and (ours or model == OURS):
                notes.append(
                    f"On {dataset} the published {known.model} has {in_words(known.parameters or 0)} parameters, "
                    f"the model here {size:,.0f}: not the same budget."
                )
    return notes


def _usual_seeds(summary: pd.DataFrame) -> int:
    """The number of seeds that most cells have; of two such numbers the larger."""
    seeds = summary["n"][summary["n"] > 0]
    return int(seeds.mode().max()) if len(seeds) else 0


def _notes(summary: pd.DataFrame, usual: int) -> list[str]:
    """What a reader of the cells must know."""
    if not usual:
        return ["No trial has finished yet." if len(summary) else "There are no trials yet."]
    rest = ", unless the cell says otherwise" if (summary["n"] != usual).any() else ""
    over = f"mean ± standard deviation over {usual} seeds" if usual > 1 else "one seed, so no spread is known"
    notes = [f"Test score: {over}{rest}."]
    if summary["train_mean"].notna().any():
        notes.append("Training score: that of the tested model on its training graphs.")
    notes += _about_bold(summary)
    notes.append(f"Trained for {_epochs(summary)}.")
    notes += _steps(summary)
    return notes


def _steps(summary: pd.DataFrame) -> list[str]:
    """The budget beside the paper's, on datasets of the paper and on parts of them."""
    known = summary.dropna(subset=["steps", "paper_steps"]).groupby("dataset", sort=False)
    told = [
        compared(str(dataset), rows["steps"].min(), rows["steps"].max(), rows["paper_steps"].max())
        for dataset, rows in known
    ]
    return [f"Budget: {'; '.join(told)}."] if told else []


def _about_bold(summary: pd.DataFrame) -> list[str]:
    """Why a cell is bold, or none is."""
    if (summary.groupby(TASK)["mean"].count() < 2).all():
        return []  # nothing to compare
    if summary["not_worse"].any():
        only = "" if (summary.groupby(TASK)["not_worse"].any()).all() else ", where at least one variant is"
        return [f"Bold: the best mean, and all that are not shown to be worse (t tests, corrected){only}."]
    if (summary[summary["n"] >= FEWEST].groupby(TASK).size() < 2).all():
        return [f"Nothing is bold: with fewer than {FEWEST} seeds nothing is decided."]
    return ["Nothing is bold: no variant is shown to be worse than the one with the best mean (t tests, corrected)."]


def _epochs(summary: pd.DataFrame) -> str:
    """The training budgets, once if all are equal."""
    spans = summary.groupby("dataset", sort=False)["epochs"].agg(["min", "max"]).dropna().astype(int)
    texts = {name: several(a, "epoch") if a == b else f"{a} to {b} epochs" for name, a, b in spans.itertuples()}
    same = set(texts.values())
    return same.pop() if len(same) == 1 else ", ".join(f"{text} ({name})" for name, text in texts.items())
