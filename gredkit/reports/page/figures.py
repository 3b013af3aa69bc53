"""The figures of the page: drawn into it where they are small enough, else as pictures."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from gredkit.reports.figures.base import MORE, NARROW, SECTION
from gredkit.reports.page.html import Html, joined, tag

SHARPNESS = 2  # pixels of a picture for one of the page
LARGE = 150_000  # bytes; a picture with more is stored with fewer colours
COLOURS = 128


def by_section(figures: Sequence[Path]) -> dict[str, Html]:
    """The figures of each section of the page, in their order."""
    found: dict[str, list[Html]] = {}
    for png in figures:
        section, element = _figure(png)
        found.setdefault(section, []).append(element)
    return {section: joined(elements) for section, elements in found.items()}


def _figure(png: Path) -> tuple[str, Html]:
    """A figure with what its file carries: section, title and caption. The SVG beside it is drawn into the page."""
    with Image.open(png) as image:
        width, height = (pixels // SHARPNESS for pixels in image.size)
        title = image.info.get("Title") or png.stem.replace("_", " ")
        text = image.info.get("Description", "")
        section = image.info.get(SECTION) or MORE
    wide, narrow = (png.with_name(f"{png.stem}{kind}.svg") for kind in ("", NARROW))
    label = f"Figure: {title}"
    if wide.is_file():
        drawings = [_drawing(wide, label, "wide" if narrow.is_file() else "any")]
        drawings += [_drawing(narrow, label, "narrow")] if narrow.is_file() else []
    else:
        drawings = [tag("img", src=_source(png), alt=label, width=width, height=height)]
    pdf = tag("a", "PDF", href=quote(f"{png.stem}.pdf"))
    caption = tag("figcaption", tag("strong", f"{title}."), f" {text} ", pdf)
    return section, tag("figure", *drawings, caption, id=f"figure-{png.stem}")


def _drawing(svg: Path, label: str, kind: str) -> Html:
    """Our own SVG, in which every text is escaped."""
    drawing = Html(svg.read_text(encoding="utf-8"))
    return tag("div", drawing, class_=f"drawing {kind}", role="group", aria_label=label, tabindex=0)


def _source(png: Path) -> str:
    """The picture as a part of the page."""
    data = png.read_bytes()
    if len(data) > LARGE:
        small = io.BytesIO()
        with Image.open(png) as image:
            image.convert("RGB").quantize(COLOURS).save(small, "PNG", optimize=True)
        data = min(data, small.getvalue(), key=len)
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"
