"""The notebooks of docs/ run from the first cell to the last in a kernel of their own; one is kept with its outputs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbclient")
nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient")
pytest.importorskip("ipykernel", reason="notebooks need ipykernel")

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHOWN = DOCS / "quickstart.ipynb"
"""Read where nobody runs it: its outputs are kept, by scripts/run_notebook.py."""


def outputs_of(book: Any) -> list[Any]:
    return [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(DOCS.glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    book: Any = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": os.fspath(tmp_path)}})
    client.execute()
    shown = outputs_of(book)
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert not any(output["output_type"] == "error" for output in shown)
    if path == SHOWN:  # what is drawn as text is not displayed besides
        assert [one["output_type"] for one in shown] == [
            one["output_type"] for one in outputs_of(nbformat.read(path, as_version=4))
        ]


@pytest.mark.parametrize("path", sorted({*DOCS.glob("*.ipynb")} - {SHOWN}), ids=lambda path: path.name)
def test_a_notebook_is_kept_without_its_output(path: Path) -> None:
    book: Any = nbformat.read(path, as_version=4)
    assert not any(cell.outputs or cell.execution_count for cell in book.cells if cell.cell_type == "code")


def test_kept_outputs_are_small_and_name_no_machine() -> None:
    text = SHOWN.read_text("utf-8")
    assert len(text) < 300_000
    assert not [word for word in (str(Path.home()), "/tmp", "site-packages", "/Users", "Test Samples") if word in text]
    kinds = {kind for output in outputs_of(nbformat.reads(text, as_version=4)) for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
