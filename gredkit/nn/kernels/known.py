"""The table of modules that the kernels (and `gredkit.nn.stacked`) can replace, with every weight and setting.

Before a weight is used, the module is compared with the table. If anything differs (another type, a replaced
part, a hook, a method or number changed on the object or on its class, a weight that is not a plain tensor of
the right size), nothing replaces the module, and it is called like any other module.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.module import _has_any_global_hook

from gredkit.nn.kernels.usable import is_plain

Bound = dict[Any, Any]  # sizes and settings by their names in the table; shapes by the names of their sizes
Check = Callable[[Any, Bound], bool]
Class = TypeVar("Class", bound=type)
METHODS = (FunctionType, property, cached_property)

_kinds: dict[type, str] = {}  # the name of a class in the table
_methods: dict[type, frozenset[str]] = {}  # the methods of trusted classes
_originals: list[tuple[Any, str, Any]] = []  # owner, name and original value of everything that must not change


def trusted(cls: Class) -> Class:
    """Class decorator: remember the methods as they are now, because kernels run instead of them."""
    methods = {name: one for name, one in vars(cls).items() if isinstance(one, METHODS) and name != "__init__"}
    _methods[cls] = frozenset(name for name, one in methods.items() if not isinstance(one, cached_property))
    _originals.extend((cls, name, one) for name, one in methods.items())
    return cls


def known(cls: Class) -> Class:
    """Class decorator: from now on the table knows this class of modules."""
    _kinds[cls] = next((_kinds[base] for base in cls.__bases__ if base in _kinds), cls.__name__)
    _originals.append((cls, "forward", cls.forward))  # type: ignore[attr-defined]
    return trusted(cls)


def is_itself(one: object) -> bool:
    """Whether the object's class is trusted and none of its methods was replaced on the object."""
    methods = _methods.get(type(one))
    return methods is not None and methods.isdisjoint(vars(one))


def kind_of(module: nn.Module) -> str:
    """The name of the module's class in the table; empty if it has none."""
    return _kinds.get(type(module), "")


for _class in (nn.Linear, nn.LayerNorm, nn.GELU, nn.Dropout, nn.Identity, nn.Embedding):
    _kinds[_class] = _class.__name__
    _originals.append((_class, "forward", _class.forward))
for _network in (nn.RNN, nn.LSTM, nn.GRU):
    _kinds[_network] = f"nn.{_network.__name__}"  # gredkit's encoders have the names without "nn."
    _originals.append((_network, "forward", _network.forward))
_originals += [(nn.Module, name, getattr(nn.Module, name)) for name in ("__call__", "_call_impl", "__getattr__")]
_originals += [(F, name, getattr(F, name)) for name in ("linear", "layer_norm", "gelu", "dropout", "embedding")]


# The vocabulary of the table: conditions on a setting.


def anything(value: Any, bound: Bound) -> bool:
    """Any value: neither the kernels nor the module's forward pass read it."""
    return True


def alike(name: str, is_fit: Callable[[Any], bool]) -> Check:
    """A valid value that is the same wherever the name occurs."""
    return lambda value, bound: is_fit(value) and bound.setdefault(name, value) == value


def exactly(*values: Any) -> Check:
    """One of these."""
    is_fit = among(*values)
    return lambda value, bound: is_fit(value)


def among(*values: Any) -> Callable[[Any], bool]:
    """Whether a value is one of these, which are of one type."""
    return lambda value: type(value) is type(values[0]) and value in values


def is_share(value: Any) -> bool:
    """Whether it is a dropout share below 1, also after rounding to a multiple of 2**-32."""
    return type(value) in (int, float) and 0 <= value < 1 and round(value * 2**32) < 2**32


def is_size(value: Any) -> bool:
    return type(value) is int and value > 0


def is_small(value: Any) -> bool:
    return type(value) is float and 0 < value < 1


