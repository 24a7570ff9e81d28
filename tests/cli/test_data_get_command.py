"""`attune-bench data get` and `data list` as somebody types them: what they say, what they write and how they end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from archive_server import ArchiveServer, answer, cut
from published import SMALL, files, in_folder, zipped

from attunebench.datasets.subsets import published_subsets


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A zip of the small subset."""
    path = tmp_path / "deposit.zip"
    path.write_bytes(zipped(files()))
    return path


def test_what_came_is_on_stdout_and_the_next_step_on_stderr(cli: Callable[..., Any], source: Path) -> None:
    ended = cli("data", "get", "subsample20", "--from", source)
    assert 0 == ended.status
    assert f"{SMALL}: 20 conversations in data/{SMALL}\n" in ended.out
    assert "digest" in ended.out
    assert f"Next: attune-bench run PROVIDER MODEL data/{SMALL}" in ended.err
    assert 0 == cli("data", "verify", f"data/{SMALL}", "--as", SMALL).status


def test_the_digest_is_the_one_that_scores_hold(cli: Callable[..., Any], source: Path, tmp_path: Path) -> None:
    from attunebench.conversations import load_conversations

    ended = cli("data", "get", SMALL, "--from", source)
    assert load_conversations(tmp_path / "data" / SMALL).ground_truth_sha256 in ended.out


def test_quiet_says_only_what_came(cli: Callable[..., Any], source: Path) -> None:
    ended = cli("data", "get", SMALL, "--from", source, "-q", "--to", "here")
    assert "" == ended.err
    assert ended.out.startswith(f"{SMALL}: 20 conversations in here\n")


def test_the_second_time_nothing_is_fetched(cli: Callable[..., Any], source: Path) -> None:
    cli("data", "get", SMALL, "--from", source)
    ended = cli("data", "get", SMALL)
    assert 0 == ended.status
    assert "there already; nothing was fetched" in ended.out


def test_what_is_left_out_is_named(cli: Callable[..., Any], tmp_path: Path) -> None:
    place = in_folder(files(without=[13]) | {"attunebench-main/data/conversation_36.json": b"{"}, tmp_path / "from")
    ended = cli("data", "get", SMALL, "--from", place, "--partial")
    assert 0 == ended.status
    assert f"{SMALL}: 18 conversations" in ended.out
    assert "missing   1: 13\n" in ended.out
    assert "left out  conversation_36.json: not valid JSON" in ended.out


def test_trouble_on_the_line_is_told_while_it_lasts(cli: Callable[..., Any], tmp_path: Path) -> None:
    archive = zipped(files())
    with ArchiveServer(archive) as server:
        server.script[:] = [cut(len(archive) // 2)]
        ended = cli("data", "get", SMALL, "--from", server.url)
        assert 0 == ended.status
        assert "trying again in 1 s" in ended.err
        server.script[:] = [answer(404)]
        ended = cli("data", "get", "Subsample25", "--from", server.url)
    assert (2, "") == (ended.status, ended.out)
    assert "404" in ended.err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["Sample2000"],
        ["demo12"],
        [SMALL, "--from", "nowhere.zip"],
        [SMALL, "--from", "deposit.zip", "--sha256", "12"],
        [SMALL, "--from", ".", "--sha256", "0" * 64],
        [SMALL, "--from", "deposit.zip", "--to", "deposit.zip"],
        [SMALL, "--from", "deposit.zip", "--to", "deposit.zip/x"],
        [SMALL, "--from", "deposit.zip", "--to", "."],
        [SMALL, "--from", "deposit.zip", "--to", "/"],
        [SMALL, "--from", "/dev/null"],
        ["Sample200", "--from", "deposit.zip"],
    ],
)
def test_what_cannot_be_got_is_one_line_and_leaves_nothing(
    cli: Callable[..., Any], source: Path, tmp_path: Path, words: list[str]
) -> None:
    ended = cli("data", "get", *words, "-q")
    assert (2, "", 1) == (ended.status, ended.out, ended.err.count("\n"))
    assert [source] == list(tmp_path.iterdir())


def test_list_knows_every_set_where_nothing_is(cli: Callable[..., Any]) -> None:
    ended = cli("data", "list")
    assert 0 == ended.status
    for name in published_subsets():
        assert f"not found; attune-bench data get {name}\n" in ended.out
    assert "Demo12" in ended.out


def test_list_says_what_is_complete_what_is_missing_and_what_can_be_cut(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    in_folder(files("Sample200", "data/Sample200"), tmp_path)
    in_folder(files(SMALL, "elsewhere/subsample20", without=[13, 36]), tmp_path)
    in_folder(files("Subsample25", "elsewhere/mine"), tmp_path)
    lines = cli("data", "list", "--in", "elsewhere").out.splitlines()
    assert "200 conversations  data/Sample200: complete" in lines[0]
    assert "not found; attune-bench data get Subsample100" in lines[1]
    assert "part of data/Sample200: attune-bench data cut Subsample50 --from data/Sample200" in lines[2]
    assert "elsewhere/mine: complete" in lines[3]
    assert "elsewhere/subsample20: 2 missing: 13, 36" in lines[4]
    assert "attune-bench data cut Subsample20 --from data/Sample200" in lines[5]


def test_list_says_how_the_whole_takes_the_place_of_a_part(cli: Callable[..., Any], tmp_path: Path) -> None:
    in_folder(files(SMALL, f"data/{SMALL}", without=[13]), tmp_path)
    lines = cli("data", "list").out.splitlines()
    assert f"attune-bench data get {SMALL} --replace" in " ".join(lines)
    assert "not found; attune-bench data get Sample200" in lines[0]
    assert not lines[0].endswith("--replace")


def test_list_refuses_a_folder_that_is_not_there(cli: Callable[..., Any]) -> None:
    ended = cli("data", "list", "--in", "nowhere")
    assert (2, "") == (ended.status, ended.out)
    assert "There is no folder nowhere" in ended.err
