"""The notebooks of docs/ run from the first cell to the last in a kernel of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbclient")
nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient")
pytest.importorskip("ipykernel", reason="notebooks need ipykernel")

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(DOCS.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    book: Any = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": os.fspath(tmp_path)}})
    client.execute()
    shown = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert not any(output["output_type"] == "error" for output in shown)


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_is_kept_without_its_output(path: Path) -> None:
    book: Any = nbformat.read(path, as_version=4)
    assert not any(cell.outputs or cell.execution_count for cell in book.cells if cell.cell_type == "code")
