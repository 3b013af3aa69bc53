"""The first screen of the page: the question, the answer, one figure, and what the answer rests on."""

import pandas as pd

from gredkit.reports.answer import Answer, answers
from gredkit.reports.numbers import several
from gredkit.reports.page.html import Html, folded, joined, tag
from gredkit.reports.question import question
from gredkit.reports.study import StudyData

MOST = 8  # datasets whose answers are seen without a click


def first_screen(study: StudyData, compared: pd.DataFrame, trials: pd.DataFrame, figure: Html) -> Html:
    """`figure` shows the differences; it is empty if there is nothing to compare."""
    found = answers(study.results, compared) if len(trials) else []
    told = [_answer(answer) for answer in found]
    more = folded(f"{len(told) - MOST} more datasets", tag("ul", *told[MOST:], class_="answers"))
    return tag(
        "header",
        tag("p", "Study ", tag("b", study.name), class_="name"),
        tag("h1", question(study) or study.name),
        tag("ul", *told[:MOST], class_="answers") if told else "",
        more if len(told) > MOST else "",
        figure,
        tag("p", _basis(trials), class_="basis"),
        tag("p", _about(study, trials), class_="about"),
    )


def _answer(answer: Answer) -> Html:
    """A dataset, its sentence, and how far it is decided."""
    state = f"{answer.decided} of {answer.comparisons} decided"
    kind = "decided" if answer.decided == answer.comparisons else "open"
    chip = [tag("span", state, class_=f"chip {kind}")] if answer.comparisons else []
    return tag("li", tag("strong", answer.dataset), " ", tag("span", answer.sentence), " ", *chip)


def _basis(trials: pd.DataFrame) -> str:
    """How many trials and seeds the answer rests on."""
    if trials.empty:
        return "There are no trials yet."
    states = ", ".join(f"{count} {state}" for state, count in trials["state"].value_counts(sort=False).items())
    groups = trials.groupby(["dataset", "variant"])["score"].count()
    low, high = int(groups.min()), int(groups.max())
    seeds = f"{low} to {high} seeds" if low != high else several(low, "seed")
    sizes = [several(trials[name].nunique(), name) for name in ("variant", "dataset")]
    return (
        f"Rests on {several(len(trials), 'trial')} ({states}): {sizes[0]} on {sizes[1]}, with scores of {seeds} each."
    )


def _about(study: StudyData, trials: pd.DataFrame) -> Html:
    """One line: when the last trial ended, from which code, by which command."""
    parts: list[object] = []
    if "ended" in trials and trials["ended"].notna().any():
        parts.append(f"last trial ended {trials['ended'].max():%Y-%m-%d %H:%M} UTC")
    if study.commit not in ("", "none"):  # "none": the run was started outside of git
        parts.append(joined(["commit ", tag("code", study.commit[:12])]))
    if study.command:
        parts.append(tag("code", study.command))
    return joined(parts, " · ")
