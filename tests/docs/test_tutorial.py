"""The notebook of the tutorial runs from its first cell to its last, in an empty folder."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from helpers.commands import ROOT
from helpers.pages import block

NOTEBOOK = ROOT / "docs/tutorial.ipynb"


def printed(cell: nbformat.NotebookNode) -> str:
    """What a cell wrote, and the text of what it returned."""
    return "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)


@pytest.mark.needs("nbclient")
def test_the_notebook_runs_from_the_first_cell_to_the_last(tmp_path, monkeypatch):
    import nbclient

    monkeypatch.setenv(
        "PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )  # as in its environment
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = "".join(printed(cell) for cell in notebook.cells if cell.cell_type == "code")
    assert "hop 8 of node 0: nodes [8]" in said
    assert "near_and_far has the best mean" in said
    assert (tmp_path / "reports/tutorial/index.html").is_file()


def test_its_encoder_is_the_one_of_the_page():
    cells = [cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells]
    [written] = [source for source in cells if source.startswith("%%writefile near_and_far.py\n")]
    example = block("docs/models.md", "Save this as `near_and_far.py`", "python")
    assert written.partition("\n")[2].strip() == example.strip()


@pytest.mark.parametrize("folder", ["/home/", "/root/", "/tmp/", "/Users/"])
def test_it_names_no_folder_of_a_machine(folder):
    assert folder not in NOTEBOOK.read_text()
