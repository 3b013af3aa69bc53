"""Claims of the paper, judged from reports of real studies: each verdict, from files as reports keep them."""

import csv
import json
import re
from dataclasses import replace

import gin
import numpy as np
import pandas as pd
import pytest
from helpers.commands import ROOT, run
from helpers.known_results import results
from helpers.tracked_studies import TrackedStudy, good
from hypothesis import given, settings
from hypothesis import strategies as st
from reports.figures.made_frames import influence_frame, knock_out_frame

from gredkit.config.source import Source
from gredkit.data.subsets import read
from gredkit.registry import DATASETS
from gredkit.reports.kept import keep
from gredkit.reports.paper_claims.claims import CLAIMS, STUDIES
from gredkit.reports.paper_claims.evidence import Found, Need, studies
from gredkit.reports.paper_claims.files import frame
from gredkit.reports.paper_claims.judge import judged
from gredkit.reports.paper_claims.measured import Fits
from gredkit.reports.paper_claims.outcome import Outcome
from gredkit.reports.paper_claims.rules import Better, Inside, Rises, Worse
from gredkit.reports.study import StudyData

METRICS = {"zinc": "mae", "peptides_func": "average_precision"}
FLAVOURS = {"zinc": "real_flavors_zinc", "cifar10": "real_flavors_cifar10", "peptides_func": "real_flavors_peptides"}
HOPS = {"zinc": "real_k_zinc", "cifar10": "real_k_cifar10", "peptides_func": "real_k_peptides"}
NOISE = (0.0, 0.004, -0.003, 0.001, -0.002, 0.002, -0.001)
SUGGESTED = "only suggested"


def around(mean, seeds=5, turn=0):
    """Scores near a mean; `turn` makes those of two variants differ in an irregular way."""
    return [mean + NOISE[(seed * (turn + 1) + turn) % len(NOISE)] for seed in range(seeds)]


def scores_of(dataset, means, seeds=5):
    """Trials on one dataset of variants with these means, which are better if they are larger, whatever the metric."""
    sign = -1 if dataset == "zinc" else 1
    scores = {(dataset, name): around(sign * mean, seeds, place) for place, (name, mean) in enumerate(means.items())}
    return results({key: [abs(score) for score in some] for key, some in scores.items()}, **METRICS)


def kept(folder, frames, **more):
    """The studies of these frames, each as its report keeps it, and read again."""
    for name, results_frame in frames.items():
        (folder / name).mkdir()
        keep(replace(StudyData(name), results=results_frame, **more.get(name, {})), folder / name)
    return studies(STUDIES, folder, f"sqlite:///{folder}/mlflow.db")


def claim(number, found):
    return judged(found)[number - 1]


def verdicts(found):
    return {one.claim.number: one.verdict for one in judged(found)}


BEST = {"lru": 0.80, "lstm": 0.70, "rnn": 0.60, "attention": 0.50}
ORDERED = {"zinc": {name: mean - 1 for name, mean in BEST.items()}, "cifar10": BEST, "peptides_func": BEST}


def test_what_nobody_has_run_is_not_run(tmp_path):
    found = kept(tmp_path, {})
    assert found == {}
    assert verdicts(found) == dict.fromkeys(range(1, 11), "not run")
    assert claim(1, found).parts[1].why == "real_flavors_cifar10 was not run"


def test_flavours_in_the_order_of_the_paper_reproduce_three_claims(tmp_path):
    frames = {FLAVOURS[dataset]: scores_of(dataset, means) for dataset, means in ORDERED.items()}
    found = kept(tmp_path, frames)
    assert {number: verdict for number, verdict in verdicts(found).items() if number <= 3} == dict.fromkeys(
        (1, 2, 3), "reproduced"
    )
    zinc = claim(1, found).parts[0]
    assert zinc.ours.startswith("MAE ↓: lru 0.20")
    assert zinc.ours.endswith("(n = 5)")
    assert zinc.paper_budget == "2,000 epochs, 624,000 steps"
    assert "lru beats lstm by 0." in zinc.why
    assert zinc.why.count("different") == 3


