import pytest
from helpers.commands import fails_with_a_sentence, run
from helpers.terminals import run_in_terminal

from gredkit.config.configuration import SETTINGS
from gredkit.registry import REGISTRIES, hyperparameters

KINDS = {**REGISTRIES, "settings": SETTINGS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_component_is_listed_with_its_parameters(kind):
    result = run("-m", "gredkit.components", kind)
    assert result.returncode == 0, result.stderr
    assert_listed(kind, result.stdout)


def assert_listed(kind, printed):
    words = printed.split()
    own = {name: one for name, one in KINDS[kind].items() if one.__module__.startswith("gredkit.")}  # tests add others
    assert own
    for name, component in own.items():
        assert name in words
        for parameter, default in hyperparameters(component).items():
            shown = f"{parameter}={default!r}".split()[0]
            assert any(word.startswith(shown) for word in words), (name, parameter, default)


def test_in_a_narrow_terminal_no_word_is_cut(tmp_path):
    code, printed = run_in_terminal("-m", "gredkit.components", cwd=tmp_path, columns=80)
    assert code == 0
    assert max(map(len, printed.splitlines())) <= 80
    for kind in KINDS:
        assert_listed(kind, printed)


def test_all_kinds_are_listed_by_default():
    result = run("-m", "gredkit.components")
    assert all(f"{kind}\n" in result.stdout.replace(" ", "") for kind in KINDS)


def test_an_unknown_kind_is_a_mistake():
    line = fails_with_a_sentence(run("-m", "gredkit.components", "encodrs"))
    assert "there is no kind 'encodrs': did you mean 'encoders'" in line


def test_a_missing_module_is_a_mistake():
    line = fails_with_a_sentence(run("-m", "gredkit.components", "--import", "no_such.module"))
    assert "cannot import 'no_such.module'" in line
