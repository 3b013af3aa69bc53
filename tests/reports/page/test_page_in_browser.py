"""The page of a study in a real browser: nothing is logged, nothing is loaded, and a click sorts."""

import pytest
from helpers.browser import browser
from helpers.page_studies import full_study, hostile_study, large_study, picture

from gredkit.reports.page.page import page
from gredkit.reports.page.tables import MOST
from gredkit.reports.write import write_report

SCORES = "document.querySelector('[aria-label=\"Test scores\"] table')"
TRIALS = "document.querySelector('[aria-label=\"All trials\"] table')"

pytestmark = pytest.mark.needs("browser")


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def opened(tab, tmp_path):
    def open_page(study, width=1200):
        path = tmp_path / "index.html"
        path.write_text(page(study, [picture(tmp_path / "cost.png", 2000, 800)]), encoding="utf-8")
        tab.width(width)
        tab.open(path)
        return tab

    return open_page


def header(table, title):
    heads = f"[...{table}.tHead.rows[0].cells]"
    return f"{heads}.find((head) => head.textContent === '{title}')"


def column(tab, table, title):
    """Values of a column from top to bottom, and what the header says of the order."""
    place = tab.run(f"{header(table, title)}.cellIndex")
    cells = f"[...{table}.tBodies[0].rows].map((row) => row.cells[{place}])"
    values = tab.run(f"{cells}.map((cell) => cell.dataset.value ?? cell.textContent)")
    return values, tab.run(f"{header(table, title)}.getAttribute('aria-sort')")


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("study", [full_study(), hostile_study()], ids=["full", "hostile"])
def test_it_opens_without_a_word_and_loads_nothing(opened, study, width):
    tab = opened(study, width)
    assert tab.run("document.readyState") == "complete"
    assert tab.complaints() == []
    assert tab.loaded() <= {"file", "data"}
    assert tab.run("document.title") == f"{study.name}: a study of gredkit"
    assert tab.run("[...document.images].map((image) => image.naturalWidth)") == [2000]
    assert tab.run("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("title", ["test score", "seeds", "p (corrected)", "peak memory (MB)"])
def test_a_click_sorts_by_numbers_and_a_second_one_turns_the_order(opened, title):
    tab = opened(full_study())
    before, order = column(tab, SCORES, title)
    assert order == "none"
    known = [float(value) for value in before if value]
    unknown = [""] * (len(before) - len(known))
    for order, is_reversed in (("ascending", False), ("descending", True), ("ascending", False)):
        tab.click(f"{header(SCORES, title)}.firstChild")
        values, said = column(tab, SCORES, title)
        assert said == order
        assert values[: len(known)] == [f"{value!r}" for value in sorted(known, reverse=is_reversed)]
        assert values[len(known) :] == unknown
    assert tab.complaints() == []


def test_enter_sorts_and_only_one_header_says_so(opened):
    tab = opened(full_study())
    tab.click(f"{header(TRIALS, 'test')}.firstChild")
    tab.run(f"{header(TRIALS, 'variant')}.firstChild.focus()")
    tab.press_enter()
    values, order = column(tab, TRIALS, "variant")
    assert values == sorted(values)
    assert order == "ascending"
    assert column(tab, TRIALS, "test")[1] == "none"
    assert column(tab, SCORES, "variant")[1] == "none"  # another table


def test_a_link_in_the_results_unfolds_the_command(opened):
    tab = opened(full_study())
    target = "document.querySelector('#again-2').closest('details')"
    assert not tab.run(f"{target}.open")
    tab.click("document.querySelector('a[href=\"#again-2\"]')")
    tab.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert tab.run(f"{target}.open")


def test_a_command_is_copied(opened):
    tab = opened(full_study())
    tab.ask("Emulation.setFocusEmulationEnabled", enabled=True)
    tab.run("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    button = "document.querySelector('#trials tbody button')"
    tab.click(button)
    assert tab.run("window.copied") == tab.run(f"{button}.dataset.copy")
    assert tab.run(f"{button}.textContent") == "copied"
    tab.run("navigator.clipboard.writeText = async () => { throw new Error('no') }")
    tab.click("document.querySelector('#reproduce .copy')")
    assert tab.run("document.querySelector('#reproduce .copy').textContent") == "not allowed"
    assert tab.complaints() == []


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The page of a study with its real figures."""
    study = full_study(uri="https://mlflow.example.org")
    folder = tmp_path_factory.mktemp("report")
    write_report(study, folder)
    return folder / "index.html"


def test_a_mark_says_what_it_is_and_leads_to_its_run(tab, drawn):
    tab.width(1200)
    tab.open(drawn)
    links = "document.querySelectorAll('#figure-flavours a.mark')"
    assert tab.run(f"{links}[0].getAttribute('href')").startswith("https://mlflow.example.org/#/experiments/7/runs/")
    said = tab.run(f"{links}[0].querySelector('title').textContent")
    tab.run(f"{links}[0].scrollIntoView({{block: 'center'}})")
    tab.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")  # scrolling hides what is said
    box = tab.run(f"{links}[0].getBoundingClientRect().toJSON()")
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    tab.ask("Input.dispatchMouseEvent", type="mouseMoved", **place)
    assert tab.run("document.querySelector('.tip').hidden") is False
    assert tab.run("document.querySelector('.tip').textContent") == said
    tab.ask("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    assert tab.run("document.querySelector('.tip').hidden") is True
    assert tab.complaints() == []
    assert tab.loaded() <= {"file", "data"}


@pytest.mark.parametrize(("width", "kind"), [(400, "narrow"), (1200, "wide")])
def test_the_first_figure_is_drawn_for_the_width_of_the_screen(tab, drawn, width, kind):
    tab.width(width)
    tab.open(drawn)
    seen = (
        "[...document.querySelectorAll('header .drawing')].filter((one) => one.offsetWidth).map((one) => one.className)"
    )
    assert tab.run(seen) == [f"drawing {kind}"]
    assert tab.run("document.documentElement.scrollWidth <= window.innerWidth")
    letters = (
        "[...document.querySelectorAll('header .drawing text')].filter((one) => one.getBoundingClientRect().width)"
    )
    heights = tab.run(f"{letters}.map((one) => one.getBoundingClientRect().height)")
    assert min(heights) > 9
    assert tab.complaints() == []


def test_in_the_dark_no_ink_is_left(tab, drawn):
    tab.width(1200)
    tab.open(drawn)
    tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    words = "[...document.querySelectorAll('svg.themed text')].map((one) => getComputedStyle(one).fill)"
    fills = set(tab.run(words))
    tab.ask("Emulation.setEmulatedMedia", features=[])
    assert "rgb(39, 39, 42)" not in fills
    assert "rgb(39, 39, 42)" in set(tab.run(words))


def test_dark_where_the_reader_likes_it_dark(opened):
    tab = opened(full_study())
    papers = []
    for scheme in ("light", "dark"):
        tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        papers.append(tab.run("getComputedStyle(document.body).backgroundColor"))
        assert tab.run("getComputedStyle(document.images[0]).backgroundColor") == "rgb(255, 255, 255)"
    tab.ask("Emulation.setEmulatedMedia", features=[])
    assert papers[0] != papers[1]


def test_ten_thousand_trials_open_and_sort(opened):
    tab = opened(large_study(4, 5, 500))
    tab.click("document.querySelector('#trials summary')")
    tab.click(f"{header(TRIALS, 'seed')}.firstChild")
    values = list(map(float, column(tab, TRIALS, "seed")[0]))
    assert values == [seed for seed in range(MOST // 2) for _ in range(2)]
    assert tab.complaints() == []
