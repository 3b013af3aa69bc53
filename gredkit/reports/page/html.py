"""HTML that escapes everything from outside, and tables that a click on a header sorts."""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SCREEN = "screen"  # the class of cells that are of no use in print
VOID = ("img", "link", "meta")  # elements without an end


class Html(str):
    """Text that is HTML already; all other text is escaped when it becomes part of an element."""


@dataclass(frozen=True)
class Column:
    """The head of a column: its title, whether it is sorted by numbers, and whether it is left out in print."""

    title: str
    is_numeric: bool = False
    is_for_screen: bool = False

    @property
    def kinds(self) -> str | None:
        """The classes of its head."""
        return " ".join(["number"] * self.is_numeric + [SCREEN] * self.is_for_screen) or None


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element. `class_` is the attribute class, `data_value` data-value; True is an attribute without a value."""
    words = [name]
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(attribute)
        elif value is not None and value is not False:
            words.append(f'{attribute}="{html.escape(str(value))}"')
    return Html(f"<{' '.join(words)}>" if name in VOID else f"<{' '.join(words)}>{joined(children)}</{name}>")


def joined(parts: Iterable[object], between: str = "") -> Html:
    """Elements and texts, one after the other."""
    return Html(between.join(part if isinstance(part, Html) else html.escape(str(part)) for part in parts))


def number(text: object, value: float | None, is_bold: bool = False) -> Html:
    """A cell that is sorted by a number, whatever its text; cells without a number come last."""
    is_known = value is not None and math.isfinite(value)
    content = tag("strong", text) if is_bold else text
    return tag("td", content, class_="number", data_value=repr(float(value)) if is_known else "")  # type: ignore[arg-type]


def sortable(columns: Sequence[Column], rows: Iterable[Html], name: str) -> Html:
    """A table in a box that scrolls if the page is too narrow; `rows` are its `tr` elements."""
    heads = [
        tag(
            "th",
            tag("button", column.title, type="button"),
            scope="col",
            aria_sort="none",
            class_=column.kinds,
        )
        for column in columns
    ]
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sortable", aria_label=name)
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=name)


def folded(title: object, *children: object, is_open: bool = False) -> Html:
    """A part of the page that a click unfolds."""
    return tag("details", tag("summary", title), *children, open=is_open)


def code(text: str, **attributes: object) -> Html:
    """A command, with a button that copies it."""
    copy = tag("button", "copy", type="button", class_="copy", data_copy=text, aria_label="copy the command")
    return tag("div", tag("pre", tag("code", text), **attributes), copy, class_="command")
