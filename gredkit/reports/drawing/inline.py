"""A figure as a part of an HTML page: SVG without styles, with ids of its own, and a title and a link for each mark."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure

from gredkit.reports.drawing.marks import Mark, told
from gredkit.reports.drawing.style import THEME, is_themed

Element = ElementTree.Element

MOST = 2500  # elements of a figure; with more, a picture is smaller, and nobody points at one of so many marks
LARGE = 4.5  # inches; a wider figure takes the whole width of the page
NUMBER = re.compile(r"-?\d+\.\d{3,}")
REFERENCE = re.compile(r"url\(#([^)]+)\)")
GEOMETRY = ("d", "x", "y", "width", "height", "transform", "points", "viewBox")
DROPPED = ("metadata", "style", "script", "foreignObject")
OURS = "DejaVu Sans"
SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "gredkit"}


def inline_svg(figure: Figure, name: str, address: Callable[[str], str] = str) -> str:
    """The figure as an `svg` element; empty if it has too many elements for a page.

    name: what all its ids begin with, since a page has several figures
    address: of the page of a run by its id; empty if there is none
    """
    marks = {}
    for place, (artist, some) in enumerate(told(figure)):
        artist.set_gid(f"marks-{place}")
        marks[f"marks-{place}"] = some
    drawn = BytesIO()
    with matplotlib.rc_context({**THEME, **SETTINGS}):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(drawn.getvalue())
    if sum(1 for _ in root.iter()) > MOST:
        return ""
    _plain(root)
    _unpaint(root)
    for group in list(root.iter("g")):
        if group.get("id") in marks:
            _tell(group, marks[group.get("id", "")], address)
    _rename(root, name)
    size = "large" if figure.get_figwidth() > LARGE else "small"
    root.set("class", f"{'themed' if is_themed(figure) else 'own'} {size}")
    root.attrib.pop("version", None)
    return ElementTree.tostring(root, encoding="unicode")


def _plain(element: Element) -> None:
    """Names without namespaces, attributes in place of styles, short numbers, and nothing that loads or runs."""
    element.tag = _local(element.tag)
    for child in list(element):
        if not isinstance(child.tag, str) or _local(child.tag) in DROPPED:
            element.remove(child)
        else:
            _plain(child)
    attributes = {_local(name): value for name, value in element.attrib.items()}
    for declaration in attributes.pop("style", "").split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            attributes[name.strip()] = value.strip()
    if not attributes.get("href", "#").startswith(("#", "data:image/")):
        del attributes["href"]
    if "font" in attributes:
        attributes |= _font(attributes.pop("font"))
    if attributes.get("font-family", "").strip("'") == OURS:
        del attributes["font-family"]  # the page says it once
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]
    for name in GEOMETRY:
        if name in attributes:
            attributes[name] = " ".join(NUMBER.sub(_short, attributes[name]).split())
    element.attrib.clear()
    element.attrib.update(attributes)
    if element.tag not in ("text", "tspan"):
        element.text = None
    element.tail = None


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _font(shorthand: str) -> dict[str, str]:
    """`italic 7px 'DejaVu Sans'` as attributes, which have no such shorthand."""
    found = re.search(r"([\d.]+px)", shorthand)
    font = {"font-size": found[1]} if found else {}
    words = shorthand.partition(found[1])[0].split() if found else []
    for word in words:
        font["font-style" if word in ("italic", "oblique") else "font-weight"] = word
    return font


def _unpaint(root: Element) -> None:
    """Take the colours from shapes: each use of a shape says them, and only there a style sheet can exchange them."""
    for defs in root.iter("defs"):
        for shape in defs.iter("path"):
            for key in [key for key in shape.attrib if key.startswith(("stroke", "fill"))]:
                del shape.attrib[key]


def _tell(group: Element, marks: Sequence[Mark], address: Callable[[str], str]) -> None:
    """Wrap each mark of an artist; if they are not as many as were told, some lie outside, and none is told."""
    drawn = list(_drawn(group))
    if len(drawn) != len(marks):
        return
    for (parent, place, element), mark in zip(drawn, marks, strict=True):
        link = address(mark.run) if mark.run else ""
        wrapper = Element("a" if link else "g", {"class": "mark", **({"href": link} if link else {})})
        title = ElementTree.SubElement(wrapper, "title")
        title.text = "\n".join([_visible(mark.text), *([f"run {mark.run[:8]}"] if mark.run else [])])
        wrapper.append(element)
        parent[place] = wrapper


def _drawn(group: Element) -> Iterator[tuple[Element, int, Element]]:
    """The marks of an artist with their places: uses of one shape, or paths of their own."""
    shapes = {id(shape) for defs in group.iter("defs") for shape in defs.iter()}
    for kind in ("use", "path"):
        found = [
            (parent, place, child)
            for parent in group.iter()
            for place, child in enumerate(parent)
            if child.tag == kind and id(child) not in shapes
        ]
        if found:
            yield from found
            return


def _visible(text: str) -> str:
    """Without control characters, which XML cannot have."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def _rename(root: Element, name: str) -> None:
    """Ids with the name of the figure in front; ids that nothing refers to are dropped."""
    used = {attributes["href"][1:] for attributes in _attributes(root) if attributes.get("href", "")[:1] == "#"}
    used |= {id for attributes in _attributes(root) for value in attributes.values() for id in REFERENCE.findall(value)}
    for element in root.iter():
        own = element.attrib.pop("id", None)
        for key, value in element.attrib.items():
            if key == "href" and value.startswith("#"):
                element.set(key, f"#{name}-{value[1:]}")
            elif "url(#" in value:
                element.set(key, REFERENCE.sub(rf"url(#{name}-\1)", value))
        if own in used:
            element.set("id", f"{name}-{own}")


def _attributes(root: Element) -> Iterator[Mapping[str, str]]:
    return (element.attrib for element in root.iter())
