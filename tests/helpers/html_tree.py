"""HTML as a tree, for tests that ask what stands where."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

VOID = {"img", "link", "meta"}


class Element:
    """An element: its name, its attributes, and what is inside, elements and texts."""

    def __init__(self, name: str, attributes: dict[str, str | None]):
        self.name, self.attributes = name, attributes
        self.inside: list[Element | str] = []

    def __getitem__(self, attribute: str) -> str | None:
        return self.attributes[attribute]

    @property
    def children(self) -> list[Element]:
        return [part for part in self.inside if isinstance(part, Element)]

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.inside)

    def find(self, name: str, **attributes: str) -> Iterator[Element]:
        """Elements below this one by their name and attributes."""
        for child in self.children:
            if child.name == name and attributes.items() <= child.attributes.items():
                yield child
            yield from child.find(name, **attributes)


class _Reader(HTMLParser):
    """Does not forgive what a browser would: an element that ends at the wrong place, an attribute given twice."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"{tag} has an attribute twice"
        element = Element(tag, dict(attrs))
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag, f"{tag} ends at the wrong place"

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def tree(text: str) -> Element:
    """The document."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, f"{reader.open[-1].name} does not end"
    return reader.open[0]
