"""Every link and picture of README, docs and the pages beside them leads to a file, and to a heading in it."""

import re
from pathlib import Path

import pytest
from helpers.commands import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")), ROOT / "docs/tutorial.ipynb"]
FENCED = re.compile(r"```.*?```", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The headings of a page, as GitHub and MkDocs name them in addresses."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        if link.startswith(("https://", "http://")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert ROOT in (target, *target.parents), link
        assert not anchor or anchor in anchors(target), link


def test_nothing_is_left_to_fill_in():
    for page in PAGES:
        assert not re.findall(r"\b[A-Z_]+_(?:TABLE|NOTES|PICTURE)\b|TODO|TBD", page.read_text()), page


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 180
