"""The results of a study as tables: a tidy frame, CSV, Markdown and LaTeX."""

from collections import Counter

import pandas as pd

from gredkit.reports.budget import of_trials
from gredkit.reports.cells import csv_text
from gredkit.reports.page.layout import SCORE, Cell, grid
from gredkit.reports.statistics import GROUP, TASK, counts, final, leaders, unfinished
from gredkit.reports.timing import ALONE, why_no_times

END = r" \\"
STEPS = ["steps", "paper_steps"]
EVIDENCE = ["jobs", "other_load"]  # that a trial ran alone
IN_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    **{character: f"{{{character}}}" for character in "[]*"},  # LaTeX would take them for an option of the row before
    **{"±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$"},
}
IN_MARKDOWN = {character: f"\\{character}" for character in "\\|*`<["}


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset and variant: mean and standard deviation of the test score over `n` seeds, states, costs.

    `train_mean` and `train_std` are of the score on the training graphs, where it was tracked (`fit.train_score`).
    `steps` are planned optimiser steps, and `paper_steps` those of the paper's model, on its datasets.
    `trials` counts all trials, the columns after it count them by state, and `others` names the states without a
    score in words. Costs are those of finished trials: the mean of the seconds, the largest memory. Both are
    empty unless all trials ran alone, for which `jobs` and `other_load` are the evidence. `best_holds` is true where
    the best variant is different from every other one, `not_worse` for the best and all that are not shown to be worse
    than it, on datasets on which at least one is.
    """
    trials = final(results)
    states = counts(results)
    if trials.empty:
        columns = ["larger_is_better", "mean", "std", "n", "train_mean", "train_std", "parameters", "epochs", *STEPS]
        counted = [*ALONE, *EVIDENCE, "kernels", *states.columns.drop(GROUP)]
        return pd.DataFrame(columns=[*GROUP, *columns, *counted, "others", "is_best", "best_holds", "not_worse"])
    trials[STEPS] = of_trials(trials)
    has_score = trials["score"].notna()
    for name in (*ALONE, *EVIDENCE, "train"):
        trials[name] = pd.to_numeric(trials.get(name), errors="coerce")
        trials[name] = trials[name].astype(float).where(has_score)
    if why_no_times(trials[has_score]):
        trials[list(ALONE)] = float("nan")
    trials["kernels"] = (trials["kernels"] if "kernels" in trials else pd.Series("", trials.index)).fillna("")
    frame = trials.groupby(GROUP, sort=False).agg(
        larger_is_better=("larger_is_better", "first"),
        mean=("score", "mean"),
        std=("score", "std"),
        n=("score", "count"),
        train_mean=("train", "mean"),
        train_std=("train", "std"),
        parameters=("parameters", "max"),
        epochs=("epochs", "max"),
        steps=("steps", "max"),
        paper_steps=("paper_steps", "max"),
        seconds_per_epoch=("seconds_per_epoch", "mean"),
        peak_mb=("peak_mb", "max"),
        kernels=("kernels", _kernels),
    )
    alone = trials[has_score].groupby(GROUP, sort=False)[EVIDENCE].agg(lambda known: known.max(skipna=False))
    frame = frame.join(alone).reset_index().merge(states, on=GROUP, how="left", validate="one_to_one")
    others = unfinished(states)
    frame["others"] = [
        ", ".join(f"{count} {state}" for state, count in zip(others, row, strict=True) if count)
        for row in frame[others].itertuples(index=False)
    ]
    best = frame.groupby(TASK, sort=False)["mean"].agg(["max", "min"]).reindex(pd.MultiIndex.from_frame(frame[TASK]))
    target = best["max"].where(frame["larger_is_better"].to_numpy(bool), best["min"]).to_numpy()
    frame["is_best"] = frame["mean"] == target
    leading = leaders(results)
    holding = set(leading[leading["holds"].astype(bool)][GROUP].itertuples(index=False, name=None))
    frame["best_holds"] = [group in holding for group in frame[GROUP].itertuples(index=False, name=None)]
    among = {
        (*task, name)
        for *task, leader, worse, others in leading[[*GROUP, "worse", "not_worse"]].itertuples(index=False, name=None)
        for name in (leader, *others) * bool(worse)
    }
    frame["not_worse"] = [group in among for group in frame[GROUP].itertuples(index=False, name=None)]
    return frame


def _kernels(told: pd.Series) -> str:
    """What the trials of a variant say about compiled kernels, each answer once."""
    return "; ".join(dict.fromkeys(text for text in told if text))


def csv(results: pd.DataFrame) -> str:
    """The summary frame, all digits."""
    return csv_text(summary(results))


def markdown(results: pd.DataFrame) -> str:
    """One row per variant, one column per dataset, then the costs; below it what a reader must know."""
    laid = grid(summary(results))
    if not laid.rows:
        return "\n".join(laid.notes)
    is_single = sum(group == SCORE for group, _ in laid.columns) == 1
    titles = [name if group == SCORE else group if is_single else f"{group}, {name}" for group, name in laid.columns]
    lines = [[Cell("variant"), *map(Cell, titles)], [Cell("---"), *(Cell("---:") for _ in titles)]]
    lines += [*laid.rows, *laid.published]
    table = [f"| {' | '.join(map(_in_markdown, line))} |" for line in lines]
    return "\n".join([*table, "", *laid.notes, *laid.cost_notes])


def latex(results: pd.DataFrame, caption: str = "", label: str = "") -> str:
    """The same for LaTeX with booktabs; the notes are the end of the caption."""
    laid = grid(summary(results))
    if not laid.rows:
        return "\n".join(f"% {note}" for note in laid.notes)
    spans, rules, start = [], [], 2
    for group, columns in Counter(group for group, _ in laid.columns).items():
        spans.append(f" & \\multicolumn{{{columns}}}{{c}}{{{_in_latex(Cell(group))}}}")
        rules.append(f"\\cmidrule(lr){{{start}-{start + columns - 1}}}")
        start += columns
    alignment = "".join("c" if group == SCORE else "r" for group, _ in laid.columns)
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table*}[t]",
        r"\centering",
        f"\\caption{{{_in_latex(Cell(' '.join([caption, *laid.notes, *laid.cost_notes])))}}}",
        *([f"\\label{{{label}}}"] if label else []),
        f"\\begin{{tabular}}{{l{alignment}}}",
        r"\toprule",
        "".join(spans).lstrip() + END,
        " ".join(rules),
        _latex_row([Cell("variant"), *(Cell(name) for _, name in laid.columns)]),
        r"\midrule",
        *map(_latex_row, laid.rows),
        *([r"\midrule", *map(_latex_row, laid.published)] if laid.published else []),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table*}",
    ]
    return "\n".join(lines)


def _latex_row(cells: list[Cell]) -> str:
    return " & ".join(map(_in_latex, cells)) + END


def in_markdown(text: str) -> str:
    """A text as a cell of a table."""
    return "".join(IN_MARKDOWN.get(character, character) for character in " ".join(text.split()))


def _in_markdown(cell: Cell) -> str:
    return f"**{in_markdown(cell.text)}**" if cell.bold else in_markdown(cell.text)


def _in_latex(cell: Cell) -> str:
    text = "".join(IN_LATEX.get(character, character) for character in " ".join(cell.text.split()))
    return f"\\textbf{{{text}}}" if cell.bold else text
