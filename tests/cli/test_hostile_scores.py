"""Scores files as strangers may send them, through the commands that read them: a sentence, no traceback, no hang."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from planted import Plan, Skill, planted_scores

COMMANDS = {
    "compare": ("compare", "--resamples", "100"),
    "analyze": ("analyze", "leaders", "--resamples", "100", "--scores"),
    "report": ("report",),
    "html": ("report", "-f", "html", "-o", "page.html", "--scores"),
    "figures": ("figures", "--resamples", "100", "--only", "leaderboard"),
    "stats": ("stats",),
    "subset-report": ("subset-report", "--resamples", "100"),
}
QUICK = ("--resamples", "100")
ODD_NAME = "=cmd()\x1b[31m\n\u202e<script>alert(1)</script>[bold]|" + "x" * 10_000


@cache
def _text() -> str:
    skills = {"alpha": {"default": Skill(judge=0.5), "verbose": Skill()}, "beta": Skill(pairwise=0.8)}
    return json.dumps(planted_scores(skills, Plan(4, turns=3)))


@pytest.fixture
def content() -> Any:
    return json.loads(_text())


def write(content: Any, name: str = "scores.json") -> Path:
    Path(name).write_text(json.dumps(content))
    return Path(name)


def spoilt(name: str) -> bytes:
    text = _text().encode()
    return {
        "empty": b"",
        "torn": text[: len(text) // 2],
        "list": b"[1, 2]",
        "text": b'"scores"',
        "other": b'{"schema_version": "1.1", "results": {}}',
        "utf16": _text().encode("utf-16"),
        "binary": bytes(range(256)),
        "deep": b"[" * 100_000,
        "deep-inside": text.replace(b'"metadata": {', b'"metadata": {"x": ' + b"[" * 500 + b"]" * 500 + b", ", 1),
        "newer": text.replace(b'"schema_version": "1.1"', b'"schema_version": "2.0"', 1),
    }[name]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "name", ["empty", "torn", "list", "text", "other", "utf16", "binary", "deep", "deep-inside", "newer"]
)
def test_a_file_that_is_none_is_refused_in_a_sentence(cli, command: str, name: str) -> None:
    Path("odd.json").write_bytes(spoilt(name))
    ended = cli(*COMMANDS[command], "odd.json")
    assert (2, "", True) == (ended.status, ended.out, "odd.json" in ended.err)
    assert "bug" not in ended.err
    assert spoilt(name) == Path("odd.json").read_bytes()


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_file_is_neither_waited_for_nor_read(cli, command: str) -> None:
    os.mkfifo("pipe")
    Path("folder").mkdir()
    for odd in ("pipe", "folder", "/dev/zero", "missing.json"):
        ended = cli(*COMMANDS[command], odd)
        assert (2, True) == (ended.status, odd in ended.err)
        assert "bug" not in ended.err


def test_a_file_beyond_all_sizes_is_not_read(cli) -> None:
    with Path("huge.json").open("wb") as file:
        file.truncate(3 << 30)
    ended = cli("compare", "huge.json")
    Path("huge.json").unlink()
    assert (2, True) == (ended.status, "larger than 2 GB" in ended.err)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_odd_value_is_named_with_its_file_and_place(cli, content, command: str) -> None:
    content["conversations"][1]["turns"][0]["metrics"]["emotion_va"] = "high"
    ended = cli(*COMMANDS[command], write(content, "odd.json"))
    assert 2 == ended.status
    assert "odd.json" in ended.err or command == "html"
    assert "conversations[1].turns[0].metrics.emotion_va" in ended.err


def test_a_byte_order_mark_and_a_newer_minor_version_are_taken(cli, content) -> None:
    content |= {"schema_version": "1.9", "novelty": {"a": [None]}}
    Path("scores.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(content).encode())
    assert 0 == cli("compare", *QUICK).status


@pytest.mark.parametrize("format", ["terminal", "markdown", "csv", "json"])
@pytest.mark.parametrize("name", [ODD_NAME, "\ud800"])
def test_a_name_steers_nothing_and_breaks_nothing(cli, content, name: str, format: str) -> None:
    for entry in content["conversations"] + content["aggregates"]:
        if entry["em_model"] == "alpha":
            entry["em_model"] = name
    write(content)
    for command in (
        ("compare", "--metric", "composite"),
        ("analyze", "leaders"),
        ("subset-report", "--metric", "composite"),
    ):
        ended = cli(*command, *QUICK, "-f", format)
        assert 0 == ended.status
        assert not re.search("[\x1b\u202e\ud800]", ended.out + ended.err)
        assert format != "csv" or not re.search(r"(^|,)\"?=", ended.out, re.MULTILINE)


def test_control_characters_in_a_mode_do_not_reach_the_terminal(cli, content) -> None:
    for entry in content["conversations"] + content["aggregates"]:
        entry["mode"] += "\x1b]0;owned\x07\nx"
    write(content)
    shown, refused = cli("compare", *QUICK), cli("compare", *QUICK, "--mode", "default")
    assert [0, 2] == [shown.status, refused.status]
    assert "\x1b" not in shown.out + shown.err + refused.err


@pytest.mark.parametrize(
    "options",
    [
        ("--alpha", "0"),
        ("--alpha", "1"),
        ("--alpha", "-1"),
        ("--alpha", "nan"),
        ("--resamples", "1"),
        ("--cluster", "city"),
        ("--correction", "none"),
        ("--metric", "kindness"),
        ("--mode", "silent"),
        ("--seed", "-1"),
    ],
)
@pytest.mark.parametrize("command", [("compare",), ("analyze", "leaders")])
def test_an_option_that_means_nothing_is_refused(cli, content, command: tuple[str, ...], options) -> None:
    write(content)
    ended = cli(*command, *options)
    assert (2, "") == (ended.status, ended.out)
    assert "bug" not in ended.err


@pytest.mark.parametrize("target", ["scores.json", "link.json", "./scores.json", "folder", "/dev/full", "no/where"])
@pytest.mark.parametrize("command", [("compare", *QUICK), ("analyze", "leaders", *QUICK), ("report",)])
def test_output_never_takes_the_place_of_the_scores_a_folder_or_a_device(cli, content, command, target: str) -> None:
    before = write(content).read_bytes()
    Path("link.json").symlink_to("scores.json")
    Path("folder").mkdir()
    ended = cli(*command, "-o", target)
    assert (2, True) == (ended.status, Path(target).name in ended.err)
    assert before == Path("scores.json").read_bytes()
    assert Path("folder").is_dir()


def test_the_same_file_twice_is_one_and_a_copy_is_refused(cli, content) -> None:
    write(content)
    write(content, "copy.json")
    assert 0 == cli("compare", "scores.json", "scores.json", *QUICK).status
    assert "copy.json" in cli("compare", "scores.json", "copy.json", *QUICK).err


@pytest.mark.parametrize("which", ["conversation", "mode"])
def test_models_with_nothing_in_common_are_not_compared_and_that_is_said(cli, content, which: str) -> None:
    first = content["ground_truth"][0]["conversationId"]
    content["conversations"] = [
        entry
        for entry in content["conversations"]
        if (entry["em_model"] == "alpha")
        == (entry["conversationId"] == first if which == "conversation" else entry["mode"] == "verbose")
    ]
    write(content)
    ended = cli("compare", *QUICK)
    assert ended.status in (0, 2)
    assert "bug" not in ended.err
    assert "top tier is" not in ended.out
