import pandas as pd

from gredkit.registry import REPORTS


@REPORTS.register("table")
def table(results: pd.DataFrame) -> str:
    """Markdown table: a row a variant, mean ± standard deviation of the test metric over seeds."""
    lines = ["| variant | test | validation | seeds |", "|---|---|---|---|"]
    for variant, rows in results.groupby("variant", sort=False):
        cells = [_cell(rows[column]) for column in ("test", "validation")]
        lines.append(f"| {variant} | {cells[0]} | {cells[1]} | {len(rows)} |")
    return "\n".join(lines)


def _cell(values: pd.Series) -> str:
    return f"{values.mean():.3f} ± {values.std():.3f}" if len(values) > 1 else f"{values.mean():.3f}"
