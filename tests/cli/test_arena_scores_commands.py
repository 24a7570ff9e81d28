"""`arena score`, `arena report` and `figures --arena`: from a folder of verdicts to numbers, a page and figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from arena_pages import small_arena
from typer.testing import CliRunner, Result

from attunebench.arena.folder import Arena, read_arena, write_lines
from attunebench.arena.scores import counts_of, read_arena_scores
from attunebench.cli.main import app
from attunebench.errors import AttuneBenchError, DataError, UsageError


def save(arena: Arena, folder: Path) -> Path:
    write_lines(folder / "histories.jsonl", arena.histories.values())
    write_lines(folder / "replies" / "all.jsonl", arena.replies.values())
    write_lines(folder / "pairs.jsonl", arena.pairs.values())
    write_lines(folder / "verdicts" / "all.jsonl", arena.verdicts)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(small_arena(), tmp_path_factory.mktemp("study") / "arena")


@pytest.fixture(scope="module")
def scored(folder: Path) -> Path:
    file = folder.parent / "arena-scores.json"
    done = run("arena", "score", folder, "-o", file, "--resamples", "100")
    assert done.exit_code == 0
    return file


def run(*words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=True)


def refused(*words: object) -> type[BaseException]:
    error = run(*words).exception
    assert error is not None
    return type(error)


def test_the_file_holds_every_analysis_and_says_what_was_scored(folder: Path, scored: Path) -> None:
    found = read_arena_scores(scored)
    assert found.about.counts == counts_of(read_arena(folder))
    assert found.about.folder == "arena"
    assert found.json() == scored.read_text()


def test_the_same_arena_gives_the_same_bytes(folder: Path, scored: Path, tmp_path: Path) -> None:
    run("arena", "score", folder, "-o", scored.with_name("again.json"), "--resamples", "100")
    assert scored.with_name("again.json").read_bytes() == scored.read_bytes()


def test_counts_are_printed_as_json(folder: Path, tmp_path: Path) -> None:
    done = run("arena", "score", folder, "-o", tmp_path / "scores.json", "--resamples", "100", "--json")
    printed = json.loads(done.stdout)
    assert (48, 240) == (printed["pairs"], printed["verdicts"])


def test_an_arena_without_verdicts_is_refused(tmp_path: Path) -> None:
    made = small_arena()
    write_lines(tmp_path / "arena" / "histories.jsonl", made.histories.values())
    assert refused("arena", "score", tmp_path / "arena", "-o", tmp_path / "s.json") is DataError


def test_verdicts_of_which_none_counts_are_refused_with_the_reason(folder: Path, tmp_path: Path) -> None:
    save(replace(read_arena(folder), verdicts=[]), tmp_path / "arena")
    (tmp_path / "arena" / "verdicts" / "all.jsonl").write_text(
        '{"pair": "gone", "rater": "ann", "rater_kind": "human", "preference": 1}\n'
    )
    error = run("arena", "score", tmp_path / "arena", "-o", tmp_path / "s.json").exception
    assert isinstance(error, DataError)
    assert "verdicts/all.jsonl: 1 verdict " in str(error)


def test_an_unknown_anchor_is_refused(folder: Path, tmp_path: Path) -> None:
    assert refused("arena", "score", folder, "-o", tmp_path / "s.json", "--anchor", "nobody") is UsageError


def test_files_of_the_arena_are_not_replaced(folder: Path) -> None:
    before = (folder / "pairs.jsonl").read_bytes()
    assert refused("arena", "score", folder, "-o", folder / "pairs.jsonl", "--resamples", "100") is UsageError
    assert (folder / "pairs.jsonl").read_bytes() == before


@pytest.mark.parametrize("format", ["terminal", "markdown", "csv", "json"])
def test_a_report_names_every_author(scored: Path, format: str) -> None:
    done = run("arena", "report", scored, "--format", format)
    assert done.exit_code == 0
    assert all(author in done.stdout for author in ("lab0", "lab1", "original"))


def test_the_page_finds_the_arena_beside_the_scores(scored: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("arena", "report", scored, "--format", "html", "-o", page).exit_code == 0
    assert 'id="c-texts-0"' in page.read_text("utf-8")


def test_a_page_without_texts_has_none(scored: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("arena", "report", scored, "--format", "html", "--no-texts", "-o", page)
    assert 'id="c-texts-0"' not in page.read_text("utf-8")


def test_scores_whose_arena_is_gone_still_give_a_page(scored: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.json"
    moved.write_bytes(scored.read_bytes())
    done = run("arena", "report", moved, "--format", "html", "-o", tmp_path / "page.html")
    assert done.exit_code == 0
    assert done.stderr.startswith("!")


def test_an_arena_that_has_changed_is_said_to_have(folder: Path, scored: Path, tmp_path: Path) -> None:
    other = save(small_arena(histories=3), tmp_path / "other")
    page = tmp_path / "page.html"
    assert "!" in run("arena", "report", scored, "--format", "html", "--arena", other, "-o", page).stderr
    assert "!" not in run("arena", "report", scored, "--format", "html", "--arena", folder, "-o", page).stderr


def test_a_foreign_file_is_not_replaced_by_the_page(scored: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("<p>Mine.</p>")
    assert refused("arena", "report", scored, "--format", "html", "-o", mine) is UsageError


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"arena": {}}', '{"arena": {"counts": 3}, "analyses": []}', '{"turns": []}']
)
def test_what_holds_no_scores_of_an_arena_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "scores.json"
    file.write_text(content)
    assert issubclass(refused("arena", "report", file), AttuneBenchError)


def test_a_report_of_a_folder_is_refused(folder: Path) -> None:
    assert refused("arena", "report", folder) is UsageError


def test_options_of_the_page_alone_are_refused_elsewhere(scored: Path) -> None:
    assert refused("arena", "report", scored, "--no-texts") is UsageError


def test_figures_are_drawn_from_the_scores(scored: Path, tmp_path: Path) -> None:
    done = run("figures", "--arena", scored, "--only", "arena-ratings-ratings", "-o", tmp_path)
    assert done.exit_code == 0
    assert {"arena-ratings-ratings.svg", "captions.md", "methods.md"} == {one.name for one in tmp_path.iterdir()}


def test_figures_of_an_arena_take_no_other_scores(scored: Path) -> None:
    assert refused("figures", scored, "--arena", scored) is UsageError


def test_the_list_of_figures_is_that_of_the_arena(scored: Path) -> None:
    done = run("figures", "--arena", scored, "--only", "list")
    assert "arena-ratings-ratings" in done.stdout.split()
