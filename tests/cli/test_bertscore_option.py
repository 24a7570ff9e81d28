"""`score --bertscore` as somebody meets it who lacks the extra, or mistypes an option."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from attunebench.cli.main import app
from attunebench.errors import UsageError


def refusal(tmp_path: Path, *options: str) -> str:
    words = ("score", "-r", str(tmp_path), "-d", str(tmp_path), *options)
    done: Any = CliRunner().invoke(app, words)
    assert isinstance(done.exception, UsageError)
    return str(done.exception)


@pytest.mark.skipif(find_spec("torch") is not None, reason="the extra `bertscore` is there")
@pytest.mark.parametrize("options", [("--bertscore",), ("--bertscore-model", "x"), ("--bertscore-layer", "3")])
def test_without_the_extra_it_is_said_what_to_install(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert 'pip install ".[bertscore]" in the checkout' in refusal(tmp_path, *options)
