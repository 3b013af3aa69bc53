"""What README, docs and gin headers copy from reports and registries: python tests/quoted.py --write

In a page, a block from `<!-- results of STUDY -->` to `<!-- end of results -->` has the table and the findings of
reports/STUDY. One from `<!-- components of KIND -->` to `<!-- end of components -->` lists what a kind has.
In a gin header the scores of a variant, on the dataset that the file is named after, are quoted as
`0.936 ± 0.010 (reports/STUDY, VARIANT)`. Without --write it only says which files are stale.
"""

import re
import sys
import textwrap
from functools import cache
from pathlib import Path

import pandas as pd

from gredkit.config.configuration import SETTINGS
from gredkit.registry import REGISTRIES, Component, describe, hyperparameters
from gredkit.reports.numbers import decimals, mean_and_spread, several
from gredkit.reports.page.layout import grid
from gredkit.reports.power import SAID, about
from gredkit.reports.question import some_of
from gredkit.reports.statistics import comparisons
from gredkit.reports.summary import sentences
from gredkit.reports.tables import summary
from gredkit.reports.verdicts import Verdict

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
HEADERS = sorted(path for top in ("gin", "ablations") for path in (ROOT / top).rglob("*.gin"))
BLOCK = re.compile(r"(<!-- results of (\w+) -->\n).*?(<!-- end of results -->)", re.DOTALL)
COMPONENTS = re.compile(r"(<!-- components of (\w+) -->\n).*?(<!-- end of components -->)", re.DOTALL)
QUOTE = re.compile(r"[\d.]+(?: ± [\d.]+)? \(reports/(\w+), ([\w=]+)")
WIDTH = 120
NEAREST = 3  # open comparisons that are named
CLAIMS = (" has the best mean on ", " beats ", " are equivalent on ", " suggest it, ", " is the only variant ")


@cache
def results(study: str) -> pd.DataFrame:
    """The trials of a committed report."""
    return pd.read_parquet(ROOT / "reports" / study / "results.parquet")


def block(study: str) -> str:
    """A table with one row per variant, what must be known to read it, and the findings as the report has them."""
    trials = results(study)
    found, compared = summary(trials), comparisons(trials)
    laid = grid(found)
    scores = sum(group == "test score" for group, _ in laid.columns)
    axes = [name for name in trials if name.startswith("axis:")]
    axis = axes[0].removeprefix("axis:").rpartition(".")[2] if len(axes) == 1 else "variant"
    titles = [axis, *(name for _, name in laid.columns[:scores]), "parameters"]
    lines = [titles, ["---"] * len(titles)]
    for cells in laid.rows:
        parameters = found.loc[found["variant"] == cells[0].text, "parameters"].astype(int)
        span = sorted({f"{parameters.min():,}", f"{parameters.max():,}"}, key=lambda text: (len(text), text))
        texts = [f"**{cell.text}**" if cell.bold else cell.text for cell in cells[: scores + 1]]
        lines.append([*texts, " to ".join(span)])
    said = sentences(trials, compared)
    claims = [sentence for sentence in said if any(words in sentence for words in CLAIMS)]
    rest = _open(compared)
    return "\n".join(
        [
            *(f"| {' | '.join(line)} |" for line in lines),
            "",
            *textwrap.wrap(" ".join(laid.notes), WIDTH),
            "",
            *(line for claim in [*claims, *([rest] if rest else [])] for line in _bullet(claim)),
            "",
        ]
    )


def _open(compared: pd.DataFrame) -> str:
    """How many comparisons are open, which of them the fewest seeds would decide, and how many need very many."""
    rows = compared[compared["verdict"] == Verdict.OPEN]
    if rows.empty:
        return ""
    count = f"Open: {len(rows)} of {several(len(compared), 'comparison')} with {compared['base'].iloc[0]}."
    needed = rows["seeds_needed"]
    near = rows[needed <= SAID].sort_values("seeds_needed", kind="stable").head(NEAREST)
    if near.empty:
        return count
    told = [f"{row.variant} on {row.dataset} ({about(row.seeds_needed)})" for row in near.itertuples()]
    far = int((needed > SAID).sum())
    more = f" More than {SAID} seeds would be needed for {far} of them." if far else ""
    return f"{count} The fewest seeds would decide {some_of(told, NEAREST)}.{more}"


def _bullet(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def listed(kind: str) -> str:
    """A table of what gredkit itself registers of a kind: one row per component, with parameters and defaults."""
    known = SETTINGS if kind == "settings" else REGISTRIES[kind]
    rows = [
        [f"`{name}`", describe(component), _parameters(component)]
        for name, component in known.items()
        if component.__module__.startswith("gredkit.")  # not what a test has registered
    ]
    lines = [["name", "description", "parameters"], ["---"] * 3, *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _parameters(component: Component) -> str:
    return ", ".join(f"`{key}={value!r}`" for key, value in hyperparameters(component).items())


def quote(study: str, variant: str, dataset: str) -> str:
    """The score of a variant."""
    found = summary(results(study)).set_index(["dataset", "variant"]).loc[(dataset, variant)]
    digits = decimals(summary(results(study)).query("dataset == @dataset")["std"])
    return f"{mean_and_spread(found['mean'], found['std'], digits)} (reports/{study}, {variant}"


def renewed(path: Path) -> str:
    """The text of a file with what its quotations should say."""
    text = path.read_text()
    if path.suffix == ".md":
        text = COMPONENTS.sub(lambda found: f"{found[1]}{listed(found[2])}{found[3]}", text)
        return BLOCK.sub(lambda found: f"{found[1]}{block(found[2])}{found[3]}", text)
    return QUOTE.sub(lambda found: quote(found[1], found[2], path.stem), text)


def stale() -> dict[Path, str]:
    """The files that quote something else than the reports have, with the text that they should have."""
    return {path: new for path in (*PAGES, *HEADERS) if (new := renewed(path)) != path.read_text()}


if __name__ == "__main__":
    for path, text in stale().items():
        print(path.relative_to(ROOT))
        if "--write" in sys.argv:
            path.write_text(text)
