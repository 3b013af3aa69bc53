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