def test_one_dataset_on_which_the_opposite_is_shown_contradicts(tmp_path):
    frames = {FLAVOURS[dataset]: scores_of(dataset, means) for dataset, means in ORDERED.items()}
    frames["real_flavors_cifar10"] = scores_of("cifar10", {**BEST, "lstm": 0.9})
    found = claim(1, kept(tmp_path, frames))
    assert [part.verdict for part in found.parts] == ["reproduced", "contradicted", "reproduced"]
    assert found.verdict == "contradicted"
    assert "lstm beats lru" in found.parts[1].why


def test_a_claim_about_three_datasets_is_not_reproduced_by_one(tmp_path):
    found = kept(tmp_path, {"real_flavors_zinc": scores_of("zinc", ORDERED["zinc"])})
    whole = claim(1, found)
    assert [part.verdict for part in whole.parts] == ["reproduced", "not run", "not run"]
    assert whole.verdict == "not at this budget"
    assert claim(2, found).verdict == "reproduced"


def test_three_seeds_only_suggest_and_two_say_nothing(tmp_path):
    found = kept(tmp_path, {"real_flavors_zinc": scores_of("zinc", ORDERED["zinc"], 3)})
    assert claim(2, found).outcome == Outcome.REPRODUCED
    assert SUGGESTED in claim(2, found).verdict
    few = kept(tmp_path / "..", {}) | {"real_flavors_zinc": StudyData("x", scores_of("zinc", ORDERED["zinc"], 2))}
    assert claim(2, few).verdict == "not at this budget"
    assert "fewer than 3 seeds" in claim(2, few).parts[0].why


def test_a_variant_without_a_score_keeps_a_claim_from_being_reproduced(tmp_path):
    trials = scores_of("zinc", ORDERED["zinc"])
    lost = trials["variant"] == "rnn"
    trials = trials.assign(state=trials["state"].mask(lost, "failed"), test=trials["test"].mask(lost))
    part = claim(2, kept(tmp_path, {"real_flavors_zinc": trials})).parts[0]
    assert part.verdict == "not at this budget"
    assert part.why.endswith("no score of rnn")


def test_far_above_is_more_than_the_margin(tmp_path):
    near = {**BEST, "lstm": 0.612}  # shown to be better, but by little more than the margin of 0.01
    part = claim(3, kept(tmp_path, {"real_flavors_peptides": scores_of("peptides_func", near)})).parts[0]
    assert part.verdict == "not at this budget"
    assert "lstm beats rnn" in part.why
    assert "margin 0.010" in part.why


K = ("K=1", "K=2", "K=4", "K=8", "K=dataset")


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ((0.5, 0.7, 0.8, 0.7, 0.6), "reproduced"),
        ((0.5, 0.6, 0.7, 0.8, 0.9), "contradicted"),
        ((0.9, 0.8, 0.7, 0.6, 0.5), "contradicted"),
        ((0.5, 0.6, 0.7, 0.8, 0.8), "not at this budget"),
        ((0.7, 0.7, 0.7, 0.7, 0.7), "not at this budget"),
    ],
)
def test_the_best_k_lies_inside_if_it_beats_both_ends(tmp_path, means, verdict):
    inside = dict(zip(K, (0.5, 0.7, 0.8, 0.7, 0.6), strict=True))
    frames = {
        "real_k_zinc": scores_of("zinc", {name: mean - 1 for name, mean in inside.items()}),
        "real_k_cifar10": scores_of("cifar10", dict(zip(K, means, strict=True))),
    }
    found = claim(4, kept(tmp_path, frames))
    assert [part.verdict for part in found.parts] == ["reproduced", verdict]
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("means", "verdict", "said"),
    [
        ((0.4, 0.5, 0.6, 0.7, 0.8), "reproduced", "K=40 beats K=1"),
        ((0.4, 0.6, 0.5, 0.7, 0.8), "not at this budget", "K=10 below K=5"),
        ((0.4, 0.5, 0.6, 0.9, 0.8), "contradicted", "K=20 beats K=40"),
        ((0.6, 0.6, 0.6, 0.6, 0.6), "not at this budget", "ahead of"),
    ],
)
def test_scores_rise_with_k_if_no_step_goes_down(tmp_path, means, verdict, said):
    names = ("K=1", "K=5", "K=10", "K=20", "K=40")
    trials = scores_of("peptides_func", dict(zip(names, means, strict=True)))
    part = claim(5, kept(tmp_path, {"real_k_peptides": trials})).parts[0]
    assert part.verdict == verdict
    assert said in part.why


