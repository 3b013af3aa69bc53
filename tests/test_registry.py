import pytest
from helpers.commands import fails_with_a_sentence, run

from gredkit.errors import UserError
from gredkit.registry import ENCODERS, REGISTRIES, Registry, describe, hyperparameters


@pytest.fixture
def colours():
    return Registry("colour", "colours", "gredkit.reports")


def test_a_class_is_found_by_its_name(colours):
    @colours.register("red")
    class Red:
        """A warm one."""

    assert colours["red"] is Red
    assert colours.resolve("red") is Red
    assert colours.resolve(Red) is Red
    assert "red" in colours
    assert "blue" not in colours
    assert describe(Red) == "A warm one."


def test_a_duplicate_raises_and_names_the_first_owner(colours):
    @colours.register("red")
    class Crimson: ...

    with pytest.raises(UserError, match=r"colour 'red' of .*Scarlet is already registered by .*Crimson"):

        @colours.register("red")
        class Scarlet: ...

    assert colours["red"] is Crimson


def test_the_names_of_gredkit_come_first(tmp_path):
    """Even where nothing has asked for them yet: the one to blame is the later one."""
    (tmp_path / "mine.py").write_text(
        "from gredkit.registry import REPORTS\n@REPORTS.register('tables')\ndef mine(): ...\n"
    )
    line = fails_with_a_sentence(run("-m", "gredkit.components", "--import", "mine", cwd=tmp_path))
    assert "report 'tables' of mine.mine is already registered by gredkit.reports.generators.tables.tables" in line


def test_a_cell_of_a_notebook_can_be_run_again(colours):
    def cell():
        @colours.register("red")
        class Red: ...

        return Red

    cell()
    again = cell()
    assert colours["red"] is again


def test_an_unknown_name_raises_with_the_nearest_ones():
    with pytest.raises(KeyError) as caught:
        ENCODERS["lsmt"]
    assert str(caught.value).startswith("unknown encoder 'lsmt': did you mean 'lstm'")
    assert "weighted_sum" in str(caught.value)
    with pytest.raises(UserError, match="unknown encoder 'qqqqqq': known encoders: attention"):
        ENCODERS["qqqqqq"]


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_kind_has_entries_and_each_says_what_it_is(kind):
    registry = REGISTRIES[kind]
    assert len(registry) == len(list(registry)) > 0
    assert list(registry) == sorted(registry)
    for name, component in registry.items():
        assert len(describe(component)) > 10, name
        assert "\n" not in describe(component)
        assert "Shape:" not in describe(component)
        assert describe(component).endswith(".") or not component.__module__.startswith("gredkit."), name


def test_hyperparameters_are_those_with_defaults():
    assert hyperparameters(ENCODERS["attention"]) == {"heads": 8, "order": False}
    assert "dim" not in hyperparameters(ENCODERS["lru"])
    assert hyperparameters(ENCODERS["mean"]) == {}


def test_expected_components_are_there():
    expected = {
        "aggregators": "attention max mean pna sum",
        "encoders": "attention gru lru lstm mean rnn weighted_sum",
        "positional": "degree lap_pe none rwse",
        "features": "categorical dense embedding",
        "losses": "balanced_cross_entropy binary_cross_entropy cross_entropy huber l1 l2",
        "metrics": "accuracy average_precision class_mean_accuracy macro_f1 mae r2 rmse roc_auc",
    }
    for kind, names in expected.items():
        assert set(names.split()) <= set(REGISTRIES[kind]), kind


OWN = """
from gredkit.nn.encoders.mean import Mean
from gredkit.registry import ENCODERS

@ENCODERS.register("near_and_far")
class NearAndFar(Mean):
    '''A component of the user's own.'''
"""


@pytest.mark.parametrize("file", ["near_and_far.py", "my_parts.py", "parts/encoders.py"])
@pytest.mark.parametrize("binding", ["variant.encoder='near_and_far'", "encoders.near_and_far.width=3"])
def test_an_unknown_name_whose_module_lies_in_the_folder_hints_at_import(file, binding, tmp_path):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(OWN)
    (tmp_path / "tiny.gin").write_text("SEEDS = (0,)")
    (tmp_path / "broken.py").write_bytes(b"\xff\xfe")
    (tmp_path / "others.py").write_text("AGGREGATORS.register('near_and_far')")  # of another kind
    study = ("-m", "gredkit.run", "--gin", "tiny.gin", "--dry-run", "--set", binding)
    said = fails_with_a_sentence(run(*study, cwd=tmp_path))
    module = file.removesuffix(".py").replace("/", ".")
    assert said.endswith(f"the module {module!r} in this folder registers it: add --import {module}")
