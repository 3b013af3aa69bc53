"""The page of a study: one HTML file that needs no network."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import pandas as pd
from PIL import Image

from gredkit.reports.again import row_command, store_command, trial_command
from gredkit.reports.numbers import several
from gredkit.reports.page.html import Html, code, folded, joined, tag
from gredkit.reports.page.tables import MOST, link, scores, trials
from gredkit.reports.statistics import GROUP, comparisons, final
from gredkit.reports.study import StudyData
from gredkit.reports.summary import TOLD, sentences
from gredkit.reports.tables import summary

FINDINGS = 40  # sentences that are seen without a click
MESSAGE = 1000  # letters of an error
SHARPNESS = 2  # pixels of a figure for one of the page


def page(study: StudyData, figures: Sequence[Path]) -> str:
    """The whole page; `figures` are PNG files, each with a PDF of the same name beside the page."""
    compared, summarised, final_trials = comparisons(study.results), summary(study.results), final(study.results)
    parts = {
        "Findings": _findings(sentences(study.results, compared)),
        "Results": scores(summarised, compared),
        "Figures": joined(map(_figure, figures)) or tag("p", "There are no figures yet."),
        "Missing or failed": _lost(study, final_trials),
        "Trials": trials(study, final_trials),
        "Reproduce": _again(study, final_trials),
        "Settings": _settings(study),
    }
    names = {title: title.lower().replace(" ", "-") for title in parts}
    body = [
        tag("header", tag("h1", study.name), tag("p", _about(study, final_trials), class_="about")),
        tag("nav", *(tag("a", title, href=f"#{name}") for title, name in names.items()), aria_label="Sections"),
        *(tag("section", tag("h2", title), part, id=names[title]) for title, part in parts.items()),
    ]
    return _document(study.name, tag("main", *body))


def _document(title: str, body: Html) -> str:
    """The document, with a policy that loads nothing from elsewhere and runs only this script."""
    style, script = (
        files("gredkit.reports.page").joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")
    )
    policy = f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title}: a study of gredkit"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(style)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body, tag('script', Html(script))), lang='en')}\n"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _about(study: StudyData, trials: pd.DataFrame) -> Html:
    """One line: how many trials, in which states, when, from which code, by which command."""
    states = ", ".join(f"{count} {state}" for state, count in trials["state"].value_counts(sort=False).items())
    parts: list[object] = [f"{several(len(trials), 'trial')}{': ' if states else ''}{states}"]
    if "ended" in trials and trials["ended"].notna().any():
        parts.append(f"last one ended {trials['ended'].max():%Y-%m-%d %H:%M} UTC")
    if study.commit not in ("", "none"):  # "none": the run was started outside of git
        parts.append(joined(["commit ", tag("code", study.commit[:12])]))
    if study.command:
        parts.append(tag("code", study.command))
    return joined(parts, " · ")


def _findings(said: list[str]) -> Html:
    seen, rest = said[:FINDINGS], said[FINDINGS:]
    more = folded(f"{several(len(rest), 'more sentence')}", tag("ul", *(tag("li", text) for text in rest)))
    return joined([tag("ul", *(tag("li", text) for text in seen)), *([more] if rest else [])])


def _figure(png: Path) -> Html:
    """A picture with the title and caption that its file carries; the size is known before the page is laid out."""
    with Image.open(png) as image:
        width, height = (pixels // SHARPNESS for pixels in image.size)
        title = image.info.get("Title") or png.stem.replace("_", " ")
        text = image.info.get("Description", "")
    source = f"data:image/png;base64,{base64.b64encode(png.read_bytes()).decode()}"
    pdf = tag("a", "PDF", href=quote(f"{png.stem}.pdf"))
    return tag(
        "figure",
        tag("img", src=source, alt=f"Figure: {title}", width=width, height=height),
        tag("figcaption", tag("strong", f"{title}."), f" {text} ", pdf),
        id=f"figure-{png.stem}",
    )


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


def _again(study: StudyData, trials: pd.DataFrame) -> Html:
    """Commands that repeat the study, one row of the results or one trial, and that show the runs."""
    parts: list[Html] = []
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
            *_rows_again(study, trials),
        ]
    if store_command(study):
        said = "To see the runs, start MLflow with this command. The links on this page work while it runs:"
        parts += [tag("p", said), code(store_command(study))]
    elif study.uri:
        parts.append(tag("p", "The runs are in MLflow at ", tag("a", study.uri, href=study.uri), "."))
    return joined(parts) or tag("p", "There is nothing to reproduce yet.")


def _rows_again(study: StudyData, trials: pd.DataFrame) -> Iterator[Html]:
    """One folded command per row of the results; a link from the table unfolds it."""
    for nth, (group, rows) in enumerate(trials.groupby(GROUP, sort=False)):
        runs = [run for run in rows["run"].fillna("") if run]
        dataset, _, variant = group
        if nth < MOST:
            name = f"again-{nth}"
            content = code(row_command(study, runs), id=name) if runs else tag("p", "There is no run yet.", id=name)
            yield folded(f"{variant} on {dataset}", content)


def _settings(study: StudyData) -> Html:
    """The gin files of the study as they were."""
    shown = [folded(name, tag("pre", text), is_open=len(study.files) == 1) for name, text in study.files.items()]
    return joined(shown) or tag("p", "MLflow has no gin files of this study.")
