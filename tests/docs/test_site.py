"""`make docs` builds the site: every page is in its menu, no link is broken, and nothing is loaded from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import ROOT

pytestmark = pytest.mark.needs("mkdocs")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = ["mkdocs", "build", "-f", "docs/site/mkdocs.yml"]
    command = [sys.executable, "-m", *build, "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_there(site):
    pages = {path.stem for path in ROOT.glob("docs/*.md")} | {"tutorial"}
    assert pages <= {path.stem for path in site.glob("*.html")}
    assert (site / "reports/rnn_flavors/index.html").is_file()


def test_nothing_is_loaded_from_another_server(site):
    for page in site.glob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|iframe)[^>]* src="(https?:[^"]*)"|<link rel="(?:stylesheet|preconnect)'
            r'[^>]* href="(https?:[^"]*)"',
            page.read_text(),
        )
        assert not loaded, page


def test_the_notebook_is_a_page_with_its_code(site):
    text = (site / "tutorial.html").read_text()
    assert "near_and_far" in text
    assert "%%writefile" in re.sub(r"<[^>]+>", "", text)
