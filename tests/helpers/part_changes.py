"""What somebody may do to a part of a model: replace, wrap, subclass, patch, parametrise, prune, share, reshape it."""

import operator
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize, prune


class Place(NamedTuple):
    """A module, and where it is found; a whole layer is found in the list that holds it."""

    parent: nn.Module
    name: str
    module: nn.Module
    root: nn.Module

    def put(self, module: Any) -> None:
        setattr(self.parent, self.name, module)


Change = Callable[[Place], None]


def scaled(result: Any) -> Any:
    """Something else than what it was, if it is made of numbers."""
    if isinstance(result, Tensor):
        return 1.25 * result if result.is_floating_point() or result.is_complex() else result
    return type(result)(map(scaled, result)) if type(result) in (tuple, list) else result


def noted(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *inputs: scaled(function(*inputs))


class Wrapper(nn.Module):
    """Calls what it holds, and has a parameter of its own."""

    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner
        self.factor = nn.Parameter(torch.tensor(0.7))

    def forward(self, *inputs: Any) -> Any:
        result = self.inner(*inputs)
        return result * self.factor if isinstance(result, Tensor) else result


class Exposing(Wrapper):
    """A wrapper that shows what its inner module has, as adapters do."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules["inner"], name)


class Scale(nn.Module):
    """A parametrisation with a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(0.6))

    def forward(self, weight: Tensor) -> Tensor:
        return weight * self.factor


class Marked(Tensor):
    """A tensor of another class."""


def subclass(place: Place) -> None:
    base = type(place.module)
    place.module.__class__ = type(f"Own{base.__name__}", (base,), {"forward": _own_forward(base)})
    place.module.factor = nn.Parameter(torch.tensor(0.8))


def _own_forward(base: type) -> Callable[..., Any]:
    def forward(self: nn.Module, *inputs: Any) -> Any:
        result = base.forward(self, *inputs)  # type: ignore[attr-defined]
        return result * self.factor if isinstance(result, Tensor) else result

    return forward


def same_by_another_class(place: Place) -> None:
    place.module.__class__ = type("Same", (type(place.module),), {})


def share_a_module(place: Place) -> None:
    others = [m for m in place.root.modules() if type(m) is type(place.module) and m is not place.module]
    place.put(others[0])


def replacements(dim: int) -> dict[str, Change]:
    """Another module in the place."""
    modules: dict[str, Callable[[], Any]] = {
        "Identity": nn.Identity,
        "ReLU": nn.ReLU,
        "Linear": lambda: nn.Linear(dim, dim),
        "Linear without bias": lambda: nn.Linear(dim, dim, bias=False),
        "a wider Linear": lambda: nn.Linear(dim, 512),
        "a narrower Linear": lambda: nn.Linear(dim, 4),
        "Linear of other inputs": lambda: nn.Linear(dim + 3, dim),
        "Sequential": lambda: nn.Sequential(nn.Linear(dim, dim), nn.Tanh()),
        "GELU, erf": lambda: nn.GELU("none"),
        "GELU, tanh": lambda: nn.GELU("tanh"),
        "LayerNorm": lambda: nn.LayerNorm(dim),
        "LayerNorm of large eps": lambda: nn.LayerNorm(dim, eps=1e-2),
        "LayerNorm without weights": lambda: nn.LayerNorm(dim, elementwise_affine=False),
        "LayerNorm without bias": lambda: nn.LayerNorm(dim, bias=False),
        "LayerNorm of fewer columns": lambda: nn.LayerNorm(4),
        "RMSNorm": lambda: nn.RMSNorm(dim),
        "BatchNorm": lambda: nn.BatchNorm1d(dim),
        "AlphaDropout": lambda: nn.AlphaDropout(0.0),
        "all dropped": lambda: nn.Dropout(1.0),
        "inplace": lambda: nn.Dropout(0.0, inplace=True),
        "None": lambda: None,
    }

    def put(make: Callable[[], Any], place: Place) -> None:
        place.put(make())

    return {f"replaced by {name}": partial(put, make) for name, make in modules.items()}


def of_module() -> dict[str, Change]:
    """What can be done to any module."""
    return {
        "nothing": lambda place: None,
        "deleted": lambda place: delattr(place.parent, place.name),
        "wrapped": lambda place: place.put(Wrapper(place.module)),
        "wrapped and exposed": lambda place: place.put(Exposing(place.module)),
        "in a Sequential": lambda place: place.put(nn.Sequential(place.module)),
        "subclassed": subclass,
        "of a class that is the same": same_by_another_class,
        "shared": share_a_module,
        "frozen": lambda place: place.module.requires_grad_(False) and None,
        "in double precision": lambda place: place.module.double() and None,
        "in half precision": lambda place: place.module.bfloat16() and None,
        "evaluated": lambda place: place.module.eval() and None,
        "forward": lambda place: setattr(place.module, "forward", noted(place.module.forward)),
        "hook": lambda place: place.module.register_forward_hook(lambda m, i, out: scaled(out)) and None,
        "hook before": lambda place: place.module.register_forward_pre_hook(lambda m, i: scaled(i)) and None,
        "hook on gradients": lambda place: place.module.register_full_backward_hook(lambda m, i, o: scaled(i)) and None,
        "a note": lambda place: setattr(place.module, "note", "mine"),
        "a buffer": lambda place: place.module.register_buffer("own", torch.ones(2)),
        "one more parameter": lambda place: place.module.register_parameter("own", nn.Parameter(torch.ones(2))),
        "one more part": lambda place: place.module.add_module("own", nn.ReLU()),
    }