def eigenvalues(dataset, start, end, seeds=5):
    """Of two layers: real ones of the same size, with a little noise; the second layer must not count."""
    rows = [
        (f"{dataset}-lru-{seed}", "lru", dataset, seed, layer, moment, size + NOISE[seed] + layer / 10, 0.0)
        for seed in range(seeds)
        for layer in range(2)
        for moment, size in (("start", start), ("end", end))
        for _ in range(3)
    ]
    return pd.DataFrame(rows, columns=list(StudyData("").eigenvalues.columns))


@pytest.mark.parametrize(
    ("start", "end", "verdict", "said"),
    [
        ((0.97, 0.6), (0.98, 0.5), "reproduced", "different; change by training: peptides_func beats cifar10"),
        ((0.97, 0.6), (0.97, 0.6), "not at this budget", "change by training: "),
        ((0.5, 0.6), (0.5, 0.7), "contradicted", "cifar10 beats peptides_func"),
    ],
)
def test_eigenvalues_must_be_moved_apart_by_training(tmp_path, start, end, verdict, said):
    frames = {name: scores_of(dataset, BEST) for dataset, name in FLAVOURS.items() if dataset != "zinc"}
    spectra = {
        FLAVOURS[dataset]: {"eigenvalues": eigenvalues(dataset, start[place], end[place])}
        for place, dataset in enumerate(("peptides_func", "cifar10"))
    }
    part = claim(7, kept(tmp_path, frames, **spectra)).parts[0]
    assert part.verdict == verdict
    assert said in part.why
    assert f"peptides_func {end[0]:.4f}"[:17] in part.ours


TREES = {f"GRED, r={depth}": 1.0 for depth in range(2, 9)} | {"GIN, r=4": 0.7, "wide GIN, r=4": 0.8}


@pytest.mark.parametrize(
    ("changed", "verdict", "said"),
    [
        ({}, "reproduced", "GRED, r=4 beats GIN, r=4"),
        ({"GRED, r=8": 0.95}, "reproduced", ""),
        ({"GRED, r=7": 0.5, "GRED, r=8": 0.1}, "not at this budget", "not fitted at this budget: GRED, r=7, GRED, r=8"),
        ({"wide GIN, r=4": 1.0}, "not at this budget", "wide GIN, r=4"),
        ({"GIN, r=4": 1.0}, "contradicted", "GIN, r=4"),
    ],
)
def test_trees_are_judged_by_their_training_accuracy(tmp_path, changed, verdict, said):
    means = TREES | changed
    exact = {("tree_match", name): [mean] * 5 if mean in (1.0, 0.95) else around(mean) for name, mean in means.items()}
    trials = results(exact)
    trials = trials.assign(train=trials["test"], test=0.5)
    part = claim(8, kept(tmp_path, {"real_tree": trials})).parts[0]
    assert part.verdict == verdict
    assert said in part.why


def test_folds_count_and_not_seeds(tmp_path):
    rng, rows = np.random.default_rng(0), []
    for fold in range(10):
        of_fold = rng.normal(0, 0.02)
        for dataset in ("nci1", "proteins"):
            means = {"gred": 0.80, "spn": 0.70, "gin": 0.60}
            scores = {(dataset, name): [mean + of_fold + rng.normal(0, 0.005)] for name, mean in means.items()}
            rows.append(results(scores).assign(replicate=f"FOLD={fold}", test_share=1 / 8))
    found = claim(9, kept(tmp_path, {"real_tu": pd.concat(rows, ignore_index=True)}))
    assert found.verdict == "reproduced"
    assert found.parts[0].ours.endswith("(n = 10)")
    assert found.parts[0].paper_budget == "not published"


