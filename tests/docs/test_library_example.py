"""The examples of the package's docstring and of docs/python.md run as they stand there."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import textwrap
from pathlib import Path

import pytest
from arenas import simulated_arena

import attunebench
from attunebench.arena.folder import write_lines

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders of the examples, in the current one."""
    (tmp_path / "path" / "to").mkdir(parents=True)
    (tmp_path / "path" / "to" / "conversations").symlink_to(ROOT / "Test Samples" / "Demo12")
    arena = simulated_arena(histories=4)
    write_lines(tmp_path / "ARENA" / "histories.jsonl", arena.histories.values())
    write_lines(tmp_path / "ARENA" / "replies" / "all.jsonl", arena.replies.values())
    write_lines(tmp_path / "ARENA" / "pairs.jsonl", arena.pairs.values())
    write_lines(tmp_path / "ARENA" / "verdicts" / "all.jsonl", arena.verdicts)
    monkeypatch.chdir(tmp_path)


def test_the_example_of_the_docstring_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (attunebench.__doc__ or "").splitlines()
    exec(textwrap.dedent("\n".join(line for line in lines if line.startswith("    ") or not line)))
    assert capsys.readouterr().out.startswith("12 ")
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_the_examples_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        # As a notebook does: a cell may await.
        cell = eval(compile(code, "python.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.iscoroutine(cell):
            asyncio.run(cell)
    written = ("scores.json", "report.html", "comparison", "leaderboard.pdf", "requests.jsonl", "arena.md")
    assert all((tmp_path / name).exists() for name in written)


def test_the_page_lists_every_name_of_the_package() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    assert listed == [name for name in attunebench.__all__ if name[0] != "_"]
