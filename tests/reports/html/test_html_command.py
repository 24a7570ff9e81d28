"""`attune-bench report --format html`: what it writes, where it finds words, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from factory import write_conversations
from typer.testing import CliRunner

from attunebench import api
from attunebench.cli.main import app
from attunebench.errors import UsageError
from attunebench.runner import ModelSettings, RunSettings
from attunebench.scores import write_scores


@pytest.fixture(scope="session")
def scored_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with talks/, runs/ and scores.json, which names them as one does who stands in it."""
    folder = tmp_path_factory.mktemp("scored")
    write_conversations(folder / "talks", 3, seed=7, turns=2)
    api.run(
        folder / "talks", RunSettings(em=ModelSettings(provider="baseline", model="lexicon"), output=folder / "runs")
    )
    scores = api.score(folder / "runs", folder / "talks", resamples=50)
    scores["metadata"] |= {"results": "runs", "ground_truth": "talks"}
    write_scores(folder / "scores.json", scores)
    return folder


def run(*words: str | Path) -> str:
    """What the command says on stderr; its errors are raised."""
    result = CliRunner().invoke(app, ["report", *map(str, words)])
    if result.exception is not None:
        raise result.exception
    return result.stderr


def test_the_page_is_report_html_and_has_the_words_of_the_folders_that_the_scores_name(
    scored_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run(scored_folder / "scores.json", "--format", "html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Report written to report.html" in said
    assert ["call journal"] == [word for word in ("call journal", "results folder is known") if word in said]
    assert 3 == page.count('id="c-talk-')
    assert 3 == page.count('id="c-drafts-')


@pytest.mark.slow
def test_a_page_of_ours_is_replaced_and_the_same_again(
    scored_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scored_folder)
    target = tmp_path / "page.html"
    run("--format", "html", "-o", target)
    first = target.read_bytes()
    run("--format", "html", "-o", target)
    assert first == target.read_bytes()


def test_without_the_folders_the_page_is_made_and_says_what_is_missing(scored_folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone" / "scores.json"
    alone.parent.mkdir()
    alone.write_bytes((scored_folder / "scores.json").read_bytes())
    target = tmp_path / "page.html"
    said = run(alone, "--format", "html", "-o", target)
    assert ["--results", "--conversations"] == [name for name in ("--results", "--conversations") if name in said]
    assert "Not in this file" in target.read_text("utf-8")


def test_a_page_without_texts_has_labels_and_nobodys_words(scored_folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    run(scored_folder / "scores.json", "--format", "html", "--no-texts", "-o", target)
    kept = {part for part in ("labels", "drafts", "talk", "replies") if f'id="c-{part}-' in target.read_text("utf-8")}
    assert {"labels"} == kept


def test_a_file_of_somebody_else_is_left_as_it_is(
    scored_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("report.html").write_text("<h1>mine</h1>")
    with pytest.raises(UsageError, match="not overwritten"):
        run(scored_folder / "scores.json", "--format", "html")
    assert "<h1>mine</h1>" == Path("report.html").read_text()


def test_the_scores_are_never_overwritten(scored_folder: Path) -> None:
    with pytest.raises(UsageError):
        run(scored_folder / "scores.json", "--format", "html", "-o", scored_folder / "scores.json")
    assert "attunebench-scores" == json.loads((scored_folder / "scores.json").read_text())["format"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--format", "html", "--all"), "does not take"),
        (("--format", "html", "--results", "nowhere"), "no folder nowhere"),
        (("--results", os.curdir), "only to --format html"),
        (("--format", "html", "--no-texts", "--results", os.curdir), "one or the other"),
    ],
)
def test_what_does_not_go_together_is_refused(scored_folder: Path, words: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        run(scored_folder / "scores.json", *words)
