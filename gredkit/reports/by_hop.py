"""Influence by hop and knock-out of each variant: means over seeds with their spread."""

import numpy as np
import pandas as pd

PLACE = ["dataset", "variant"]


def relative(influence: pd.DataFrame) -> pd.Series:
    """The influence of each hop relative to that of hop 0 of the same trial; NaN if that is 0."""
    own = influence[influence["hop"] == 0].set_index("id")["influence"].astype(float)
    return influence["influence"].astype(float) / influence["id"].map(own).replace(0.0, np.nan)


def influence_by_hop(influence: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset, variant and hop: means and standard deviations over seeds."""
    values = {
        "relative": relative(influence),
        **{name: influence[name].astype(float) for name in ("influence", "mixed", "range_hops", "range_resistance")},
    }
    rows = influence[[*PLACE, "hop", "seed", "pairs", "graphs", "nodes"]].assign(**values)
    groups = rows.groupby([*PLACE, "hop"], sort=False)
    found = groups.agg(seeds=("seed", "nunique"), graphs=("graphs", "max"), nodes=("nodes", "max"))
    for name in values:
        of_name = groups[name].agg(["mean", "std"])
        found[name], found[f"{name}_sd"] = of_name["mean"], of_name["std"]
    return found.reset_index()


def knock_out_by_hop(knock_out: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset, variant, what is hidden and hop (empty: nothing): the score, and how far it moves.

    graphs, answers: what each score is of
    """
    rows = knock_out.assign(score=knock_out["score"].astype(float), hop=knock_out["hop"].astype("Int64"))
    whole = rows[rows["hop"].isna()].set_index(["id", "hidden"])["score"]
    places = pd.MultiIndex.from_frame(rows[["id", "hidden"]])
    rows["change"] = rows["score"].to_numpy() - whole.reindex(places).to_numpy()
    rows[["graphs", "answers"]] = rows[["graphs", "answers"]].astype("Int64")
    groups = rows.groupby([*PLACE, "hidden", "hop"], sort=False, dropna=False)
    found = groups.agg(seeds=("seed", "nunique"), graphs=("graphs", "max"), answers=("answers", "max"))
    for name in ("score", "change"):
        of_name = groups[name].agg(["mean", "std"])
        found[name], found[f"{name}_sd"] = of_name["mean"], of_name["std"]
    return found.reset_index()
