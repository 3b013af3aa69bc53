import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from helpers.commands import run

from gredkit.ablation.described import resolve
from gredkit.ablation.plan import after_tuning, make_plan
from gredkit.ablation.record import gin_text
from gredkit.config.source import Source
from gredkit.errors import UserError
from gredkit.trials.trial import Trial

TINY = "LAYERS = 1\nDIM = 8\nSEEDS = (0, 1)\ndatasets.ring_transfer.graphs = 20\ndatasets.tree_match.graphs = 40\n"


@pytest.fixture
def plan_of(tmp_path, monkeypatch):
    """The plan of a study with some lines of gin and some bindings on the command line."""
    monkeypatch.chdir(tmp_path)

    def make(text="", *bindings, more=(), modules=()):
        (tmp_path / "study.gin").write_text(TINY + text)
        return make_plan(Source(("study.gin", *more), bindings, modules))

    return make


def ids(plan):
    return {trial.id for trial in plan.trials}


def test_a_study_without_axes_is_one_trial_a_seed(plan_of):
    plan = plan_of()
    assert [(trial.variant, trial.dataset, trial.seed) for trial in plan.trials] == [
        ("base", "ring_transfer", 0),
        ("base", "ring_transfer", 1),
    ]
    assert plan.study == "study"


def test_axes_may_be_bindings_macros_and_whole_components(plan_of):
    plan = plan_of("study.axes = {'variant.encoder': ('lru', 'rnn'), 'K': (1, None), 'models.gred.dim': (8, 16)}")
    assert len(ids(plan)) == 2 * 2 * 2 * 2
    assert {(t.settings["encoder"], t.settings["K"], t.settings["models.gred.dim"]) for t in plan.trials} == {
        (encoder, K, dim) for encoder in ("lru", "rnn") for K in (1, None) for dim in (8, 16)
    }


def test_datasets_and_seeds_multiply(plan_of):
    plan = plan_of("DATASETS = ('ring_transfer', 'tree_match')\nSEEDS = (4, 5, 6)")
    assert Counter(trial.dataset for trial in plan.trials) == {"ring_transfer": 3, "tree_match": 3}
    assert [trial.settings["dataset"] for trial in plan.trials[::3]] == ["ring_transfer", "tree_match"]


def test_the_block_of_a_dataset_is_read_before_the_study(plan_of, tmp_path):
    (tmp_path / "far.gin").write_text("trial.dataset = 'ring_transfer'\nK = 7\nDIM = 99\nVALUES = (1, 2)\n"
                                      "study.axes = {'K': %VALUES}")  # fmt: skip
    plan = plan_of("DATASETS = ('far.gin',)")
    assert {trial.settings["models.gred.dim"] for trial in plan.trials} == {8}  # the study has the last word
    assert {trial.settings["K"] for trial in plan.trials} == {1, 2}  # the block has a say in the axes
    assert {trial.dataset for trial in plan.trials} == {"far"}


def test_files_compose_and_the_command_line_has_the_last_word(plan_of, tmp_path):
    (tmp_path / "more.gin").write_text("DIM = 16\nEPOCHS = 7")
    plan = plan_of("EPOCHS = 5", "EPOCHS = 9", more=("more.gin",))
    assert plan.trials[0].settings["models.gred.dim"] == 16
    assert plan.trials[0].settings["fit.epochs"] == 9


def test_combinations_that_are_the_same_trial_are_trained_once(plan_of):
    plan = plan_of("study.axes = {'variant.encoder': ('lru', 'mean'), 'encoders.lru.mode': ('scan', 'loop')}")
    assert len(plan.trials) == 2 * 3  # `mean` has no mode
    assert plan.repeated == 2
    base = plan_of("study.axes = {'K': (None, 2)}\nstudy.combine = 'one_at_a_time'")
    assert [trial.variant for trial in base.trials[::2]] == ["base", "K=2"]
    assert base.repeated == 0  # the base is one of the values, as expected


