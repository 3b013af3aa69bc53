"""How the axes of a study combine, and where an axis applies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gredkit.errors import UserError
from gredkit.names import nearest

Bindings = Mapping[str, Any]  # gin bindings or macros, by name
Axes = Mapping[str, Sequence[Any]]
Conditions = Mapping[str, Mapping[str, Sequence[Any]]]  # axis -> binding -> the values with which the axis applies


def grid(axes: Axes, only: Conditions, given: Bindings) -> Iterator[dict[str, Any]]:
    """Every combination once, the last axis changing first; an axis that does not apply is left out.

    given: what is bound already; conditions may be about it
    """
    order = _conditions_first(axes, only)

    def extend(chosen: dict[str, Any], place: int) -> Iterator[dict[str, Any]]:
        if place == len(order):
            yield {axis: chosen[axis] for axis in axes if axis in chosen}
        elif not applies(order[place], only, {**given, **chosen}):
            yield from extend(chosen, place + 1)
        else:
            for value in axes[order[place]]:
                yield from extend({**chosen, order[place]: value}, place + 1)

    return extend({}, 0)


def pairs(axes: Axes, only: Conditions, given: Bindings) -> Iterator[dict[str, Any]]:
    """The first values together, then the second, …; without the axes that do not apply, and each result once."""
    order, seen = _conditions_first(axes, only), []
    for values in zip(*axes.values(), strict=True):
        point = dict(zip(axes, values, strict=True))
        for axis in order:
            if not applies(axis, only, {**given, **point}):
                del point[axis]
        if point not in seen:
            seen.append(point)
            yield point


def one_at_a_time(axes: Axes, only: Conditions, given: Bindings) -> Iterator[dict[str, Any]]:
    """Nothing of the axes, then each value alone."""
    yield {}
    for axis, values in axes.items():
        if applies(axis, only, given):
            yield from ({axis: value} for value in values)


def applies(axis: str, only: Conditions, bound: Bindings) -> bool:
    """Whether all conditions of an axis hold; a binding that is not bound has no value that could meet one."""
    return all(binding in bound and bound[binding] in values for binding, values in only.get(axis, {}).items())


def check_conditions(only: Conditions, axes: Axes, tune: Axes, fixed: Iterable[Bindings], single: bool) -> None:
    """Raise for a condition that is about something unknown, or that is never met.

    fixed: the bindings of the named variants; single: the axes vary one at a time, so that none sees another
    """
    known: dict[str, list[Any]] = {}
    for binding, value in ((binding, value) for bundle in fixed for binding, value in bundle.items()):
        known.setdefault(binding, []).append(value)
    for axis, values in ({} if single else axes).items():
        known.setdefault(axis, []).extend(values)
    for axis, conditions in only.items():
        if axis not in axes and axis not in tune:
            raise UserError(f"study.only is about {axis!r}, which is no axis: {nearest(axis, [*axes, *tune])}")
        values_of = {**known, **tune} if axis in tune else known
        for binding, values in conditions.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise UserError(f"study.only[{axis!r}][{binding!r}] needs a list of values, not {values!r}")
            if binding not in values_of or binding == axis:
                others = [name for name in values_of if name != axis]
                kind = "in no variant" if single else "no other axis and in no variant"
                raise UserError(
                    f"the axis {axis!r} depends on {binding!r}, which is {kind}: {nearest(binding, others)}"
                )
            if not any(value in values for value in values_of[binding]):
                said = ", ".join(map(repr, values_of[binding]))
                raise UserError(
                    f"the axis {axis!r} never applies: {binding!r} has the values {said}, and study.only asks for "
                    f"{' or '.join(map(repr, values))}; take the axis out, or add the value"
                )
    for mapping in (axes, tune):
        _conditions_first(mapping, only)


def _conditions_first(axes: Axes, only: Conditions) -> list[str]:
    """The axes in their order, but each after those that its conditions are about; a circle is a `UserError`."""
    order: list[str] = []
    waiting = list(axes)
    while waiting:
        ready = [axis for axis in waiting if not any(other in waiting for other in only.get(axis, {}))]
        if not ready:
            raise UserError(f"study.only goes in a circle: {' and '.join(map(repr, waiting))} wait for each other")
        order.append(ready[0])
        waiting.remove(ready[0])
    return order
