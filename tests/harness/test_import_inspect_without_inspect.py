"""`attune-bench import-inspect` where Inspect is not installed, or nothing fits."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from attunebench.cli.main import app
from attunebench.errors import UsageError


def run(*words):
    return CliRunner().invoke(app, ["import-inspect", *map(str, words)])


def test_a_missing_inspect_is_one_sentence_with_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    (tmp_path / "a.eval").write_bytes(b"")
    found = run(tmp_path / "a.eval", "-o", tmp_path / "out").exception
    assert isinstance(found, UsageError)
    assert 'pip install ".[inspect]"' in str(found)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["nowhere.eval", "."])
def test_a_place_without_a_log_is_named(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    found = run(place).exception
    assert isinstance(found, UsageError)
    assert "There is no log" in str(found)