CONDITIONAL = """
study.axes = {'variant.model': ('gred', 'gin'), 'variant.encoder': ('lru', 'mean'),
              'encoders.lru.mode': ('scan', 'loop')}
study.only = {'variant.encoder': {'variant.model': ('gred',)}, 'encoders.lru.mode': {'variant.encoder': ('lru',)},
              'encoders.lru.r_min': {'variant.encoder': ('lru',)}}
study.match_params = True
study.tune = {'DROPOUT': (0.0, 0.1), 'encoders.lru.r_min': (0.0, 0.9)}
"""


def test_an_axis_with_a_condition_makes_no_meaningless_trials(plan_of):
    plan = plan_of(CONDITIONAL)
    assert Counter(trial.variant for trial in plan.trials) == {
        **{"gred, lru, mode=scan": 4, "gred, lru, mode=loop": 4, "gred, mean": 2, "gin": 2}  # points of their search
    }
    assert plan.repeated == 0
    assert len(plan.final) == 4 * 2
    assert len({round(trial.parameters, -2) for trial in plan.trials if trial.variant.startswith("gred, lru")}) == 1


def test_the_id_is_of_what_determines_the_result(plan_of, tmp_path):
    base = ids(plan_of())
    assert ids(plan_of("study.name = 'another'\nstudy.axes = {'K': (None,)}")) == base
    assert ids(plan_of("encoders.lstm.stacked_layers=2", "fit.device='cpu'", "fit.checkpoint_seconds=0.0")) == base
    assert ids(plan_of("", "SEEDS=(1, 0)")) == base
    assert ids(plan_of("", "WEIGHT_DECAY=1")) == ids(plan_of("", "WEIGHT_DECAY=1.0"))
    for other in (
        *("EPOCHS=3", "LEARNING_RATE=0.1", "K=3", "variant.encoder='rnn'", "SEEDS=(2, 3)", "DROPOUT=0.1"),
        *("encoders.lru.mode='scan'", "datasets.ring_transfer.seed=1", "datasets.ring_transfer.graphs=21"),
    ):
        assert not ids(plan_of("", other)) & base, other


def test_the_id_is_the_same_in_another_process(plan_of, tmp_path):
    plan = plan_of()
    code = "from gredkit.ablation.plan import *\nfor t in make_plan(Source(('study.gin',))).trials: print(t.id)"
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout.split() == [trial.id for trial in plan.trials]


OWN = """
from gredkit.nn.encoders.mean import Mean
from gredkit.registry import ENCODERS

SOURCES = "what a user calls so", 1

@ENCODERS.register("{name}")
class Own(Mean):
    '''Another mean.'''
    def forward(self, z, hops):
        return super().forward(z, hops) * {factor}  {comment}
"""


def test_the_code_of_a_component_counts_but_comments_do_not(tmp_path):
    def ids_with(**values):
        (tmp_path / "own_code.py").write_text(OWN.format(**{"name": "own_code", "comment": "", **values}))
        (tmp_path / "study.gin").write_text(f"{TINY}\nstudy.axes = {{'variant.encoder': ('own_code', 'lru')}}")
        code = (
            "import sys; sys.dont_write_bytecode = True\n"
            "from gredkit.ablation.plan import *\n"
            "for t in make_plan(Source(('study.gin',), (), ('own_code',))).trials: print(t.variant, t.id)"
        )
        said = run("-c", code, cwd=tmp_path)
        assert said.returncode == 0, said.stderr
        return {name: {line.split()[1] for line in said.stdout.splitlines() if line.startswith(name)}
                for name in ("own_code", "lru")}  # fmt: skip

    first, commented, changed = ids_with(factor=2), ids_with(factor=2, comment="# twice"), ids_with(factor=3)
    assert first == commented
    assert first["lru"] == changed["lru"]
    assert not first["own_code"] & changed["own_code"]


def test_every_setting_of_a_trial_as_gin_is_the_same_trial(plan_of, tmp_path):
    text = "study.axes = {'variant.encoder': ('lru', 'attention'), 'variant.positional': ('none', 'lap_pe')}\nDIM = 24"
    for trial in plan_of(text).trials:
        (tmp_path / "config.gin").write_text(gin_text(trial.id, trial.study, trial.settings))
        again = make_plan(Source(("config.gin",)))
        assert [other.id for other in again.trials] == [trial.id]
        assert again.study == trial.study