@dataclass(frozen=True)
class Part:
    """A module that the kernels know: its class and all of its weights, parts and settings."""

    kind: str
    weights: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the names of each weight's sizes
    parts: Mapping[str, tuple["Part", ...]] = field(default_factory=dict)  # the alternatives; anything if empty
    settings: Mapping[str, Check] = field(default_factory=dict)
    listed: str = ""  # the attribute that lists the same weights again, if there is one

    # Computed once, because `read` needs them for each module in each step.
    attributes: frozenset[str] = field(init=False)  # all names in the module's __dict__
    checks: tuple[tuple[str, Check], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", frozenset(vars(nn.Module())) | set(self.settings))
        object.__setattr__(self, "checks", tuple(one for one in self.settings.items() if one[1] is not anything))

    def read(self, module: Any, bound: Bound, weights: list[Tensor], is_fit: Callable[[Any], bool]) -> bool:
        """Whether the module matches; adds its weights to `weights`, and its sizes and settings to `bound`."""
        if _kinds.get(type(module)) != self.kind:
            return False
        state = module.__dict__
        if (
            state.keys() != self.attributes
            or state["_forward_hooks"]
            or state["_forward_pre_hooks"]
            or state["_backward_hooks"]
            or state["_backward_pre_hooks"]
            or state["_buffers"]
            or state["_parameters"].keys() != self.weights.keys()
            or state["_modules"].keys() != self.parts.keys()
        ):
            return False
        for name, check in self.checks:
            if not check(state[name], bound):
                return False
        for name, sizes in self.weights.items():
            if not is_fit(weight := state["_parameters"][name]):
                return False
            if bound.get(sizes) != (shape := weight.shape) and not _binds(sizes, shape, bound):
                return False
            weights.append(weight)
        if self.listed and list(map(id, state[self.listed])) != list(map(id, weights[-len(self.weights) :])):
            return False
        for name, parts in self.parts.items():
            if parts and not any(part.read(state["_modules"][name], bound, weights, is_fit) for part in parts):
                return False
        return True


def _binds(sizes: tuple[str, ...], shape: tuple[int, ...], bound: Bound) -> bool:
    """Whether a weight can have this shape; if so, the shape is bound to the names of its sizes."""
    if len(shape) != len(sizes) or any(
        bound.setdefault(name, size) != size or not size for name, size in zip(sizes, shape, strict=True)
    ):
        return False
    bound[sizes] = shape
    return True


# The table. Weights are in the order that the kernels expect; d, m and n are the widths of the rows, of the set MLP
# and of the state of the recurrence.


def linear(outputs: str, inputs: str) -> Part:
    return Part(
        "Linear",
        weights={"weight": (outputs, inputs), "bias": (outputs,)},
        settings={"in_features": anything, "out_features": anything},
    )


DENSE = linear("out", "d")
NORM = Part(
    "LayerNorm",
    weights={"weight": ("d",), "bias": ("d",)},
    settings={
        "normalized_shape": lambda value, bound: type(value) is tuple and value == (bound.get("d"),),
        "eps": alike("eps", is_small),
        "elementwise_affine": anything,
    },
)
GELU = Part("GELU", settings={"approximate": alike("gelu", among("none", "tanh"))})
MLP = Part(
    "SetMLP",
    parts={"norm": (NORM,), "up": (linear("m", "d"),), "gelu": (GELU,), "down": (linear("d", "m"),)},
    settings={"skip": exactly(True)},
)
RECURRENCE = Part(
    "LRU",
    weights={
        "nu_log": ("eigenvalues",),
        "theta_log": ("eigenvalues",),
        "gamma_log": ("n",),
        "in_re": ("n", "d"),
        "in_im": ("n", "d"),
        "out_re": ("d", "n"),
        "out_im": ("d", "n"),
    },
    settings={
        "dim": alike("d", is_size),
        "state_dim": alike("n", is_size),
        "shared": lambda value, bound: alike("eigenvalues", is_size)(1 if value is True else bound["n"], bound),
        "mode": exactly("auto", "kernel"),
    },
)


def recurrent(kind: str, **settings: Check) -> Part:
    """A recurrent encoder and PyTorch's network in it, with one layer that reads in one direction."""
    network = Part(
        f"nn.{kind}",
        weights={
            "weight_ih_l0": ("gates", "d"),
            "weight_hh_l0": ("gates", "n"),
            "bias_ih_l0": ("gates",),
            "bias_hh_l0": ("gates",),
        },
        settings={
            "mode": anything,
            "input_size": alike("d", is_size),
            "hidden_size": alike("n", is_size),
            "num_layers": exactly(1),
            "bias": exactly(True),
            "batch_first": anything,  # packed sequences have no such order
            "dropout": anything,  # between layers
            "bidirectional": exactly(False),
            "proj_size": exactly(0),
            "_flat_weights": anything,
            "_flat_weights_names": anything,
            "_flat_weight_refs": anything,
            "_all_weights": anything,
            **settings,
        },
        listed="_flat_weights",
    )
    return Part(kind, parts={"rnn": (network,), "out": (linear("d", "n"),)}, settings={"init": anything})


RECURRENT = {
    "RNN": recurrent("RNN", mode=exactly("RNN_TANH"), nonlinearity=anything),
    "LSTM": recurrent("LSTM"),
    "GRU": recurrent("GRU"),
}
ATTENTION = Part(
    "Attention",
    parts={
        **{name: (linear("inner", "d"),) for name in ("query", "key", "value")},
        "out": (linear("d", "inner"),),
    },
    settings={"heads": alike("heads", is_size), "order": exactly(False)},
)
GLU = Part("GLU", parts={"value": (linear("d", "d"), Part("Identity")), "gate": (linear("d", "d"),)})
DROPOUT = Part(
    "Dropout",
    settings={
        "p": alike("dropout", is_share),
        "inplace": exactly(False),
        "training": alike("training", among(True, False)),
    },
)


def layer(encoders: tuple[Part, ...], *aggregators: Part) -> Part:
    return Part(
        "GREDLayer",
        parts={
            "aggregator": aggregators,
            "mlp": (MLP,),
            "norm": (NORM,),
            "encoder": encoders,
            "gelu": (GELU,),
            "glu": (GLU,),
            "dropout": (DROPOUT,),
        },
        settings={
            "dim": anything,
            "skip": exactly(True),
            "empty_hops": alike("empty_hops", among("constant", "zero")),
            "direction": alike("direction", among("far_to_near", "near_to_far")),
        },
    )


# On a CPU 'auto' is 'native' for sums; with torch_scatter the aggregator is called, and kernels take over behind it.
SUMS = Part("SumAggregator", settings={"backend": exactly("native", "auto")})
LAYER = layer((RECURRENCE,), SUMS)  # what `gredkit.nn.stacked` computes
IN_C = (RECURRENCE, *RECURRENT.values(), ATTENTION)
WITH_SUMS, BEHIND_SUMS = layer(IN_C, SUMS), layer(IN_C)  # the second: any aggregator, which has already been called
EMBEDDING = Part(
    "Embedding",
    weights={"weight": ("symbols", "d")},
    settings={
        "num_embeddings": anything,
        "embedding_dim": anything,
        "padding_idx": exactly(None),
        "max_norm": exactly(None),
        "norm_type": anything,
        "scale_grad_by_freq": exactly(False),
        "sparse": exactly(False),
    },
)


class Found(NamedTuple):
    """What was read from modules: the weights of each, in the order of the table, and common sizes and settings."""

    weights: list[list[Tensor]]
    bound: Bound

    @property
    def gelu(self) -> str:
        return self.bound["gelu"]

    @property
    def eps(self) -> float:
        return self.bound["eps"]

    @property
    def dropout(self) -> float:
        """The share that is dropped now: 0 outside training."""
        return self.bound["dropout"] if self.bound["training"] else 0.0


def read(
    *modules: tuple[Part, nn.Module | None], is_fit: Callable[[Any], bool] = is_plain, **bound: Any
) -> Found | None:
    """What is needed to replace the modules, or None if a module differs from the table.

    Sizes and settings with the same name must be equal in all modules and equal to those given as `bound`.

    is_fit: whether a weight can be used
    """
    if _has_any_global_hook() or any(getattr(owner, name) is not one for owner, name, one in _originals):
        return None
    found: list[list[Tensor]] = []
    for part, module in modules:
        found.append([])
        if not part.read(module, bound, found[-1], is_fit):
            return None
    return Found(found, bound)
