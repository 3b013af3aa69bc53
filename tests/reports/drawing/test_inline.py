"""A figure drawn into a page: what stands behind each mark, and nothing that a page must not have."""

import re
from xml.etree import ElementTree

import pandas as pd
import pytest
from helpers.known_results import FLAVOURS, results
from helpers.page_studies import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from gredkit.reports.drawing.inline import MOST, inline_svg
from gredkit.reports.drawing.marks import Mark, tell
from gredkit.reports.figures.differences import differences
from gredkit.reports.figures.flavours import flavours
from gredkit.reports.statistics import comparisons, final

FRAME = results(FLAVOURS).assign(run=[f"{place:032x}" for place in range(32)])
TITLES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co")), min_size=1, max_size=12)


def element(figure, name="one", address=lambda run: ""):
    return ElementTree.fromstring(inline_svg(figure, name, address))


def scattered(points=3, marks=("a", "b", "c")):
    figure = Figure()
    axes = figure.subplots()
    tell(axes.scatter(range(points), range(points)), [Mark(text, "0123456789abcdef") for text in marks])
    return figure


def titles(root):
    return [title.text for title in root.iter("title")]


def test_each_mark_says_which_variant_and_which_seed():
    told = [text.splitlines() for text in titles(element(flavours(FRAME)))]
    scores = final(FRAME).dropna(subset=["score"])
    seeds = sorted(
        (row.variant, f"{row.dataset}, seed {row.seed}", f"run {row.run[:8]}") for row in scores.itertuples()
    )
    assert sorted((text[0], text[1], text[3]) for text in told if "seed " in text[1] and len(text) == 4) == seeds
    means = {(text[0], text[1]) for text in told if "mean over" in text[1]}
    counted = scores.groupby(["variant", "dataset"]).size().items()
    assert means == {(variant, f"{dataset}, mean over {n} seeds") for (variant, dataset), n in counted}


def test_each_difference_says_what_the_table_says():
    told = [text.splitlines() for text in titles(element(differences(FRAME)))]
    rows = comparisons(FRAME).dropna(subset=["difference"])
    assert {(text[0], text[1].split(",")[0], text[-1].split(":")[0]) for text in told} == {
        (f"{row.variant} against lru", row.dataset, row.verdict) for row in rows.itertuples()
    }


def test_marks_lead_to_their_runs_on_a_server_alone():
    linked = element(scattered(), address=lambda run: f"https://server/{run}?a=1&b=2")
    assert [link.get("href") for link in linked.iter("a")] == ["https://server/0123456789abcdef?a=1&b=2"] * 3
    alone = element(scattered())
    assert not list(alone.iter("a"))
    assert titles(alone) == [f"{text}\nrun 01234567" for text in "abc"]


def test_marks_that_are_not_all_there_are_not_told():
    assert not titles(element(scattered(points=2)))


def test_names_stay_text_and_nothing_runs_or_loads():
    frame = results({("far", "lru"): [0.5, 0.6, 0.7], (HOSTILE, "lru"): [0.5, 0.6], (HOSTILE, HOSTILE): [0.5, 0.6]})
    figure = flavours(frame.assign(run=HOSTILE))
    figure.axes[0].set_url("https://elsewhere/")
    figure.axes[0].patch.set_url("javascript:alert(1)")
    root = element(figure)
    assert {child.tag for child in root.iter()} <= {"svg", "g", "defs", "path", "use", "text", "tspan", "clipPath",
                                                    "rect", "title", "a"}  # fmt: skip
    assert all(value.startswith("#") for child in root.iter() for key, value in child.attrib.items() if key == "href")
    assert not any(key.startswith("on") or key == "style" for child in root.iter() for key in child.attrib)
    assert any(text.startswith(HOSTILE) for text in titles(root))


@settings(max_examples=15, deadline=None)
@given(TITLES, TITLES)
@pytest.mark.filterwarnings("ignore:Glyph")
def test_any_text_can_be_read_back(mark, title):
    figure = scattered(1, [mark])
    figure.axes[0].set_title(title, parse_math=False)
    root = element(figure)
    (told,) = titles(root)
    assert told.splitlines()[0].strip() == "".join(one if one.isprintable() else " " for one in mark).strip()
    assert title.strip() in {"".join(text.itertext()).strip() for text in root.iter("text")}


def test_ids_are_those_of_the_figure_and_all_are_used():
    text = inline_svg(flavours(FRAME), "scores")
    ids = re.findall(r' id="([^"]+)"', text)
    assert ids
    assert all(id.startswith("scores-") for id in ids)
    assert set(ids) == set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    assert inline_svg(flavours(FRAME), "scores") == text


def test_only_figures_of_our_look_change_their_colours_in_the_dark():
    assert element(flavours(FRAME)).get("class") == "themed large"
    assert element(Figure(figsize=(3, 2))).get("class") == "own small"


def test_a_figure_of_very_many_marks_is_no_drawing():
    assert inline_svg(scattered(MOST, []), "many") == ""


def test_a_variant_named_like_a_formula_is_a_name():
    frame = results({("far", "lru"): [0.5, 0.6, 0.7], ("far", r"a$\frac{$"): [0.5, 0.6, 0.7]})
    words = {"".join(text.itertext()) for text in element(flavours(frame)).iter("text")}
    assert r"a$\frac{$" in words


def test_the_frame_is_left_as_it_was():
    before = FRAME.copy(deep=True)
    differences(FRAME)
    pd.testing.assert_frame_equal(FRAME, before)