def test_a_trial_survives_json(plan_of):
    trial = plan_of("study.axes = {'K': (1, 2)}").trials[-1]
    again = Trial.from_dict(json.loads(json.dumps(trial.to_dict())))
    assert [one.id for one in resolve(again, [trial.seed])] == [trial.id]
    assert again.source == trial.source


@pytest.mark.parametrize("budget", [True, 20_000])
def test_matched_variants_have_the_same_number_of_parameters(plan_of, budget):
    plan = plan_of(
        "study.axes = {'variant.encoder': ('lru', 'lstm', 'rnn', 'gru', 'attention', 'mean')}\n"
        f"study.match_params = {budget}\nDIM = 64\nLAYERS = 2"
    )
    wanted = plan.trials[0].parameters if budget is True else budget
    for trial in plan.trials:
        # Without a state, or with heads that divide the width, there are only so many widths to choose from.
        tolerance = {"attention": 0.15, "mean": 0.03}.get(trial.variant, 0.01)
        assert trial.parameters == pytest.approx(wanted, rel=tolerance), trial.variant


def test_the_variant_that_others_are_matched_to_stays_as_it_is(plan_of):
    text = "study.axes = {'variant.aggregator': ('sum', 'pna')}\nDIM = 48\nSTATE_DIM = 24\nstudy.match_params = True"
    first, second = plan_of(text).trials[::2]
    assert (first.settings["models.gred.dim"], first.settings["encoders.lru.state_dim"]) == (48, 24)
    width, state = second.settings["models.gred.dim"], second.settings["encoders.lru.state_dim"]
    assert width < 48
    assert state < width  # its state is narrower, as the first one's is


def test_tuning_searches_the_same_grid_for_every_variant_and_validation_chooses(plan_of):
    plan = plan_of(
        "study.axes = {'variant.encoder': ('lru', 'mean')}\n"
        "study.tune = {'LEARNING_RATE': (0.1, 0.01), 'DROPOUT': (0.0, 0.5)}\nstudy.tune_seeds = (7, 8)"
    )
    assert Counter((t.variant, t.role) for t in plan.trials) == {("lru", "tune"): 8, ("mean", "tune"): 8}
    assert len(plan.final) == 4
    wanted = {"lru": (0.1, 0.5), "mean": (0.01, 0.0)}

    def validation(trial):
        chosen = (trial.settings["fit.learning_rate"], trial.settings["models.gred.dropout"])
        return 0.9 if chosen == wanted[trial.variant] else 0.5

    final = after_tuning(plan, validation)
    assert Counter((t.variant, t.role) for t in final.trials) == {("lru", "final"): 2, ("mean", "final"): 2}
    assert [t.seed for t in final.trials] == [0, 1, 0, 1]
    for trial in final.trials:
        assert (trial.settings["fit.learning_rate"], trial.settings["models.gred.dropout"]) == wanted[trial.variant]


def test_until_decided_a_plan_has_all_seeds_that_may_be_necessary(plan_of):
    text = "study.axes = {'variant.encoder': ('lru', 'mean')}\nstudy.tune = {'LEARNING_RATE': (0.1, 0.01)}"
    fixed, plan = plan_of(text, "SEEDS=(0, 1, 2, 3, 4)"), plan_of(text, "SEEDS='until_decided'", "study.most_seeds=9")
    assert plan.looks == {"ring_transfer": (5, 8, 9)}
    assert fixed.looks == {}
    assert ids(plan) == ids(fixed)  # of tuning
    final = after_tuning(plan, lambda trial: trial.settings["fit.learning_rate"])
    assert Counter(trial.variant for trial in final.trials) == {"lru": 9, "mean": 9}
    assert ids(after_tuning(fixed, lambda trial: trial.settings["fit.learning_rate"])) < ids(final)
    assert final.looks == plan.looks
    assert {trial.compared["looks"] for trial in final.trials} == {"5,8,9"}


