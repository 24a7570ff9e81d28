"""Runs a notebook of docs/ in an empty folder and keeps its outputs in it, as small as a reader needs them.

python scripts/run_notebook.py docs/quickstart.ipynb
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat


def main() -> None:
    path = Path(sys.argv[1])
    book: Any = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": folder}}).execute()
    # Neither versions nor times of this machine: they would differ each time.
    book.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for number, cell in enumerate((cell for cell in book.cells if cell.cell_type == "code"), 1):
        cell.metadata, cell.execution_count = {}, number
        for output in cell.outputs:
            shorten(output, number)
    nbformat.write(book, path)


def shorten(output: Any, number: int) -> None:
    """A picture needs neither its HTML nor its text, and HTML no text, in which a path can stand."""
    data = output.get("data", {})
    for richer, plainer in (("image/png", "text/html"), ("image/png", "text/plain"), ("text/html", "text/plain")):
        if richer in data:
            data.pop(plainer, None)
    if "execution_count" in output:
        output.execution_count = number


if __name__ == "__main__":
    main()
