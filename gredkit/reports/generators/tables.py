from pathlib import Path

from gredkit.registry import REPORTS
from gredkit.reports.cells import csv_text
from gredkit.reports.statistics import comparisons
from gredkit.reports.study import StudyData
from gredkit.reports.tables import csv, latex, markdown


@REPORTS.register("tables")
def tables(study: StudyData, folder: Path) -> list[Path]:
    """table.md, table.csv and table.tex: one row per variant; comparisons.csv: each variant against the first."""
    label = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in study.name)
    texts = {
        "table.md": markdown(study.results) + "\n",
        "table.csv": csv(study.results),
        "table.tex": latex(study.results, f"Study {study.name}.", f"tab:{label}") + "\n",
        "comparisons.csv": csv_text(comparisons(study.results)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