def test_a_dataset_may_have_a_list_of_seeds_of_its_own_but_no_other_looks(plan_of, tmp_path):
    """The block of a dataset is read before the file of the study, which has no seeds of its own here."""
    (tmp_path / "study.gin").write_text(TINY.replace("SEEDS = (0, 1)\n", ""))
    for name, line in (("far", "SEEDS = (7,)"), ("near", "SEEDS = 'until_decided'"), ("more", "study.most_seeds = 20")):
        (tmp_path / f"{name}.gin").write_text(f"trial.dataset = 'ring_transfer'\nK = {len(name)}\n{line}\n")
    with (tmp_path / "more.gin").open("a") as file:
        file.write("SEEDS = 'until_decided'\nK = 2")
    plan = make_plan(Source(("study.gin",), ("DATASETS=('far.gin', 'near.gin')",)))
    assert plan.looks == {"near": (5, 8, 12)}
    assert Counter(trial.dataset for trial in plan.trials) == {"far": 1, "near": 12}
    with pytest.raises(UserError, match=r"study\.most_seeds is not the same for all datasets"):
        make_plan(Source(("study.gin",), ("DATASETS=('near.gin', 'more.gin')",)))


def test_tuning_takes_the_smallest_error_and_leaves_out_what_failed(plan_of):
    plan = plan_of("study.tune = {'LEARNING_RATE': (0.1, 0.01, 0.001)}")
    plan = replace(plan, trials=tuple(replace(trial, larger_is_better=False) for trial in plan.trials))
    for bad in (None, float("nan")):
        scores = {0.1: bad, 0.01: 2.0, 0.001: 1.0}
        final = after_tuning(plan, lambda trial: scores[trial.settings["fit.learning_rate"]])  # noqa: B023
        assert {trial.settings["fit.learning_rate"] for trial in final.trials} == {0.001}
    assert len(after_tuning(plan, lambda trial: None).trials) == 2  # it stays in the study, and is seen to fail