@pytest.mark.parametrize(
    ("jobs", "grit", "verdict"),
    [(1, 50.0, "reproduced"), (1, 1.0, "contradicted"), (2, 50.0, "not run")],
)
def test_costs_count_only_if_trials_ran_alone(tmp_path, jobs, grit, verdict):
    frames = {}
    for dataset, study in (("zinc", "zinc"), ("cifar10", "cifar10"), ("peptides_func", "peptides")):
        trials = scores_of(dataset, {"GRED": -0.5 if dataset == "zinc" else 0.5, "GRIT": 0.5, "GPS": 0.5})
        seconds = trials["variant"].map({"GRED": 10.0, "GRIT": grit, "GPS": 30.0}) + trials["seed"] / 10
        frames[f"real_costs_{study}"] = trials.assign(seconds_per_epoch=seconds, peak_mb=seconds * 20, jobs=jobs)
    found = claim(10, kept(tmp_path, frames))
    assert found.verdict == verdict
    said = "side by side" if jobs > 1 else f"GRED beats {'GRIT' if grit > 10 else 'GPS'} by"
    assert said in found.parts[0].why


def test_a_part_of_a_dataset_counts_for_its_whole_and_says_so(tmp_path):
    told = "1,087 of 10,873 training graphs of peptides_func; 9 of 99 for test; a rule"
    trials = scores_of("peptides_func", BEST).assign(dataset="peptides_func_tenth")
    more = {"note:subset": told, "train_graphs": 1087, "setting:fit.batch_size": "32"}
    part = claim(3, kept(tmp_path, {"real_flavors_peptides": trials.assign(**more)})).parts[0]
    assert part.verdict == "reproduced"
    assert part.where == "peptides_func_tenth (1,087 of 10,873 training graphs of peptides_func)"
    assert (part.budget, part.paper_budget) == ("30 epochs, 990 steps", "200 epochs, 67,800 steps")


def test_studies_come_from_their_reports_or_else_from_the_store(tmp_path):
    stored = TrackedStudy(tmp_path)
    stored.tell(good)
    reports = tmp_path / "reports"
    found = studies(["other", "tiny"], reports, stored.uri)
    assert list(found) == ["tiny"]
    assert len(found["tiny"].results) == len(stored.plan.trials)
    (reports / "tiny").mkdir(parents=True)
    keep(replace(found["tiny"], command="as it was kept"), reports / "tiny")
    assert studies(["tiny"], reports, stored.uri)["tiny"].command == "as it was kept"


SCORES = st.lists(st.floats(0.1, 0.9).map(lambda x: round(x, 3)), min_size=5, max_size=7)


@settings(max_examples=40, deadline=None)
@given(SCORES, SCORES, st.booleans())
def test_what_reproduces_a_claim_contradicts_its_opposite(ours, theirs, is_error):
    dataset = "zinc" if is_error else "cifar10"
    trials = results({(dataset, "a"): ours, (dataset, "b"): theirs}, **METRICS)
    found = Found(Need("x", dataset), StudyData("x", trials))
    claimed, opposite = (rule.part(found, 1).outcome for rule in (Better("a", ("b",)), Worse("a", ("b",))))
    mirrored = {
        Outcome.REPRODUCED: Outcome.CONTRADICTED,
        Outcome.CONTRADICTED: Outcome.REPRODUCED,
        Outcome.NOT_YET: Outcome.NOT_YET,
    }
    assert opposite == mirrored[claimed]
    more_asked = Better("a", ("b",)).part(found, 50).outcome  # a stricter test changes no verdict but to open
    assert more_asked in (claimed, Outcome.NOT_YET)


@settings(max_examples=25, deadline=None)
@given(st.lists(SCORES.filter(lambda some: len(some) == 5), min_size=5, max_size=5), st.randoms())
def test_order_of_trials_and_unknown_variants_change_nothing(scores, chance):
    trials = results({("cifar10", name): some for name, some in zip(K, scores, strict=True)})
    other = results({("cifar10", "K=16"): [0.5] * 5})
    rows = list(range(len(trials)))
    chance.shuffle(rows)
    first, second = (
        Found(Need("x", "cifar10"), StudyData("x", some))
        for some in (trials, pd.concat([trials.iloc[rows], other], ignore_index=True))
    )
    for rule in (Inside(K), Rises(K)):
        assert rule.part(first, 6).outcome == rule.part(second, 6).outcome
        assert rule.part(first, 6).outcome != Outcome.NOT_RUN


