import pytest
from helpers.commands import fails_with_a_sentence, run

from gredkit.config.configuration import SETTINGS
from gredkit.registry import REGISTRIES, hyperparameters

KINDS = {**REGISTRIES, "settings": SETTINGS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_component_is_listed_with_its_parameters(kind):
    result = run("-m", "gredkit.components", kind)
    assert result.returncode == 0, result.stderr
    words = result.stdout.replace("│", " ").split()
    for name, component in KINDS[kind].items():
        assert name in words
        for parameter, default in hyperparameters(component).items():
            assert any(word.startswith(f"{parameter}=") for word in words), (name, parameter, default)


def test_all_kinds_are_listed_by_default():
    result = run("-m", "gredkit.components")
    assert all(f"{kind}\n" in result.stdout.replace(" ", "") for kind in KINDS)


def test_an_unknown_kind_is_a_mistake():
    line = fails_with_a_sentence(run("-m", "gredkit.components", "encodrs"))
    assert "there is no kind 'encodrs': did you mean 'encoders'" in line


def test_a_missing_module_is_a_mistake():
    line = fails_with_a_sentence(run("-m", "gredkit.components", "--import", "no_such.module"))
    assert "cannot import 'no_such.module'" in line