@pytest.mark.parametrize(
    ("text", "bindings", "said"),
    [
        ("", ("EPOHCS=3",), "nothing uses the macro 'EPOHCS': did you mean 'EPOCHS'"),
        ("EPOHCS = 3", (), "nothing uses the macro 'EPOHCS'"),
        ("", ("fit.epohcs=3",), "'fit' has no parameter 'epohcs': did you mean 'epochs'"),
        ("", ("encoders.lsmt.stacked_layers=3",), "gin does not know 'encoders.lsmt': did you mean 'encoders.lstm'"),
        ("", ("ftt.epochs=3",), "gin does not know 'ftt': did you mean 'fit'"),
        ("", ("fit.epochs='many'",), r"fit.epochs cannot be 'many': it is declared as int"),
        ("", ("models.gred.dim=8.5",), r"models.gred.dim cannot be 8.5: it is declared as int"),
        ("", ("encoders.lru.state_dim='x'",), r"it is declared as int \| None"),
        ("", ("SEEDS=3",), r"study.seeds cannot be 3"),
        ("", ("SEEDS='undecided'",), r"study.seeds cannot be 'undecided': .* Literal\['until_decided'\]"),
        ("", ("study.most_seeds=4",), "study.most_seeds is a whole number from 5 to"),
        ("", ("fit.epochs=lots",), "fit.epochs=lots: 'lots' is not a value: put quotes around a word, as in"),
        ("", ("EPOCHS=1", "DATASETS=digits"), r"""around a word, as in --set "DATASETS=\('digits',\)", or %"""),
        ("", ("LEARNING_RATE=(1, lots)",), r"\(1, lots\): 'lots' is not a value: put quotes around a word, or %"),
        ("trial.dataset = digits", (), "study.gin, line [0-9]+: 'digits' is not a value"),
        ("", ("fit.epochs=%LOTS",), "the macro %LOTS is used but never set"),
        ("", ("fit.epochs=0",), "epochs is a whole number from 1 "),
        ("", ("fit.device='cuda:99'",), "no device 'cuda:99'"),
        ("", ("encoders.lru.mode='scn'",), "kernel, scan, loop"),
        ("", ("variant.encoder='lsmt'",), "did you mean 'lstm'"),
        ("", ("trial.dataset='ring_trasfer'",), "did you mean 'ring_transfer'"),
        ("", ("DATASETS=('ring_trasfer',)",), "did you mean 'ring_transfer'"),
        ("", ("BUDGET='gpu'",), "there is no gin file 'gin/budgets/gpu.gin'"),
        ("", ("K=-1",), "cannot be -1"),
        ("", ("DROPOUT=2.0",), "dropout is a share"),
        ("", ("LAYERS=-1",), "layers is a whole number from 1 "),
        ("", ("DIM=0",), "dim is a whole number from 1 "),
        ("", ("STATE_DIM=0",), "state_dim is a whole number from 1 "),
        ("", ("encoders.lstm.stacked_layers='x'",), "declared as int"),
        ("", ("encoders.lstm.stacked_layers=0", "variant.encoder='lstm'"), "stacked_layers is a whole number from 1 "),
        ("", ("datasets.ring_transfer.graphs=1",), "no graphs in its"),
        ("", ("DATASETS='digits'",), "a list with at least one name"),
        ("study.axes = {'LEARNING_RATE': (0.1, 0.2)}", ("fit.learning_rate=0.5",), "'LEARNING_RATE' changes nothing"),
        ("study.tune = {'DROPOUT': (0.1, 0.2)}", ("models.gred.dropout=0.5",), "'DROPOUT' changes nothing"),
        ("include 'gin/suites/embeded.gin'", (), "did you mean 'gin/suites/embedded.gin'"),
        ("study.axes = {'K': (1, 2)}", ("K=3",), "'K' is an axis of this study"),
        ("study.axes = {'variant.encodr': ('lru',)}", (), "did you mean 'encoder'"),
        ("study.axes = {'variant.encoder': ('lru', 'lsmt')}", (), "did you mean 'lstm'"),
        ("variant.encoder == 'lru'", (), "line"),
        ("variant.model = 'gin'\nstudy.axes = {'variant.encoder': ('lru', 'rnn')}", (), "'gin' has no part 'encoder'"),
        (
            "study.axes = {'variant.model': ('gin', 'gps'), 'encoders.lru.mode': ('scan', 'loop')}",
            (),
            "'encoders.lru.mode' changes nothing: the models 'gin' and 'gps' have no part 'encoder'",
        ),
        ("study.axes = {'encoders.lstm.init': ('orthogonal',)}", (), "no trial with it has variant.encoder = 'lstm'"),
        ("study.variants = {'a': {}, 'b': {'models.gin.layers': 2}}", (), "with it has variant.model = 'gin'"),
        ("", ("variant.model='gin'", "variant.encoder='lstm'"), "'variant.encoder' changes nothing: the model 'gin'"),
        ("", ("encoders.lstm.stacked_layers=2",), "no trial has variant.encoder = 'lstm'"),
        (
            "variant.model = 'gin'\nstudy.axes = {'K': (1, 2)}",
            (),
            "'K' changes nothing: no model of this study reads hops",
        ),
        (
            "study.axes = {'K': (1, 2)}\nstudy.only = {'KK': {'K': (1,)}}",
            (),
            "'KK', which is no axis: did you mean 'K'",
        ),
    ],
)
def test_mistakes_are_seen_before_any_training(plan_of, text, bindings, said):
    with pytest.raises(UserError, match=said) as raised:
        plan_of(text, *bindings)
    assert "\n" not in str(raised.value)


def test_a_dataset_that_is_overridden_for_all_is_a_mistake(plan_of, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.gin").write_text("trial.dataset = 'tree_match'")
    with pytest.raises(UserError, match="'one' and 'two' come out as the same trial"):
        plan_of("DATASETS = ('one.gin', 'two.gin')\ntrial.dataset = 'ring_transfer'")
