"""The studies of the committed reports, from the frames that these keep."""

import pandas as pd

from gredkit.reports.study import AXIS, NOT_SET, StudyData
from helpers.commands import ROOT


def committed(name: str) -> StudyData:
    """The study whose report is in `reports/`, without what its frames do not have: eigenvalues and weights of hops."""
    folder, gin = ROOT / "reports" / name, ROOT / "ablations" / f"{name}.gin"
    results = pd.read_parquet(folder / "results.parquet")
    for column in results.columns[results.columns.str.startswith(AXIS)]:
        results[column] = results[column].astype(object).where(results[column].notna(), NOT_SET)
    return StudyData(
        name,
        results,
        pd.read_parquet(folder / "curves.parquet"),
        files={gin.name: gin.read_text(encoding="utf-8")},
        command=f"python -m gredkit.run --gin ablations/{name}.gin",
        commit=str(results["git_commit"].dropna().iloc[-1]),
        uri="sqlite:///mlflow.db",
        experiment="1",
    )
