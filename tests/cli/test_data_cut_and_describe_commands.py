"""`attune-bench data cut` and `data describe` as somebody types them: what they say, write and refuse."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attunebench.conversations import demo_folder
from attunebench.datasets.subsets import published_subsets, subset_file_name


@pytest.fixture
def sample(data: Path, tmp_path: Path) -> Path:
    """A folder that is called Sample200 and holds three of its files."""
    folder = tmp_path / "Sample200"
    folder.mkdir()
    for made, number in zip(sorted(data.iterdir()), sorted(published_subsets()["Subsample20"]), strict=False):
        made.rename(folder / subset_file_name(number))
    return folder


def test_a_part_is_cut_beside_its_source_and_the_next_command_is_told(
    cli: Callable[..., Any], sample: Path, tmp_path: Path
) -> None:
    ended = cli("data", "cut", "subsample20", "--from", sample, "--partial")
    assert 0 == ended.status
    assert "Subsample20: 3 conversations" in ended.out
    assert "missing   17" in ended.out
    assert "attune-bench run" in ended.err
    made = tmp_path / "Subsample20"
    assert 0 == cli("data", "verify", made).status
    assert 1 == cli("data", "verify", made, "--as", "Subsample20").status


def test_numbers_are_cut_into_a_folder_that_has_a_name(cli: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    assert 2 == cli("data", "cut", "--numbers", "1-2", "--from", data).status
    assert 0 == cli("data", "cut", "--numbers", "1-2", "-d", data, "--to", tmp_path / "pilot").status
    names = {"conversation_1.json", "conversation_2.json", "attunebench-manifest.json"}
    assert names == {path.name for path in (tmp_path / "pilot").iterdir()}


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("Subsample50",),
        ("Subsample50", "--numbers", "1", "--from", "data"),
        ("Subsample51", "--from", "data"),
        ("Subsample50", "--from", "nowhere"),
        ("Subsample50", "--from", "data"),
        ("--numbers", "x", "--from", "data", "--to", "y"),
        ("--numbers", "1,9", "--from", "data", "--to", "y"),
        ("--numbers", "1", "--from", "data", "--to", "data/y"),
    ],
)
def test_what_cannot_be_cut_is_refused_in_one_line(cli: Callable[..., Any], data: Path, words: tuple[str, ...]) -> None:
    ended = cli("data", "cut", *words)
    assert (2, "", 1) == (ended.status, ended.out, ended.err.count("\n"))
    assert [data] == [path for path in data.parent.iterdir() if path.is_dir()]


def test_a_description_has_every_format(cli: Callable[..., Any], tmp_path: Path) -> None:
    terminal = cli("data", "describe", demo_folder())
    assert 0 == terminal.status
    assert "12 conversations of 8 participants" in terminal.out
    assert "not human data" in terminal.out
    markdown = cli("data", "describe", demo_folder(), "--format", "markdown", "--only", "size")
    assert "| Turns of a conversation | 12 | 64 |" in markdown.out
    rows = list(csv.DictReader(io.StringIO(cli("data", "describe", "-d", demo_folder(), "-f", "csv").out)))
    assert {"size", "binary", "people"} < {row["analysis"] for row in rows}
    target = tmp_path / "d.json"
    assert 0 == cli("data", "describe", demo_folder(), "-f", "json", "-o", target, "--only", "emotions,affect").status
    assert ["emotions", "affect"] == [one["name"] for one in json.loads(target.read_text())["analyses"]]


def test_no_line_of_a_description_is_wider_than_the_terminal(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        for mask in ("0", "3"):
            lines = cli("data", "describe", demo_folder(), "--mask-below", mask).out.splitlines()
            assert width >= max(map(len, lines))


def test_invalid_files_are_refused_or_left_out_by_name(cli: Callable[..., Any], data: Path) -> None:
    (data / "conversation_2.json").write_text('{"turns": []}')
    assert 2 == cli("data", "describe", data).status
    ended = cli("data", "describe", data, "--skip-invalid", "-f", "markdown")
    assert 0 == ended.status
    assert "Skipped: conversation" in ended.out.replace("\\", "")
    assert "2 conversations of" in ended.out


def test_a_description_is_never_written_over_the_data(cli: Callable[..., Any], data: Path) -> None:
    file = data / "conversation_1.json"
    before = file.read_bytes()
    ended = cli("data", "describe", data, "-f", "json", "-o", file)
    assert (2, before) == (ended.status, file.read_bytes())
    assert file.name in ended.err
    assert 2 == cli("data", "describe", data, "--only", "size,sizes").status


def test_a_description_in_json_is_never_written_among_the_data(cli: Callable[..., Any], data: Path) -> None:
    (data / "below").mkdir()
    for target in (data / "x.json", data / "below/x.json"):
        ended = cli("data", "describe", data, "-f", "json", "-o", target)
        assert 2 == ended.status
        assert "is in a conversations folder" in ended.err
        assert not target.exists()
    assert 0 == cli("data", "describe", data, "-f", "markdown", "-o", data / "x.md").status
