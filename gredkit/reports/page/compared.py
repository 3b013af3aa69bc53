"""What the page of several studies says beside their scores: what each one is, and in what they differ."""

from collections.abc import Sequence

import pandas as pd

from gredkit.reports.compare import about, differing
from gredkit.reports.page.html import Column, Html, joined, sortable, tag
from gredkit.reports.study import StudyData

WELCH = (
    "Variants carry the name of their study in brackets. Variants of two studies are compared by Welch's t test, even "
    "if their seeds are equal. All seeds are used at once and tested once, so verdicts may differ from those in a "
    "study's own report. Where a study added seeds in rounds, their number depends on the scores, which these tests do "
    "not allow for: they may err in more than 5 % of such reports. To decide between studies, train both with a list "
    "of seeds."
)


def compared(studies: Sequence[StudyData]) -> dict[str, Html]:
    """Two sections: the studies, and the settings that are not the same."""
    settings = differing(studies)
    same = tag("p", "All settings are the same, and so are the data, as far as they were recorded.")
    return {
        "Studies": joined([_table(about(studies), "Studies"), tag("p", WELCH, class_="notes")]),
        "What differs": _table(settings, "Settings that differ") if len(settings) else same,
    }


def _table(frame: pd.DataFrame, name: str) -> Html:
    columns = [Column(str(title)) for title in frame.columns]
    rows = [tag("tr", *(tag("td", cell) for cell in row)) for row in frame.itertuples(index=False, name=None)]
    return sortable(columns, rows, name)
