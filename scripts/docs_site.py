"""Lets MkDocs see the docs as they lie in the repository: README.md and its neighbours at the top, docs/ below.

One relative link thus works on GitHub and in the site. Notebooks become pages. A notebook without outputs is run first,
in an empty folder; if it fails, so does the build.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
TOP = ("README.md", "QUICKSTART.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE", "LICENSE-DATA")


class Notebook(File):
    def is_documentation_page(self) -> bool:
        return True


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
    for path in (*map(ROOT.joinpath, TOP), *sorted(Path(config.docs_dir).rglob("*"))):
        if not path.is_file() or path.name.startswith("."):
            continue
        source = path.relative_to(ROOT).as_posix()
        kind = Notebook if path.suffix == ".ipynb" else File
        files.append(kind(source, str(ROOT), config.site_dir, True, dest_uri=destination(source)))
        if kind is Notebook:
            files.append(File.generated(config, f"notebooks/{path.name}", abs_src_path=str(path)))
    return files


def destination(source: str) -> str:
    """Where a file is in the site: QUICKSTART.md and docs/quickstart.ipynb must differ in more than case."""
    name, _, suffix = source.removeprefix("docs/").rpartition(".")
    if source == "README.md":
        return "index.html"
    if suffix == "md":
        return f"{name.lower()}/index.html"
    return f"notebooks/{name}/index.html" if suffix == "ipynb" else source.removeprefix("docs/")


def on_page_read_source(page: Page, **_: object) -> str | None:
    if not isinstance(page.file, Notebook):
        return None
    path = ROOT / page.file.src_uri
    title, *rest = cells(path)
    return "\n\n".join([title, f"[Download this notebook](../notebooks/{path.name})", *rest])


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    if page.file.src_uri == "CHANGELOG.md":  # it has the words of all other pages, which explain them
        page.meta["search"] = {"boost": 0.1}
    return markdown


def cells(path: Path) -> Iterator[str]:
    """The cells of a notebook as Markdown, with their outputs: those kept in it, or else those of a run."""
    import nbformat
    from nbclient import NotebookClient

    book: Any = nbformat.read(path, as_version=4)
    if not any(cell.get("outputs") for cell in book.cells):
        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(book, timeout=300, resources={"metadata": {"path": folder}}).execute()
    for cell in book.cells:
        yield cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```"
        yield from (f'<div class="output">\n{shown(output)}\n</div>' for output in cell.get("outputs", ()))


def shown(output: Any) -> str:
    """The richest form of an output as HTML."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
    return data.get("text/html") or data.get("image/svg+xml") or f"<pre>{escape(data['text/plain'])}</pre>"
