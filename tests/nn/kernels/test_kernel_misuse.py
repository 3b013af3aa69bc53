"""Whatever Python passes to the kernels, C reads nothing that is not there: it computes, or an exception says why not.

`make sanitize` runs this with kernels that notice every byte that is read or written out of place.
"""

import copy
import pickle
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any

import pytest
import torch
from helpers.kernel_calls import NAMES, NODES, SETS, case_of, index_of, matrix_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gredkit.nn.incidence import Incidence
from gredkit.nn.kernels import encoder_ops, ops, steps
from gredkit.nn.kernels.call import LARGEST
from gredkit.nn.kernels.encoders import Encoder
from gredkit.nn.kernels.index import Index, Sums
from gredkit.nn.kernels.states import States

pytestmark = pytest.mark.needs("compiler")

PLAIN = (ValueError, IndexError, TypeError, AttributeError, RuntimeError, OverflowError, MemoryError)


class Subclass(Tensor):
    """Which may mean anything."""


TENSORS = {
    "a row less": lambda x: x[:-1].clone(),
    "a row more": lambda x: torch.cat([x, x[:1]]),
    "no rows": lambda x: x[:0],
    "a column less": lambda x: x[..., :-1].contiguous(),
    "a column more": lambda x: torch.cat([x, x[..., :1]], -1),
    "no columns": lambda x: x[..., :0],
    "transposed": lambda x: x.transpose(0, -1),
    "turned": lambda x: x.transpose(0, -1).contiguous(),
    "flat": lambda x: x.flatten(),
    "a dimension more": lambda x: x[None],
    "a number": lambda x: x.flatten()[0],
    "every second": lambda x: torch.cat([x, x])[::2],
    "expanded": lambda x: x.flatten()[:1].expand(x.shape),
    "double": lambda x: x.double(),
    "half": lambda x: x.half(),
    "whole": lambda x: x.long(),
    "short": lambda x: x.int(),
    "bool": lambda x: x.bool(),
    "complex": lambda x: x.to(torch.complex64),
    "elsewhere": lambda x: x.to("meta"),
    "negated": lambda x: torch._neg_view(x),
    "zeros that are not there": lambda x: torch._efficientzerotensor(x.shape, dtype=x.dtype),
    "sparse": lambda x: x.detach().to_sparse(),
    "a subclass": lambda x: x.detach().as_subclass(Subclass),
    "negative": lambda x: -1 - x,
    "huge": lambda x: x + 10**9 if x.dtype is torch.int64 else x * float("inf"),
    "nan": lambda x: x * float("nan"),
    "backwards": lambda x: x.flip(0),
}
OTHERS: dict[type, list[Any]] = {
    int: [0, -1, LARGEST + 1, 2**31, 2**40, 10**30, 1.5, None, "3", torch.tensor(3)],
    float: [float("nan"), float("inf"), -1.0, 1.0, 2.0, None, "a", 1 - 1e-12],
    str: ["", "erf", "NONE", None, 1],
    bool: [False, None],
}


def changed(value: Any, random: Random) -> Any:
    """Something else in the place of an argument, or of a part of it."""
    kind = random.randrange(10)
    if kind == 0:
        return random.choice([None, "x", 0, 10**30, [], (), torch.zeros(3), torch.zeros(3, 5), object()])
    if isinstance(value, Tensor):
        return _tried(TENSORS[random.choice(sorted(TENSORS))], value)
    if isinstance(value, (Index, States)):
        other = index_of(random.randint(1, 2 * NODES), random.randint(2 * NODES, 2 * SETS), random.randint(1, 9))
        return other if isinstance(value, Index) else States(other)
    if isinstance(value, (Sums, Incidence)):
        matrix = matrix_of(random.randint(0, 2 * SETS), random.randint(1, 2 * NODES))
        return matrix.sums if isinstance(value, Sums) else matrix
    if hasattr(value, "_replace"):
        name = random.choice(value._fields)
        return value._replace(**{name: changed(getattr(value, name), random)})
    if isinstance(value, (list, tuple)):
        if not value or kind == 1:
            return type(value)([*value, *value[:1]])
        at = random.randrange(len(value))
        if kind == 2:
            return [*value[:at], *value[at + 1 :]]
        return [*value[:at], changed(value[at], random), *value[at + 1 :]]
    return random.choice(OTHERS.get(type(value), [None]))


def _tried(change: Any, value: Tensor) -> Any:
    """The tensor as it is where it cannot be changed so."""
    try:
        return change(value)
    except (RuntimeError, IndexError, TypeError):
        return value


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("name", NAMES)
@given(st.integers(0, 2**32))
def test_anything_in_the_place_of_an_argument(name, seed):
    case, random = case_of(name), Random(seed)
    arguments = dict(case.arguments)
    for argument in random.choices(sorted(arguments), k=random.randint(1, 2)):
        arguments[argument] = changed(arguments[argument], random)
    with suppress(*PLAIN):
        case._replace(arguments=arguments)()


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("steps.", "encoders."))])
def test_a_tensor_whose_memory_was_taken_away_is_refused(name):
    case = case_of(name)
    for argument, value in case.arguments.items():
        if isinstance(value, Tensor):
            emptied = value.clone()
            emptied.untyped_storage().resize_(0)
            with pytest.raises(ValueError, match="a kernel takes"):
                case.function(**case.arguments | {argument: emptied})


