import matplotlib
import pytest
from reports.figures.made_frames import (
    curves_frame,
    eigenvalues_frame,
    flavour_axes,
    hop_weights_frame,
    k_axes,
    results_frame,
)

from gredkit.reports.drawing.style import COLOURS, looks, save
from gredkit.reports.figures.cost import cost
from gredkit.reports.figures.eigenvalues import eigenvalues
from gredkit.reports.figures.flavours import flavours
from gredkit.reports.figures.k_ablation import k_ablation
from gredkit.reports.figures.learning_curves import learning_curves
from gredkit.reports.generators.figures import drawn
from gredkit.reports.study import StudyData


def test_no_two_of_forty_variants_look_alike():
    assert len(set(looks(map(str, range(40))).values())) == 40


def test_a_variant_looks_the_same_whoever_comes_after_it():
    few, many = looks(["lru", "lstm"]), looks(["lru", "lstm", "rnn"])
    assert few["lru"] == many["lru"]
    assert few["lstm"] == many["lstm"]
    assert few["lru"].colour == COLOURS[0]


def test_variants_keep_their_colour_in_every_figure():
    results = results_frame(flavour_axes(["lru", "lstm", "rnn"]), ["digits"])
    curves = curves_frame(results)
    known = looks(results["variant"])
    dots = flavours(results).axes[0]
    lines = {
        line.get_label(): line for line in learning_curves(results, curves[curves["variant"] != "lru"]).axes[0].lines
    }
    names = {text.get_text(): text.get_color() for text in cost(results).axes[0].texts}
    for place, (name, look) in enumerate(known.items()):
        (mark,) = [line for line in dots.lines if abs(line.get_ydata()[0] - place) < 0.3]
        assert (mark.get_color(), mark.get_marker()) == (look.colour, look.marker)
        assert names[name] == look.colour
        if name != "lru":  # has no curves: the others do not move up
            assert (lines[name].get_color(), lines[name].get_marker()) == (look.colour, look.marker)


@pytest.mark.parametrize("name", ["k_ablation", "eigenvalues"])
def test_the_same_frame_gives_the_same_bytes(tmp_path, name):
    def drawn():
        if name == "k_ablation":
            return k_ablation(results_frame(k_axes(), ["zinc"]), {"zinc": (7, 11)}, {"zinc": [("paper", 0.4)]})
        results = results_frame(flavour_axes(["lru"]), ["digits"])
        return eigenvalues(results, eigenvalues_frame(results, layers=1))

    figure = drawn()
    first, again, anew = (
        save(f, tmp_path / where, name) for f, where in ((figure, "a"), (figure, "b"), (drawn(), "c"))
    )
    assert [path.name for path in first] == [f"{name}.png", f"{name}.pdf"]
    for one, two, three in zip(first, again, anew, strict=True):
        assert one.read_bytes() == two.read_bytes() == three.read_bytes()
    png, pdf = (path.read_bytes() for path in first)
    assert png.startswith(b"\x89PNG")
    assert pdf.startswith(b"%PDF")
    assert b"Date" not in pdf
    assert int.from_bytes(png[16:20], "big") == round(300 * figure.get_figwidth())


def test_the_look_does_not_depend_on_the_users_settings_and_leaves_them_alone():
    results = results_frame(flavour_axes(), ["digits"])
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False}):
        figure = flavours(results)
        assert matplotlib.rcParams["font.size"] == 30
    assert figure.axes[0].xaxis.label.get_fontsize() == 7.5


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        (flavour_axes(["lru", "lstm"]), ["flavours"]),
        (k_axes([1, 2]), ["k_ablation"]),
        ({"a": {"LAYERS": 8, "K": 1}, "b": {"LAYERS": 4, "K": 2}}, ["flavours", "axes"]),
        (
            {f"{e}{K}": {"variant.encoder": e, "K": K} for e in ("lru", "rnn") for K in (1, 2)},
            ["k_ablation", "flavours", "path", "axes"],
        ),
    ],
    ids=["flavours", "K", "zip", "grid"],
)
def test_a_study_gets_the_figures_of_its_question(axes, expected):
    results = results_frame(axes, ["digits"], seeds=1)
    recorded = curves_frame(results), eigenvalues_frame(results), hop_weights_frame(results)
    names = [name for name, *_ in drawn(StudyData("made", results, *recorded))]
    assert names == ["differences", *expected, "eigenvalues", "hop_filter", "learning_curves", "cost"]
    failed = results.assign(state="failed")
    recorded = curves_frame(failed), eigenvalues_frame(failed), hop_weights_frame(failed)
    assert [name for name, *_ in drawn(StudyData("made", failed, *recorded))] == ["scores"]
