"""The page of a study: one HTML file that needs no network, with the answer first."""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import pandas as pd

from gredkit.reports.figures.base import ANSWER, RESULTS, SECTIONS
from gredkit.reports.numbers import several
from gredkit.reports.page.again import reproduce, settings
from gredkit.reports.page.figures import by_section
from gredkit.reports.page.first import first_screen
from gredkit.reports.page.html import Html, folded, joined, tag
from gredkit.reports.page.tables import link, scores, trials
from gredkit.reports.statistics import GROUP, comparisons, final
from gredkit.reports.study import StudyData
from gredkit.reports.summary import TOLD, sentences
from gredkit.reports.tables import summary

FINDINGS = 40  # sentences that are seen without a second click
MESSAGE = 1000  # letters of an error


def page(study: StudyData, figures: Sequence[Path], more: Mapping[str, Html] | None = None) -> str:
    """The whole page; `figures` are PNG files, each with a PDF of the same name beside the page.

    more: further sections, which follow the results
    """
    compared, summarised, final_trials = comparisons(study.results), summary(study.results), final(study.results)
    drawn = by_section(figures)
    answer = drawn.pop(ANSWER, Html())
    parts = [
        (RESULTS, joined([scores(summarised, compared), drawn.pop(RESULTS, Html())])),
        *(more or {}).items(),
        *_in_order(drawn),
        ("Findings", _findings(sentences(study.results, compared))),
        ("Missing or failed", _lost(study, final_trials)),
        ("Trials", trials(study, final_trials)),
        ("Reproduce", reproduce(study, final_trials)),
        ("Settings", settings(study)),
    ]
    names = _names([title for title, _ in parts])
    body = [
        first_screen(study, compared, final_trials, answer),
        tag("nav", *(tag("a", title, href=f"#{names[title]}") for title, _ in parts), aria_label="Sections"),
        *(tag("section", tag("h2", title), part, id=names[title]) for title, part in parts),
    ]
    return document(f"{study.name}: a study of gredkit", tag("main", *body))


def _in_order(drawn: dict[str, Html]) -> Iterator[tuple[str, Html]]:
    """The sections that have figures: those of gredkit first, then others in the order of their figures."""
    for title in dict.fromkeys((*SECTIONS, *drawn)):
        if title in drawn:
            yield title, drawn[title]


def _names(titles: Sequence[str]) -> dict[str, str]:
    """What a link to each section is called."""
    plain = {title: re.sub(r"\W+", "-", title.lower(), flags=re.ASCII).strip("-") for title in titles}
    unique = len(set(plain.values()) - {""}) == len(plain)
    return plain if unique else {title: f"section-{place}" for place, title in enumerate(titles)}


def document(title: str, body: Html) -> str:
    """A whole page, with a policy that loads nothing from elsewhere and runs only this script."""
    style, script = (
        files("gredkit.reports.page").joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")
    )
    policy = f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(style)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body, tag('script', Html(script))), lang='en')}\n"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _findings(said: list[str]) -> Html:
    """All that can be said in sentences, folded away: the answer and the tables say most of it."""
    seen, rest = said[:FINDINGS], said[FINDINGS:]
    more = folded(f"{several(len(rest), 'more sentence')}", tag("ul", *(tag("li", text) for text in rest)))
    told = joined([tag("ul", *(tag("li", text) for text in seen)), *([more] if rest else [])])
    return folded(f"The study in {several(len(said), 'sentence')}", told)


def _lost(study: StudyData, trials: pd.DataFrame) -> Html:
    """The trials without a score and why, those with the same reason together."""
    lost = trials[trials["score"].isna()].fillna({"message": "", "run": ""})
    if lost.empty:
        return tag("p", "Nothing: every trial has a score." if len(trials) else "There are no trials yet.")
    fates = lost.groupby([*GROUP, "state", "message"], sort=False)
    return tag("ul", *(tag("li", _fate(study, fate, rows)) for fate, rows in fates))


def _fate(study: StudyData, fate: tuple[str, ...], rows: pd.DataFrame) -> Html:
    """One sentence about trials that ended in the same way."""
    dataset, _, variant, state, message = fate
    text = f"{several(len(rows), 'trial')} of {variant} on {dataset} {TOLD.get(state, (state, state))[len(rows) > 1]}"
    seeds = [link(study, run, str(seed)) for seed, run in zip(rows["seed"], rows["run"], strict=True)]
    said = f": “{message[:MESSAGE]}{'…' if len(message) > MESSAGE else ''}”" if message else "."
    return joined([text, " (seed " if len(rows) == 1 else " (seeds ", joined(seeds, ", "), ")", said])
