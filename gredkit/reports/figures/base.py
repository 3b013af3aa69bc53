"""What a figure of a report is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from gredkit.reports.study import StudyData

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ANSWER, RESULTS, DISTANCE, EFFECTS, TRAINING, COST = "Answer", "Results", "Distance", "Effects", "Training", "Cost"
MORE = "More figures"
BY_ORDER = ((90, MORE), (80, COST), (60, TRAINING), (40, DISTANCE))  # from which order on a figure is in a section
SECTION = "Section"  # what a PNG calls the section of the page to which it belongs
NARROW = ".narrow"  # what the name of a drawing for a narrow screen ends with
SECTIONS = (ANSWER, RESULTS, DISTANCE, EFFECTS, TRAINING, COST, MORE)  # in the order of the page


class StudyFigure(ABC):
    """One figure of a report: it decides for which studies it is drawn.

    title: what the figure shows, in a few words.
    caption: what the marks are and how to read them; the page shows both below the figure.
    section: the part of the page that shows it, one of `SECTIONS`, or a title of your own, which follows after these;
    if it is empty, `order` decides.
    order: figures with smaller numbers come first. Up to 30: the question of the study; 40: inside the models;
    60: how training went; 80: what it cost.
    """

    title: str = ""
    caption: str = ""
    section: str = ""
    order: int = 90

    @abstractmethod
    def draw(self, study: StudyData) -> Figure | None:
        """The figure; None if it has nothing to show of this study."""

    def draw_narrow(self, study: StudyData) -> Figure | None:
        """The same for a screen as narrow as a phone; None if the page may scroll the wide figure."""
        return None

    @property
    def place(self) -> str:
        """The section of the page."""
        return self.section or next((title for least, title in BY_ORDER if self.order >= least), RESULTS)

    def caption_of(self, study: StudyData) -> str:
        """The caption, if it depends on the study."""
        return self.caption
