"""What README, QUICKSTART and the pages under docs/ promise is what the project does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def blocks(text: str, before: str = "") -> list[str]:
    """The bash blocks of a page; with `before`, those that follow that line."""
    return re.findall(re.escape(before) + r"```bash\n(.*?)\n```", text, re.DOTALL)


def test_the_readmes_second_command_is_what_ci_installs_and_runs() -> None:
    *_, install, tests = blocks(README)[1].split(" && ")
    wanted = install.partition("install -q ")[2]
    assert f" {wanted}\n" in (ROOT / ".ci" / "run").read_text("utf-8")
    assert tests.replace(".venv/bin/python", '"$python"') in (ROOT / "scripts" / "check").read_text("utf-8")


def test_each_of_the_readmes_two_commands_is_one_line() -> None:
    assert [1, 1] == [len(block.splitlines()) for block in blocks(README)[:2]]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_marked_as_runnable_run_in_the_order_of_the_page(page: Path, tmp_path: Path) -> None:
    (tmp_path / "Test Samples").symlink_to(ROOT / "Test Samples")
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for block in blocks(page.read_text("utf-8"), before="<!-- runnable -->\n"):
        for line in block.splitlines():
            done = subprocess.run(
                ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert 0 == done.returncode, f"{line}\n{done.stdout}\n{done.stderr}"


@pytest.mark.slow
def test_pages_made_from_the_code_are_current() -> None:
    script = ROOT / "scripts" / "make_docs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stdout), "run python scripts/make_docs.py" + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_and_headings_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        name, _, heading = target.partition("#")
        goal = (page.parent / name) if name else page
        assert goal.exists(), target
        if heading:
            assert heading in {anchor(line) for line in goal.read_text("utf-8").splitlines() if line.startswith("#")}


def anchor(heading: str) -> str:
    words = re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower())
    return words.replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_that_a_page_names_exists(page: Path) -> None:
    reference = (ROOT / "docs" / "cli.md").read_text("utf-8")
    known = set(re.findall(r"--[a-z][a-z-]+", reference))
    lines = [line for line in page.read_text("utf-8").splitlines() if "attune-bench " in line]
    named = {option for line in lines for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line)}
    assert set() == named - known


def test_versions_agree() -> None:
    from attunebench._version import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_pages_count_the_analyses_right() -> None:
    from attunebench.analyses.catalogue import ANALYSES

    counts = [*re.findall(r"\[(\d+) questions\]", README)]
    counts += re.findall(r"answers (\d+) questions", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert counts == [str(len(ANALYSES))] * 2


def test_every_module_of_the_layout_picture_exists_and_none_is_missing_from_it() -> None:
    picture = README.partition("attunebench/\n")[2].partition("```")[0]
    named = set(re.findall(r"\b([a-z]+/|[a-z]+\.py)", picture))
    package = ROOT / "attunebench"
    there = {f"{path.name}/" for path in package.iterdir() if path.is_dir() and path.name[0] not in "_."}
    there |= {path.name for path in package.glob("*.py") if path.name[0] != "_"}
    assert set() == named - there
    assert set() == there - named


def test_an_extra_is_declared_only_where_something_uses_it() -> None:
    assert ["analyses", "bertscore", "data", "dev", "docs", "harness", "inspect", "ray", "socks"] == metadata.metadata(
        "attunebench"
    ).get_all("Provides-Extra")


def test_the_readme_says_how_to_use_it_in_1200_words() -> None:
    assert 1200 >= len(README.partition("\n## Metrics\n")[0].split())


def test_every_extra_that_a_page_or_a_message_installs_exists() -> None:
    places = [*PAGES, *ROOT.rglob("attunebench/**/*.py"), ROOT / "Dockerfile"]
    named = {name for path in places for name in re.findall(r"[./]\w*\[([a-z,]+)\]\"", path.read_text("utf-8"))}
    extras = metadata.metadata("attunebench").get_all("Provides-Extra") or []
    assert set() == {extra for group in named for extra in group.split(",")} - set(extras)


def test_nothing_claims_that_the_package_is_on_pypi() -> None:
    places = [*PAGES, *(ROOT / "docs").glob("*.ipynb"), *ROOT.rglob("attunebench/**/*.py")]
    assert [] == [path for path in places if re.search(r"pip install \S*attunebench", path.read_text("utf-8"))]
