"""What a study shows while no trial has a score."""

from matplotlib.figure import Figure

from gredkit.registry import FIGURES
from gredkit.reports.drawing.panels import no_scores
from gredkit.reports.drawing.trials import compared, has_scores
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.study import StudyData


@FIGURES.register("scores")
class Scores(StudyFigure):
    """How the trials ended, for a study in which none has a score."""

    title = "Test scores"
    caption = "No trial has a score yet, so there is nothing to compare."
    order = 0

    def draw(self, study: StudyData) -> Figure | None:
        return None if has_scores(study.results) else no_scores(compared(study.results))
