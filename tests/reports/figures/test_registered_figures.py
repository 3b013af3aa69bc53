"""A figure says by itself for which studies it is drawn, and a user adds one with one file."""

import re

import pytest
from helpers.commands import run
from helpers.studies import TinyStudy
from reports.figures.made_frames import (
    curves_frame,
    eigenvalues_frame,
    flavour_axes,
    hop_weights_frame,
    influence_frame,
    k_axes,
    knock_out_frame,
    results_frame,
)

from gredkit.errors import UserError
from gredkit.registry import FIGURES
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.generators.figures import drawn
from gredkit.reports.study import NOT_SET, StudyData


def made(axes, **changes):
    results = results_frame(axes, ["digits"], seeds=2).assign(**changes)
    spectra = eigenvalues_frame(results), hop_weights_frame(results)
    return StudyData(
        "made", results, curves_frame(results), *spectra, influence_frame(results), knock_out_frame(results)
    )


GRID = {f"{encoder} {K}": {"variant.encoder": encoder, "K": K} for encoder in ("lru", "rnn") for K in (1, 2)}
CHANGES = {
    name: {"models.gred.glu": glu, "models.gred.norm": norm}
    for name, glu, norm in (("base", NOT_SET, NOT_SET), ("no gate", "none", NOT_SET), ("no norm", NOT_SET, False))
}
STUDIES = {
    "changes": made(CHANGES),
    "encoders": made(flavour_axes(["lru", "lstm"])),
    "K": made(k_axes([1, 2])),
    "grid": made(GRID),
    "failed": made(GRID, state="failed"),
    "all pairs": StudyData("pairs", results_frame(k_axes([1, 2, 4]), ["digits", "zinc", "far"]).assign(compare="all")),
    "empty": StudyData("empty"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_for_some_studies_and_not_for_others(name):
    figures = [FIGURES[name]().draw(study) for study in STUDIES.values()]
    assert any(figure is not None for figure in figures)
    assert any(figure is None for figure in figures)


@pytest.mark.parametrize("study", STUDIES)
def test_figures_come_in_their_order(study):
    orders = [kind.order for _, kind, _ in drawn(STUDIES[study])]
    assert orders
    assert orders == sorted(orders)


@pytest.fixture
def register():
    """Registers a figure until the end of a test."""
    names = []

    def add(name, figure):
        names.append(name)
        FIGURES.register(name)(figure)

    yield add
    for name in names:
        del FIGURES._entries[name]


class NotAFigure(StudyFigure):
    """Returns a text."""

    def draw(self, study):
        return "a picture"


class Broken(StudyFigure):
    """Has a mistake."""

    def draw(self, study):
        return study.results["no such column"]


def plain_function(study):
    """Is not a class."""


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (NotAFigure, r"the figure 'mine' returned a str: let draw\(\) return a matplotlib Figure, or None"),
        (Broken, r"the figure 'mine' cannot be drawn: .*raised KeyError"),
        (plain_function, r"the figure 'mine' is not a class derived from gredkit.reports.figures.base.StudyFigure"),
    ],
)
def test_a_mistake_in_a_figure_of_the_users_own_is_a_sentence(figure, said, register):
    register("mine", figure)
    with pytest.raises(UserError, match=said):
        list(drawn(STUDIES["K"]))


OWN = """
from matplotlib.figure import Figure
from gredkit.registry import FIGURES
from gredkit.reports.figures.base import StudyFigure

@FIGURES.register("states")
class States(StudyFigure):
    '''How many trials ended in each state.'''

    title = "Trials by state"
    caption = "One bar per state."
    order = 1

    def draw(self, study):
        figure = Figure(figsize=(3, 2))
        study.results["state"].value_counts().plot.bar(ax=figure.subplots())
        return figure
"""
SMALL = """
SEEDS = (0,)
EPOCHS = 1
LAYERS = 1
DIM = 8
datasets.ring_transfer.graphs = 20
"""


def test_a_figure_of_the_users_own_is_in_the_report_and_on_the_page(tmp_path):
    study = TinyStudy(tmp_path, SMALL, reports=True)
    (tmp_path / "own.py").write_text(OWN)
    result = study.run("--import", "own")
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "reports/tiny"
    assert (folder / "states.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "states.pdf").is_file()
    page = (folder / "index.html").read_text()
    figures = re.findall(r'id="figure-(\w+)"', page)
    assert figures.index("states") < figures.index("flavours")
    assert "learning_curves" in figures
    assert "<strong>Trials by state.</strong> One bar per state." in page
    again = run("-m", "gredkit.report", "--study", "tiny", "--tracking-uri", study.uri, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert not (folder / "states.png").exists()  # this time the module was not named


def test_only_those_who_draw_load_matplotlib(tmp_path):
    load = "import sys, gredkit.config.bindings as gin; gin.load(); import gredkit.reports.write"
    result = run("-c", f"{load}; print('matplotlib.figure' in sys.modules)", cwd=tmp_path, fresh=True)
    assert result.stdout == "False\n", result.stderr