@pytest.mark.parametrize("study", STUDIES)
def test_a_claim_asks_for_variants_and_datasets_that_its_study_trains(study, monkeypatch):
    monkeypatch.chdir(ROOT)
    source = Source((f"ablations/real/{study}.gin",))
    planned = source.load().study
    trained, labels = set(), set()
    for entry in planned.datasets:
        configuration = source.load(entry, planned.budget)
        dataset = configuration.trial.dataset
        of = configuration.settings(DATASETS, dataset)
        trained.add(read(ROOT / of["file"])["dataset"] if dataset == "subset" else dataset)
        labels |= {point.label for point in configuration.study.points()}
    gin.clear_config()
    for one in CLAIMS:
        if study in {need.study for need in one.needs}:
            assert {need.dataset for need in one.needs if need.study == study} <= trained
            assert named_in(one.rule) <= labels, one.number


def named_in(rule):
    """All variants that a rule names."""
    if isinstance(rule, Fits):
        return {name for name, _ in rule.fits} | {rule.beside, rule.fails, rule.control}
    told = [(name,) if isinstance(name, str) else name for name in vars(rule).values() if not isinstance(name, bool)]
    return {name for names in told for name in names}


def test_printed_numbers_are_those_of_the_papers_tables():
    stored = json.loads((ROOT / "gredkit/reports/published.json").read_text())["values"]
    known = {f"{number:g}" for value in stored for number in (value["mean"], value.get("std")) if number is not None}
    for one in CLAIMS:
        told = re.sub(r"r = \d( to \d)?|CIFAR10|NCI1|up to", "", one.published)
        numbers = re.findall(r"\d+\.\d+", told)
        assert {f"{float(number):g}" for number in numbers} <= known, one.number
        assert numbers or one.published == "no printed numbers"


def test_the_command_lists_all_claims_and_writes_page_tables_and_figures(tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    hops = scores_of("cifar10", dict(zip(K, (0.5, 0.7, 0.8, 0.7, 0.6), strict=True)), 3)
    hops["axis:K"] = hops["variant"].str.removeprefix("K=").map(lambda k: k if k == "dataset" else int(k))
    told = "5,000 of 45,000 training graphs of cifar10; 9 of 99 for test; a rule"
    frames = {
        "real_flavors_zinc": scores_of("zinc", ORDERED["zinc"], 3).assign(**{"axis:variant.encoder": "lru"}),
        "real_k_cifar10": hops.assign(**{"note:subset": told}),
    }
    frames["real_flavors_zinc"]["axis:variant.encoder"] = frames["real_flavors_zinc"]["variant"]
    seen = {"influence": influence_frame(hops), "knock_out": knock_out_frame(hops)}
    kept(folder, frames, real_k_cifar10=seen)
    done = run("-m", "gredkit.report", "--paper", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    before, _, after = done.stdout.partition("Table 1: ")
    assert all(one.sentence in before for one in CLAIMS)
    assert SUGGESTED in before
    assert "ablations/real/real_tu.gin" in before
    assert "0 of 85 numbers of the paper have runs here" in after
    written = {path.name for path in (folder / "paper").iterdir()}
    pictures = {f"{name}.png" for name in ("flavours", "k", "k_distance", "k_knock_out")}
    assert {"index.html", "claims.md", "claims.csv", *pictures} <= written
    with (folder / "paper" / "claims.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["claim"] for row in rows} == {str(number) for number in range(1, 11)}
    assert list(frame(judged({})).columns) == list(rows[0])
    page = (folder / "paper" / "index.html").read_text()
    assert all(f'id="figure-{name.removesuffix(".png")}"' in page for name in pictures)
    assert "number of hops that a node looks, on 5,000 of 45,000 training graphs of cifar10" in page
    assert "| 2 | Attention is the worst flavour on ZINC. |" in (folder / "paper" / "claims.md").read_text()
