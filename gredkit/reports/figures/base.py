"""What a figure of a report is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from gredkit.reports.study import StudyData

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StudyFigure(ABC):
    """One figure of a report: it decides for which studies it is drawn.

    title: what the figure shows, in a few words.
    caption: what the marks are and how to read them; the page shows both below the figure.
    order: figures with smaller numbers come first. Up to 30: the question of the study; 40: inside the models;
    60: how training went; 80: what it cost.
    """

    title: str = ""
    caption: str = ""
    order: int = 90

    @abstractmethod
    def draw(self, study: StudyData) -> Figure | None:
        """The figure; None if it has nothing to show of this study."""

    def caption_of(self, study: StudyData) -> str:
        """The caption, if it depends on the study."""
        return self.caption
