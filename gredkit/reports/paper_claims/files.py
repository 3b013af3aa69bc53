"""reports/paper/: the claims as a page, as Markdown and as CSV, with the figures of the real studies."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from gredkit.reports.cells import csv_text
from gredkit.reports.page.figures import by_section
from gredkit.reports.page.html import Column, Html, joined, sortable, tag
from gredkit.reports.page.page import document
from gredkit.reports.paper_claims.evidence import Studies
from gredkit.reports.paper_claims.figures import figures
from gredkit.reports.paper_claims.judge import Judged
from gredkit.reports.paper_claims.outcome import Outcome
from gredkit.reports.tables import in_markdown
from gredkit.reports.write import PAGE, publish

QUESTION = "Does the paper hold on real data, at a small budget?"
RULES = (
    "Reproduced: every comparison that the claim needs is shown to go its way. Contradicted: the opposite is shown, on "
    "at least one dataset. Not at this budget: neither is shown; that is no evidence against the paper, whose budget "
    "is beside ours. All comparisons of a claim share an error of 5 %. Only suggested: fewer than five seeds, with "
    "which nothing is decided. docs/reports.md has the rule of each claim."
)
COLUMNS = (
    "claim",
    "sentence",
    "where",
    "paper",
    "dataset",
    "ours",
    "budget",
    "paper_budget",
    "outcome",
    "why",
    "verdict",
)
TITLES = ("", "claim", "in the paper", "its numbers", "dataset", "ours", "our budget", "the paper's", "verdict")


def frame(claims: Sequence[Judged]) -> pd.DataFrame:
    """One row per claim and dataset; `outcome` is that of the dataset, `verdict` that of the claim."""
    rows = [
        (
            one.claim.number, one.claim.sentence, one.claim.where, one.claim.published, part.where, part.ours,
            part.budget, part.paper_budget, part.verdict, part.why, one.verdict,
        )
        for one in claims
        for part in one.parts
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def write_claims(claims: Sequence[Judged], studies: Studies, folder: Path) -> list[Path]:
    """Write page, tables and figures; the page is the last of the files."""

    def make(unfinished: Path) -> list[Path]:
        files = list(figures(studies, unfinished))
        drawn = by_section([file for file in files if file.suffix == ".png"])
        texts = {
            "claims.md": markdown(claims) + "\n",
            "claims.csv": csv_text(frame(claims)),
            PAGE: _page(claims, drawn),
        }
        for name, text in texts.items():
            (unfinished / name).write_text(text, encoding="utf-8")
        return [*files, *(unfinished / name for name in texts)]

    return publish(folder, make)


def markdown(claims: Sequence[Judged]) -> str:
    """One row per claim and dataset, then why."""
    rows = [_cells(one, place, place == 0) for one in claims for place in range(len(one.parts))]
    lines = [TITLES, ("---",) * len(TITLES), *rows]
    table = [f"| {' | '.join(in_markdown(cell) for cell in line)} |" for line in lines]
    return "\n".join([f"# {QUESTION}", "", *table, "", RULES, "", *(f"- {text}" for text in reasons(claims))])


def reasons(claims: Sequence[Judged]) -> list[str]:
    """What each verdict rests on, one sentence per claim."""
    told = []
    for one in claims:
        parts = [f"{part.where}: {part.verdict}{f' ({part.why})' if part.why else ''}" for part in one.parts]
        differs = f" {one.claim.differs}" if one.claim.differs else ""
        told.append(f"Claim {one.claim.number}, {one.verdict}. {'. '.join(parts)}.{differs}")
    return told


def _cells(one: Judged, place: int, is_named: bool = True) -> tuple[str, ...]:
    """A row of the table, which names the claim or leaves that to the row above."""
    claim, part = one.claim, one.parts[place]
    about = (str(claim.number), claim.sentence, claim.where, claim.published) if is_named else ("",) * 4
    return (*about, part.where, part.ours, part.budget, part.paper_budget, part.verdict)


def _page(claims: Sequence[Judged], drawn: dict[str, Html]) -> str:
    kinds = {Outcome.REPRODUCED: "decided", Outcome.CONTRADICTED: "against"}
    answers = [
        tag("li", tag("strong", f"Claim {one.claim.number}"), " ", tag("span", one.claim.sentence), " ",
            tag("span", one.verdict, class_=f"chip {kinds.get(one.outcome, 'open')}"))
        for one in claims
    ]  # fmt: skip
    rows = [
        tag("tr", *(tag("td", cell) for cell in _cells(one, place)))
        for one in claims
        for place in range(len(one.parts))
    ]
    table = sortable([Column(title or "number") for title in TITLES], rows, "Claims")
    sections = [
        ("Claims", joined([table, tag("p", RULES, class_="notes")])),
        ("What each verdict rests on", tag("ul", *(tag("li", text) for text in reasons(claims)))),
        *drawn.items(),
    ]
    body = [
        tag("header", tag("h1", QUESTION), tag("ul", *answers, class_="answers")),
        *(tag("section", tag("h2", title), part) for title, part in sections),
    ]
    return document("Does the paper hold? gredkit", tag("main", *body))
