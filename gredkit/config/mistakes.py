"""Turn mistakes in gin files and bindings into sentences that suggest the nearest valid names."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from tokenize import TokenError
from typing import Any, get_type_hints

from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

from gredkit import ranges
from gredkit.errors import UserError, cause
from gredkit.imports import module_that_registers
from gredkit.names import nearest
from gredkit.registry import hyperparameters


def explain(error: Exception, known: Mapping[str, Iterable[str]], bindings: Sequence[str] = ()) -> UserError:
    """Gin's error as one plain sentence.

    known: the parameter names of each configurable; bindings: those of the command line, which have no file
    """
    said = " ".join(str(error).split())
    where = re.search(r"In file \"([^\"]+)\", line (\d+)", said)
    place = f"{where[1]}, line {where[2]}: " if where else ""
    if found := re.search(r"No configurable matching (?:reference )?'@?([^'()]+)", said):
        name = found[1]
        kind, _, component = name.rpartition(".")
        if module := module_that_registers(kind.upper(), component):
            said = f"the module {module!r} in this folder registers it: add --import {module}"
            return UserError(f"{place}gin does not know {name!r}: {said}")
        return UserError(f"{place}gin does not know {name!r}: {nearest(name, _of_same_kind(name, known))}")
    if found := re.search(r"Configurable '([^']+)' doesn't have a parameter named '([^']+)'", said):
        owner = found[1].removeprefix("gredkit.")
        return UserError(f"{place}{owner!r} has no parameter {found[2]!r}: {nearest(found[2], known.get(owner, ()))}")
    if found := re.search(r"No bindings specified for '([^'/]+)/", said):
        return UserError(f"the macro %{found[1]} is used but never set: write {found[1]} = … in a file, or use --set")
    if found := re.search(r"Failed to parse token '([^']+)' \((.+)\)", said):
        return _not_a_value(found[1], found[2], bindings)
    if isinstance(error, ModuleNotFoundError):
        found = re.search(r"No module named '([^']+)'", said)
        return UserError(f"{place}there is no module {found[1] if found else error.name!r} to import")
    if isinstance(error, TokenError):
        return UserError("a bracket or a quote is not closed: close it")
    return UserError(f"gin: {cause(error)}")


def _not_a_value(word: str, place: str, bindings: Sequence[str]) -> UserError:
    """A word without quotes, in a file or on the command line, where a shell takes quotes away."""
    example = ""
    if line := re.fullmatch(r"line (\d+)", place):
        lines = [line for binding in bindings for line in binding.splitlines()]
        name, _, value = (part.strip() for part in lines[int(line[1]) - 1].partition("="))
        place = f"{name}={value}"
        if value == word:
            is_list = name.isupper() and name.endswith("S")  # DATASETS, ENCODERS, …
            example = f', as in --set "{name}={f"({word!r},)" if is_list else repr(word)}"'
    return UserError(f"{place}: {word!r} is not a value: put quotes around a word{example}, or % before a macro")


def unknown_macros(config: str, texts: Iterable[str], knobs: Iterable[str]) -> None:
    """Raise for a macro that is set but used nowhere: it is probably misspelt.

    config: the final configuration as gin prints it; texts: the files; knobs: macros that are always valid
    """
    used = {*knobs, *(name for text in (config, *texts) for name in re.findall(r"%(\w+)", text))}
    for name in re.findall(r"^([A-Za-z_]\w*) = ", config, re.MULTILINE):
        if name not in used:
            raise UserError(f"nothing uses the macro {name!r}: {nearest(name, used)}")


def check_types(owner: str, component: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Raise if a value does not have the type that the component declares for it."""
    try:
        declared = get_type_hints(component.__init__ if inspect.isclass(component) else component)
    except (NameError, TypeError):  # a user's annotation that cannot be evaluated at run time
        return
    for name, value in values.items():
        try:
            check_type(value, declared.get(name, Any), collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS)
        except TypeCheckError:
            wanted = re.sub(r"<class '(?:\w+\.)*(\w+)'>|(?:\w+\.)+(\w+)", r"\1\2", str(declared[name]))
            is_one = "Sequence[" in wanted and isinstance(value, int | float)
            hint = f"; a list of one value is written ({ranges.said(value)},)" if is_one else ""
            raise UserError(
                f"{owner}.{name} cannot be {ranges.said(value)}: it is declared as {wanted}{hint}"
            ) from None


def check_settings(owner: str, component: Callable[..., Any], stored: Mapping[str, Any]) -> None:
    """Raise if a component does not accept the settings stored in a file (where tuples have become lists)."""
    known = hyperparameters(component)
    for name, value in stored.items():
        if name not in known:
            raise UserError(f"{owner} has no setting {ranges.said(name)}: {nearest(name, known)}")
        try:
            check_types(owner, component, {name: value})
        except UserError:
            if not isinstance(value, list):
                raise
            check_types(owner, component, {name: tuple(value)})


def _of_same_kind(name: str, known: Iterable[str]) -> list[str]:
    """Names with the same prefix: for `encoders.lsmt` the encoders, for a single word the single words."""
    kind = name.rpartition(".")[0]
    same = [other for other in known if other.rpartition(".")[0] == kind]
    return same or list(known)
