"""The end of a run in the terminal: it fits, and the most important findings come first."""

import io
import re

import pytest
from helpers.known_results import DECIDED, FLAVOURS, results
from rich.console import Console

from gredkit.reports.findings import most_important
from gredkit.reports.statistics import comparisons
from gredkit.reports.study import StudyData
from gredkit.reports.summary import sentences
from gredkit.reports.terminal import show

DATASETS = ("ring_transfer", "digits", "molecules", "tree_match", "cluster_sbm", "pattern_sbm", "peptides_func")
MANY = {
    (dataset, variant): [0.5 + 0.1 * place + 0.01 * seed for seed in range(3)]
    for dataset in DATASETS
    for place, variant in enumerate(("lru", "lstm", "attention"))
}


def shown(frame, columns: int | None) -> list[str]:
    out = io.StringIO()
    show(
        StudyData("tiny", frame),
        Console(file=out, width=columns or 80, force_terminal=columns is not None, color_system=None),
    )
    return out.getvalue().splitlines()


@pytest.mark.parametrize("columns", [80, 100, 160])
@pytest.mark.parametrize("scores", [FLAVOURS, MANY], ids=["two datasets", "many datasets"])
def test_it_fits_and_no_word_is_cut(scores, columns):
    frame = results(scores)
    lines = shown(frame, columns)
    assert max(map(len, lines)) <= columns
    words = " ".join(lines).split()
    for dataset, variant in scores:
        assert dataset in words
        assert variant in words
    assert "…" not in "".join(lines)
    for finding in most_important(frame, comparisons(frame)):
        assert finding in " ".join(" ".join(lines).split())


def test_every_score_is_there_however_many_datasets():
    lines = shown(results(MANY), 80)
    assert sum(line.count("0.510 ± 0.010") for line in lines) == len(DATASETS)  # of lru, on each of them


def test_a_pipe_gets_markdown_and_one_line_per_sentence():
    frame = results(FLAVOURS)
    lines = shown(frame, None)
    assert not any(set(line) & set("─│┌┐└┘━┃") for line in lines)
    assert any(line.startswith("| variant") for line in lines)
    assert any("0.955 ± 0.013" in line for line in lines)
    for number, finding in enumerate(most_important(frame, comparisons(frame)), 1):
        assert f"{number}. {finding}" in lines


def test_a_single_dataset_also_shows_what_it_costs():
    (head,) = [line for line in shown(results({("digits", "lru"): [0.9, 0.8]}), None) if line.startswith("| variant")]
    assert "parameters" in head
    assert "parameters" not in " ".join(shown(results(FLAVOURS), None))


def test_what_is_best_comes_first_then_differences_then_what_is_open():
    frame = results({**DECIDED, ("third", "lru"): [0.5, 0.51, 0.52], ("third", "rnn"): [0.1, 0.11, 0.12]})
    found = most_important(frame, comparisons(frame), most=100)
    assert [re.split(r",| \(|:", finding)[0] for finding in found] == [
        "lru has the best mean on far",
        "lru beats rnn on far by 0.645 accuracy",
        "lstm has the best mean on near",
        "lru has the best mean on third",
        "gru and lru are equivalent on near",
        "lru is ahead of rnn on third by 0.400 accuracy",
        "lstm is ahead of lru on near by 0.0117 accuracy",
    ]


def test_the_same_difference_on_every_seed_is_the_largest_effect():
    scores = {
        ("digits", "lru"): [0.5, 0.6, 0.7, 0.8, 0.9, 0.4, 0.3],
        ("digits", "far"): [0.6, 0.71, 0.8, 0.91, 1.0, 0.5, 0.4],
        ("digits", "same"): [0.75, 0.85, 0.95, 1.05, 1.15, 0.65, 0.55],
    }
    frame = results(scores)
    assert "same beats lru" in most_important(frame, comparisons(frame))[1]  # after what is best


def test_it_says_how_much_more_the_report_has():
    frame = results(FLAVOURS)
    rest = len(sentences(frame, comparisons(frame))) - 3
    assert f"The report has {rest} more sentences about this study." in shown(frame, None)
    few = shown(results({("digits", "lru"): [0.9]}), None)
    assert not any("more sentence" in line for line in few)


def test_a_study_without_results_says_so():
    assert "There are no trials yet." in shown(StudyData("tiny").results, 80)
