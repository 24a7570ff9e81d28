"""`attune-bench report`: what it reads, writes and refuses."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from attunebench.cli.report import report
from attunebench.errors import AttuneBenchError, DataError, UsageError

MakeScores = Callable[..., dict[str, Any]]


@pytest.fixture
def scores_file(tmp_path: Path, make_scores: MakeScores) -> Path:
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(make_scores(("m", "default", 0.6), ("b", "verbose", 0.4))), encoding="utf-8")
    return path


def _report(*words: str | Path) -> str:
    """The command's stdout; its errors are raised."""
    app = typer.Typer()
    app.command()(report)
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, AttuneBenchError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_scores_may_be_given_by_position_or_option(scores_file: Path) -> None:
    assert _report(scores_file) == _report("--scores", scores_file) == _report("-s", scores_file)


def test_two_files_of_the_same_model_are_refused(scores_file: Path) -> None:
    other = scores_file.with_name("other.json")
    other.write_bytes(scores_file.read_bytes())
    with pytest.raises(DataError):
        _report(scores_file, "-s", other)


def test_scores_json_here_is_the_default(scores_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scores_file.parent)
    assert "Composite" in _report()


def test_the_output_is_plain_where_there_is_no_terminal(scores_file: Path) -> None:
    assert "\x1b" not in _report(scores_file)


def test_a_file_gets_what_stdout_would_get(scores_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    assert "" == _report(scores_file, "--format", "markdown", "-o", target)
    assert _report(scores_file, "--format", "markdown") == target.read_text(encoding="utf-8")
    assert ["report.md", "scores.json"] == sorted(path.name for path in tmp_path.iterdir())


def test_the_scores_are_never_overwritten(scores_file: Path) -> None:
    before = scores_file.read_bytes()
    with pytest.raises(UsageError, match="the scores file itself"):
        _report(scores_file, "-o", scores_file.parent / "." / "scores.json")
    assert before == scores_file.read_bytes()


def test_a_folder_is_never_overwritten(scores_file: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder"):
        _report(scores_file, "-o", tmp_path)


def test_a_folder_that_does_not_exist_is_a_data_error(scores_file: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        _report(scores_file, "-o", tmp_path / "nowhere" / "report.txt")


def test_missing_scores_are_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="attune-bench score"):
        _report(tmp_path / "none.json")


def test_explaining_needs_no_scores() -> None:
    assert "emotion_va" in _report("--explain", "emotion_va")


def test_json_on_stdout_is_json(scores_file: Path) -> None:
    assert {"m", "b"} == {
        row["model"] for row in json.loads(_report(scores_file, "--format", "json"))["analyses"][0]["tables"][0]["rows"]
    } - {"chance level"}


def test_metrics_may_be_a_comma_list(scores_file: Path) -> None:
    text = _report(scores_file, "--format", "csv", "--metric", "composite,four_branch")
    rows = csv.DictReader(io.StringIO(text))
    assert {"composite", "four_branch"} == {row["column"] for row in rows} - {"tier", "scored", "expected", "answered"}


def test_csv_leaves_its_warnings_to_stderr(tmp_path: Path, make_scores: MakeScores) -> None:
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(make_scores(n=3, expected=9)), encoding="utf-8")
    app = typer.Typer()
    app.command()(report)
    result = CliRunner().invoke(app, [str(path), "--format", "csv"])
    assert "3 of 9" in result.stderr
    assert "! " not in result.stdout
