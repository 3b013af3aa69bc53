"""How to reproduce a study: what a checklist asks for, and the commands that train it again."""

from collections.abc import Iterator

import pandas as pd

from gredkit.reports.again import row_command, store_command, trial_command
from gredkit.reports.checklist import checklist
from gredkit.reports.page.html import Html, code, folded, joined, tag
from gredkit.reports.page.tables import MOST
from gredkit.reports.statistics import GROUP
from gredkit.reports.study import StudyData


def reproduce(study: StudyData, trials: pd.DataFrame) -> Html:
    """The checklist, then commands that repeat the study, one row of the results or one trial, and show the runs."""
    parts: list[Html] = [_checklist(study)] if len(trials) else []
    if study.command:
        parts += [tag("p", "The whole study, in the folder that has its gin files:"), code(study.command)]
    if len(trials):
        parts += [
            tag(
                "p",
                "One trial: each run keeps all its settings in the file config.gin. These commands fetch the file and "
                "train the trial again, in a folder of its own. If the study's command has --import, --data or "
                "--launcher, add them. The buttons in the table of trials copy the commands with the id of the run:",
            ),
            code(trial_command(study, "RUN")),
            tag("p", "One row of the results, with all its seeds:"),
            folded("The commands of all rows", *_rows_again(study, trials)),
        ]
    if store_command(study):
        said = "To see the runs, start MLflow with this command. The links on this page work while it runs:"
        parts += [tag("p", said), code(store_command(study))]
    elif study.uri:
        parts.append(tag("p", "The runs are in MLflow at ", tag("a", study.uri, href=study.uri), "."))
    return joined(parts) or tag("p", "There is nothing to reproduce yet.")


def _checklist(study: StudyData) -> Html:
    rows = (tag("div", tag("dt", asked), tag("dd", answer)) for asked, answer in checklist(study))
    return tag("dl", *rows, class_="checklist")


def _rows_again(study: StudyData, trials: pd.DataFrame) -> Iterator[Html]:
    """One folded command per row of the results; a link from the table unfolds it."""
    for nth, (group, rows) in enumerate(trials.groupby(GROUP, sort=False)):
        runs = [run for run in rows["run"].fillna("") if run]
        dataset, _, variant = group
        if nth < MOST:
            name = f"again-{nth}"
            content = code(row_command(study, runs), id=name) if runs else tag("p", "There is no run yet.", id=name)
            yield folded(f"{variant} on {dataset}", content)


def settings(study: StudyData) -> Html:
    """The gin files of the study as they were."""
    shown = [folded(name, tag("pre", text), is_open=len(study.files) == 1) for name, text in study.files.items()]
    return joined(shown) or tag("p", "MLflow has no gin files of this study.")
