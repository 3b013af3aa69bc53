"""Hooks of MkDocs: the site also shows files that lie outside docs/, and the notebook.

Pages link as GitHub reads them (`../reports/…`, `../CHANGELOG.md`, `tutorial.ipynb`). On the site these files lie
beside the pages, so their links are changed, and the notebook becomes a page.
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
OUTSIDE = ("CONTRIBUTING.md", "CHANGELOG.md")
REPORTS = (".png", ".html")  # what is linked of a report


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The reports, the pages of the repository's top folder, and the notebook as a page."""
    reports = [path for path in (ROOT / "reports").rglob("*") if path.suffix in REPORTS]
    for path in [*(ROOT / name for name in OUTSIDE), *sorted(reports)]:
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    notebook = files.get_file_from_path("tutorial.ipynb")
    assert notebook is not None
    text = as_markdown(json.loads(notebook.content_string))
    files.append(File.generated(config, "tutorial.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links that lead where the files lie on the site."""
    outer = "docs/" if page.file.src_uri in OUTSIDE else "../"
    markdown = re.sub(r"\]\((?:\.\./)?README\.md", "](index.md", markdown)
    return markdown.replace(f"]({outer}", "](").replace("](tutorial.ipynb", "](tutorial.md")


def as_markdown(notebook: dict[str, Any]) -> str:
    """A notebook's cells, with the text and the pictures that they print."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _parts(cell))


def _parts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    language = "bash" if source.startswith("%%bash\n") else "python"
    code = f"```{language}\n{source.removeprefix('%%bash').strip()}\n```"
    return [code, *(_printed(output) for output in cell["outputs"])]


def _printed(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        width = output["metadata"].get("image/png", {}).get("width", "")
        source = f"data:image/png;base64,{''.join(data['image/png']).strip()}"
        return f'<img alt="what the cell draws" width="{width}" src="{source}">'
    return f"```text\n{''.join(output.get('text', data.get('text/plain', ''))).rstrip()}\n```"
