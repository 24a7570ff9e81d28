"""The docs build as a site in which every link leads somewhere and which loads nothing from other hosts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason='the site needs pip install ".[docs]"')

ROOT = Path(__file__).resolve().parents[2]
LOADED = re.compile(r"""<(?:link|script|img|iframe)\b[^>]*?\b(?:href|src)=["']?([^"'\s>]+)|url\(["']?([^"')]+)""")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Strict: a page outside nav, or a link or an anchor that leads nowhere, fails the build, as does a notebook."""
    folder = tmp_path_factory.mktemp("site")
    build = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder))
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert 0 == done.returncode, done.stderr
    return folder


def test_every_page_of_the_docs_is_in_the_site(site: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".ipynb")}
    pages |= {"quickstart", "changelog", "contributing"}
    assert set() == pages - {path.parent.name for path in site.rglob("*/index.html")}


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    loaded = {
        (path.relative_to(site).as_posix(), target)
        for path in [*site.rglob("*.html"), *site.rglob("*.css")]
        for groups in LOADED.findall(path.read_text("utf-8"))
        if (target := "".join(groups)).startswith(("http:", "https:", "//"))
    }
    assert set() == loaded


def test_the_outputs_of_a_notebook_are_shown(site: Path) -> None:
    assert "ci_low" in (site / "notebooks" / "scores" / "index.html").read_text("utf-8")
