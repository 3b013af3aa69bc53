from functools import partial

import pytest

from gredkit import GRED, GraphSpec, count_parameters
from gredkit.errors import UserError
from gredkit.nn.parameters import width_for, widths_for
from gredkit.registry import ENCODERS

SPEC = GraphSpec(nodes=(28,), outputs=1, edges=(4,))


STATES = ("gla", "gru", "lru", "lstm", "mingru", "retention", "rg_lru", "rnn")


@pytest.mark.parametrize(("name", "layers"), [*((name, 4) for name in STATES), ("lru", 11), ("gru", 16)])
def test_recurrent_variants_meet_the_papers_budget(name, layers):
    def build(width, state):
        return GRED(SPEC, dim=width, layers=layers, encoder=partial(ENCODERS[name], state_dim=state))

    width, state = widths_for(build, 500_000)
    assert abs(count_parameters(build(width, state)) - 500_000) <= 5_000
    assert 0.3 < state / width < 3


@pytest.mark.parametrize(("name", "budget"), [*((name, 20_000) for name in ENCODERS), ("lru", 500_000)])
def test_no_other_width_is_nearer(name, budget):
    def miss(width):
        return abs(count_parameters(GRED(SPEC, dim=width, layers=4, encoder=name)) - budget)

    width = width_for(lambda width: GRED(SPEC, dim=width, layers=4, encoder=name), budget)
    assert miss(width) == min(miss(w) for w in range(max(width - 9, 1), width + 10))


def test_a_budget_that_cannot_be_met_is_a_mistake():
    with pytest.raises(UserError, match="no width gives 100 parameters within 1%"):
        widths_for(lambda width, state: GRED(SPEC, dim=width), 100)