def of_methods(module: nn.Module) -> dict[str, Change]:
    """Every method of the project's own classes, changed on the object."""

    def patch(name: str, place: Place) -> None:
        setattr(place.module, name, noted(getattr(place.module, name)))

    names = [
        name
        for cls in type(module).__mro__
        if cls.__module__.startswith("gredkit")
        for name, value in vars(cls).items()
        if type(value) is FunctionType and name not in ("__init__", "forward", "extra_repr")
    ]
    return {f"method {name}": partial(patch, name) for name in dict.fromkeys(names)}


def of_settings(module: nn.Module) -> dict[str, Change]:
    """Every setting that the object holds, changed to others."""

    def assign(name: str, value: Any, place: Place) -> None:
        setattr(place.module, name, value)

    known = vars(nn.Module())
    return {
        f"{name} = {value!r}": partial(assign, name, value)
        for name, was in vars(module).items()
        if name not in known
        for value in _others(was)
    }


def _others(was: Any) -> Iterator[Any]:
    if isinstance(was, bool):
        yield not was
    elif isinstance(was, float):
        yield from (was + 0.01, 2 * was + 1.0)
    elif isinstance(was, int):
        yield from (was + 1, max(was - 1, 0))
    elif isinstance(was, str):
        yield from ({"auto", "kernel", "scan", "loop", "none", "tanh", "constant", "zero"} - {was}) | {"nonsense"}
    elif isinstance(was, tuple):
        yield (1,)
    yield None


def of_parameters(module: nn.Module) -> dict[str, Change]:
    """What can be done to a weight."""

    def apply(change: Callable[[nn.Module, str], Any], name: str, place: Place) -> None:
        change(place.module, name)

    def new(make: Callable[[Tensor], Tensor], of: nn.Module, name: str) -> None:
        parameter = nn.Parameter(make(getattr(of, name).detach()))
        of._parameters[name] = parameter

    def as_attribute(of: nn.Module, name: str) -> None:
        value = getattr(of, name).detach()
        delattr(of, name)
        setattr(of, name, 2 * value)

    def before_the_parameter(of: nn.Module, name: str) -> None:
        vars(of)[name] = 2 * getattr(of, name).detach()

    def pruned_for_good(of: nn.Module, name: str) -> None:
        prune.remove(prune.l1_unstructured(of, name, 0.5), name)

    changes: dict[str, Callable[[nn.Module, str], Any]] = {
        "parametrised": lambda of, name: parametrize.register_parametrization(of, name, Scale()),
        "weight norm": lambda of, name: parametrizations.weight_norm(of, name),
        "spectral norm": lambda of, name: parametrizations.spectral_norm(of, name),
        "old weight norm": lambda of, name: nn.utils.weight_norm(of, name),
        "pruned": lambda of, name: prune.l1_unstructured(of, name, 0.5),
        "pruned for good": pruned_for_good,
        "frozen": lambda of, name: getattr(of, name).requires_grad_(False),
        "removed": lambda of, name: of.register_parameter(name, None),
        "an attribute": as_attribute,
        "hidden by an attribute": before_the_parameter,
        "one row more": partial(new, lambda weight: torch.cat([weight, weight[:1]])),
        "one row less": partial(new, lambda weight: weight[1:]),
        "no row": partial(new, lambda weight: weight[:0]),
        "one dimension more": partial(new, lambda weight: weight[None]),
        "in another order": partial(new, lambda weight: weight.mT.contiguous().mT if weight.dim() > 1 else weight),
        "one number for all": partial(new, lambda weight: weight.flatten()[:1].expand(weight.shape)),
        "negated by its view": partial(new, torch._neg_view),
        "of another class": partial(new, lambda weight: weight.as_subclass(Marked)),
        "of double precision": partial(new, Tensor.double),
        "complex": partial(new, lambda weight: torch.complex(weight, weight)),
        "sparse": partial(new, Tensor.to_sparse),
        "on no device": partial(new, lambda weight: weight.to("meta")),
    }
    return {
        f"{name} {what}": partial(apply, change, name)
        for name in module._parameters
        for what, change in changes.items()
    }


def changes_of(module: nn.Module, dim: int) -> dict[str, Change]:
    """All that is tried on a module."""
    always = {**of_module(), **replacements(dim), **of_methods(module)}
    if isinstance(module, nn.RNNBase):  # PyTorch's own ones end the process if their weights have other sizes
        return always
    return {**always, **of_settings(module), **of_parameters(module)}


def place_of(root: nn.Module, path: str) -> Place:
    """Where a module is found below the root."""
    parent, _, name = path.rpartition(".")
    return Place(root.get_submodule(parent), name, operator.attrgetter(path)(root), root)
