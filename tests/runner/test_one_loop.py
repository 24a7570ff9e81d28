"""The design's second rule: whoever makes the calls, one place assembles results, and one class knows what is open."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import attunebench

PACKAGE = Path(attunebench.__file__).parent


def calls(name: str) -> Iterator[str]:
    """The modules that call something of this name, as paths in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if f"{name}(" in text else ():
            if isinstance(node, ast.Call):
                called = node.func
                if name == (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)):
                    yield path.relative_to(PACKAGE).as_posix()


def test_only_a_run_assembles_results() -> None:
    # A task's own `assemble` is the function of results/. The scorer has one of its own, of scores.
    assert {"runner/run.py", "runner/work.py"} == {each for each in calls("assemble") if not each.startswith("scorer/")}


@pytest.mark.slow
def test_only_a_job_follows_the_exchange_of_a_call() -> None:
    assert {"runner/job.py"} == set(calls("Exchange"))
