import pandas as pd

from gredkit.registry import REPORTS


@REPORTS.register("table")
def table(results: pd.DataFrame) -> str:
    """Markdown: a row a dataset and variant, mean ± standard deviation of the test metric over seeds."""
    lines = ["| dataset | variant | test | validation | parameters | seeds |", "|---|---|---|---|---|---|"]
    for (dataset, variant), rows in results.groupby(["dataset", "variant"], sort=False):
        finished = rows[rows["state"] == "finished"]
        cells = [_cell(finished[column]) for column in ("test", "validation")]
        sizes = ", ".join(f"{size:,}" for size in rows["parameters"].unique())
        metric = rows["metric"].iloc[0]
        others = rows["state"][rows["state"] != "finished"].value_counts().to_dict()
        seeds = ", ".join([str(len(finished)), *(f"{count} {state}" for state, count in others.items())])
        lines.append(f"| {dataset} ({metric}) | {variant} | {cells[0]} | {cells[1]} | {sizes} | {seeds} |")
    return "\n".join(lines)


def _cell(values: pd.Series) -> str:
    if not len(values):
        return "none"
    return f"{values.mean():.3f} ± {values.std():.3f}" if len(values) > 1 else f"{values.mean():.3f}"
