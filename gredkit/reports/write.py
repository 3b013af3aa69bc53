"""Writes the report of a study: the files of every registered generator, and the page."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from gredkit.registry import REPORTS
from gredkit.reports.page.html import Html
from gredkit.reports.page.page import page
from gredkit.reports.study import StudyData
from gredkit.system.writing import writing

PAGE = "index.html"
WRITTEN = ".written"  # the names of the files of a report, so that the next one can remove what it no longer has


def write_report(study: StudyData, folder: Path, more: Mapping[str, Html] | None = None) -> list[Path]:
    """Write the files of a report into its folder; files of the last report that this one does not have are removed.

    more: further sections of the page, by their titles
    """

    def make(unfinished: Path) -> list[Path]:
        files = [file for generate in REPORTS.values() for file in generate(study, unfinished)]
        files.append(unfinished / PAGE)
        drawn = [file for file in files if file.suffix == ".png"]
        files[-1].write_text(page(study, drawn, more or {}), encoding="utf-8")
        return files

    return publish(folder, make)


def publish(folder: Path, make: Callable[[Path], list[Path]]) -> list[Path]:
    """Let `make` write files to a temporary folder, the page last, and move them to their own one.

    The page is removed first and moved last, so that a page always belongs to the files beside it.
    """
    with writing(folder, "choose another folder with --reports"):
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".unfinished-", dir=folder) as unfinished:
            return _move(make(Path(unfinished)), folder)


def _move(files: list[Path], folder: Path) -> list[Path]:
    """Move the files to their folder."""
    names = [file.name for file in files]
    known = folder / WRITTEN
    before = known.read_text().splitlines() if known.is_file() else []
    (folder / PAGE).unlink(missing_ok=True)
    for name in set(before) - set(names):
        (folder / Path(name).name).unlink(missing_ok=True)
    known.write_text("".join(f"{name}\n" for name in names))
    for file in files:
        os.replace(file, folder / file.name)
    return [folder / name for name in names]
