import pandas as pd

from gredkit.registry import REPORTS


@REPORTS.register("table")
def table(results: pd.DataFrame) -> str:
    """Markdown table: a row a variant, mean ± standard deviation of the test metric over seeds."""
    lines = ["| variant | test | validation | seeds |", "|---|---|---|---|"]
    for variant, rows in results.groupby("variant", sort=False):
        cells = [f"{rows[column].mean():.3f} ± {rows[column].std():.3f}" for column in ("test", "validation")]
        lines.append(f"| {variant} | {cells[0]} | {cells[1]} | {len(rows)} |")
    return "\n".join(lines)