WHOLE = st.integers(-3, 12) | st.sampled_from([2**31, 2**40, -(2**63), 2**63 - 1])


@given(st.lists(WHOLE, max_size=8), st.lists(WHOLE, max_size=12), st.integers(-1, 12))
@settings(max_examples=400)
def test_an_index_is_refused_or_lists_what_is_there(start, listed, count):
    def is_there(nodes_only: bool) -> bool:
        steps_up = all(a < b if nodes_only else a <= b for a, b in pairwise(start))
        whole = bool(start) and start[0] == 0 and start[-1] == len(listed) and steps_up and count >= 0
        return whole and all(0 <= one < count for one in listed)

    def made(kind):
        try:
            return kind(torch.tensor(start, dtype=torch.long), torch.tensor(listed, dtype=torch.long), count)
        except (ValueError, IndexError):
            return None

    assert (made(Sums) is not None) == is_there(nodes_only=False)
    own = [listed[at] for at in start[:-1]] if is_there(nodes_only=True) else []
    assert (made(Index) is not None) == (is_there(nodes_only=True) and count > 0 and len(set(own)) == len(own))


@pytest.mark.parametrize("kind", [Sums, Index, States])
def test_an_index_that_is_written_to_is_refused(kind):
    case = case_of(kind.__name__)
    for name in [name for name, value in vars(kind(**case.arguments)).items() if isinstance(value, Tensor)]:
        made = kind(*(x.clone() if isinstance(x, Tensor) else x for x in case.arguments.values()))
        made.unchanged()
        getattr(made, name)[-1:] += 10**6
        with pytest.raises(ValueError, match="changed"):
            _use(made)


def _use(index: Index | Sums | States) -> Tensor:
    if isinstance(index, Sums):
        return ops.set_sum(torch.zeros(NODES, 3), index)
    if isinstance(index, States):
        square, row = torch.zeros(2, 2), torch.zeros(2)
        weights = [square, square, row, row, square, row]
        return encoder_ops.encoder(Encoder("RNN", index), torch.zeros(SETS, 2), index.index, weights)
    return ops.hop_scan(torch.zeros(SETS, 2), torch.zeros(2, 1), index)


@pytest.mark.parametrize("name", ["Index", "Sums", "States"])
def test_copies_of_an_index_are_as_good(name):
    made = case_of(name).function(**case_of(name).arguments)
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert torch.equal(_use(other), _use(made))
    with torch.inference_mode():
        inside = case_of(name).function(
            *(x.clone() if isinstance(x, Tensor) else x for x in case_of(name).arguments.values())
        )
        assert torch.equal(_use(inside), _use(made))
    assert torch.equal(_use(inside), _use(made))


def test_states_of_an_index_that_is_written_to_are_refused():
    index = index_of()
    states = States(index)
    _use(states)
    index.sets[-1:] += 10**6
    with pytest.raises(ValueError, match="changed"):
        _use(states)


def test_an_encoder_heads_and_states_that_no_kernel_knows():
    case = case_of("encoders.RNN")
    of = case.arguments["of"]
    for wrong, said in (
        (of._replace(kind="rnn"), "one of RNN, LSTM, GRU, Attention, LRU, not 'rnn'"),
        (of._replace(states=None), "the states do not belong to the index"),
        (of._replace(states=States(index_of())), "the states do not belong to the index"),
    ):
        with pytest.raises(ValueError, match=said):
            case.function(**case.arguments | {"of": wrong})
    case = case_of("encoders.Attention")
    with pytest.raises(ValueError, match="7 heads, do not divide 30 rows"):
        case.function(**case.arguments | {"of": case.arguments["of"]._replace(heads=7)})


def test_fewer_matrices_than_hops_are_refused():
    case = case_of("steps.hop_filter")
    with pytest.raises(ValueError, match="3 hops, but there are matrices for 2"):
        steps.hop_filter(**case.arguments | {"matrices": case.arguments["matrices"][:2].contiguous()})


def test_two_nodes_with_one_set_at_hop_0_are_refused():
    with pytest.raises(IndexError, match="two nodes"):
        Index(torch.tensor([0, 1, 2]), torch.tensor([0, 0]), 3)


@pytest.mark.parametrize("share", [1.0, 1.5, -0.1, float("nan")])
def test_dropout_that_leaves_nothing_is_refused(share):
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        steps.Dropout.of(share)
