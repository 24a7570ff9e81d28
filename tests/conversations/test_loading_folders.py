"""A folder of conversations: what is found, in which order, what is refused and what is left out."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation, write_conversations

from attunebench.conversations import ConversationSet, load_conversations, validate_folder
from attunebench.errors import DataError


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def names(loaded: ConversationSet) -> list[str]:
    return [Path(conversation.source_file).name for conversation in loaded]


def broken(seed: int) -> dict[str, Any]:
    raw = make_conversation(seed, turns=1)
    raw["turns"][0]["annotations"]["pairwiseComparisons"][7]["winner"] = "both"
    return raw


def test_conversations_come_in_the_order_of_the_number_in_the_name_then_the_name(tmp_path: Path) -> None:
    order = ["conversation_2.json", "b/conversation_10.json", "a/talk_10.json", "conversation_100.json", "last.json"]
    for seed, name in enumerate(reversed(order)):
        write(tmp_path / name, make_conversation(seed, turns=1))
    assert [Path(name).name for name in order] == names(load_conversations(tmp_path))


def test_a_single_file_is_a_folder_of_one(tmp_path: Path) -> None:
    write_conversations(tmp_path, 2)
    assert ["conversation_2.json"] == names(load_conversations(tmp_path / "conversation_2.json"))


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(make_conversation(1)).encode())
    assert 1 == len(load_conversations(tmp_path))


def test_results_and_files_without_turns_are_named_and_passed_over(tmp_path: Path) -> None:
    write_conversations(tmp_path, 1)
    write(tmp_path / "result.json", {"em_model": "m", "turns": []})
    write(tmp_path / "notes.json", ["anything"])
    passed = {entry.file: entry.reason for entry in load_conversations(tmp_path).passed_over}
    assert {"result.json": "it is a result (it has an em_model)", "notes.json": "it has no turns"} == passed


@pytest.mark.parametrize("name", [".hidden.json", ".git/c.json", "readme.txt"])
def test_hidden_files_and_other_endings_are_not_looked_at(name: str, tmp_path: Path) -> None:
    write_conversations(tmp_path, 1)
    write(tmp_path / name, broken(9))
    assert 1 == len(load_conversations(tmp_path))


def test_an_invalid_file_refuses_the_folder_in_one_sentence_with_the_remedy(tmp_path: Path) -> None:
    write_conversations(tmp_path, 2)
    write(tmp_path / "conversation_3.json", broken(7))
    with pytest.raises(DataError) as refusal:
        load_conversations(tmp_path)
    assert "1 of 3 conversation files" in str(refusal.value)
    place = "conversation_3.json: turns[0].annotations.pairwiseComparisons[7].winner: expected A or B, found 'both'"
    assert place in str(refusal.value)
    assert "--skip-invalid" in str(refusal.value)


def test_skipping_names_what_was_left_out(tmp_path: Path) -> None:
    write_conversations(tmp_path, 2)
    write(tmp_path / "conversation_3.json", broken(7))
    loaded = load_conversations(tmp_path, skip_invalid=True)
    assert 2 == len(loaded)
    (skipped,) = loaded.skipped
    assert "conversation_3.json" == skipped.file
    assert ("turns[0].annotations.pairwiseComparisons[7].winner: expected A or B, found 'both'",) == skipped.reasons


def test_duplicate_ids_name_both_files_and_neither_is_used(tmp_path: Path) -> None:
    write_conversations(tmp_path, 1)
    write(tmp_path / "copy/conversation_8.json", make_conversation(0))
    write(tmp_path / "conversation_9.json", make_conversation(5))
    found = [str(error) for error in validate_folder(tmp_path).errors]
    assert found[0].startswith("conversation_1.json: conversationId: ")
    assert found[0].endswith("is also the id of copy/conversation_8.json")
    assert found[1].endswith("is also the id of conversation_1.json")
    assert ["conversation_9.json"] == names(load_conversations(tmp_path, skip_invalid=True))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "not valid JSON"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b'{"turns": NaN}', "holds NaN"),
        (b'{"turns": [-Infinity]}', "holds -Infinity"),
        (b"[" * 200_000, "nested deeper than 64 levels"),
        (b'{"turns":' + b"[" * 70 + b"]" * 70 + b"}", "nested deeper than 64 levels"),
        (b'{"turns": ["\\ud83d"]}', "surrogate"),
        (b'{"turns": ' + b"9" * 5000 + b"}", "a whole number of 5000 digits"),
        (b'{"turns": 1e999}', "holds 1e999"),
        (b" " * (33 * 1024 * 1024), "larger than 32 MB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_cannot_be_read_is_an_error_of_that_file(content: bytes, sentence: str, tmp_path: Path) -> None:
    write_conversations(tmp_path, 1)
    (tmp_path / "bad.json").write_bytes(content)
    (error,) = validate_folder(tmp_path).errors
    assert ("bad.json", "") == (error.file, error.path)
    assert sentence in error.sentence


def test_brackets_in_texts_are_not_taken_for_depth(tmp_path: Path) -> None:
    raw = make_conversation(1)
    raw["turns"][0]["userMessage"] = "[" * 500 + "{" * 500 + ' a text with brackets \\ " '
    write(tmp_path / "c.json", raw)
    assert 1 == len(load_conversations(tmp_path))


def test_links_that_go_in_circles_end_and_a_broken_link_is_an_error(tmp_path: Path) -> None:
    write_conversations(tmp_path / "data", 1)
    (tmp_path / "data/again").symlink_to(tmp_path / "data", target_is_directory=True)
    assert 1 == len(load_conversations(tmp_path))
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere.json")
    (tmp_path / "self.json").symlink_to(tmp_path / "self.json")
    assert ["gone.json", "self.json"] == [error.file for error in validate_folder(tmp_path).errors]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write_conversations(tmp_path, 1)
    os.mkfifo(tmp_path / "pipe.json")
    assert ["pipe.json"] == [error.file for error in validate_folder(tmp_path).errors]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names themselves")
def test_a_name_that_is_no_text_is_an_error_that_can_be_printed(tmp_path: Path) -> None:
    write_conversations(tmp_path, 1)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/conversation_\xff.json")).write_text("{}")
    (error,) = validate_folder(tmp_path).errors
    assert str(error).encode()


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "There is no *.json file in"),
        ({"r.json": {"em_model": "m", "turns": []}}, "None of the 1 JSON files in"),
        ({"n.json": {}}, r"n.json: it has no turns"),
    ],
)
def test_a_folder_without_conversations_is_refused(files: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    for name, content in files.items():
        write(tmp_path / name, content)
    for use in (load_conversations, validate_folder):
        with pytest.raises(DataError, match=re.escape(sentence)):
            use(tmp_path)


def test_a_missing_folder_and_a_file_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no folder"):
        load_conversations(tmp_path / "none")
    path = write(tmp_path / "result.json", {"em_model": "m", "turns": []})
    with pytest.raises(DataError, match="is not a conversation file: it is a result"):
        load_conversations(path)


def test_a_folder_with_invalid_files_alone_is_refused_even_when_skipping(tmp_path: Path) -> None:
    write(tmp_path / "c.json", broken(1))
    with pytest.raises(DataError, match="None of the 1 conversation files"):
        load_conversations(tmp_path, skip_invalid=True)


def test_the_digest_depends_on_names_and_bytes_and_not_on_the_place(tmp_path: Path) -> None:
    here, there = write_conversations(tmp_path / "a", 3), write_conversations(tmp_path / "b" / "c", 3)
    digest = load_conversations(here).ground_truth_sha256
    assert digest == load_conversations(there).ground_truth_sha256
    (there / "conversation_3.json").rename(there / "conversation_4.json")
    assert digest != load_conversations(there).ground_truth_sha256


def test_a_valid_folder_validates_without_a_word(tmp_path: Path) -> None:
    report = validate_folder(write_conversations(tmp_path, 5))
    assert (True, 5, (), ()) == (report.ok, report.n_conversations, report.errors, report.warnings)


def test_warnings_are_apart_from_errors_and_counted_by_kind(tmp_path: Path) -> None:
    raw = make_conversation(1)
    raw["turns"][0]["annotations"]["pairwiseComparisons"][0]["winner"] = None
    raw["turns"][1]["annotations"]["pairwiseComparisons"].pop()
    raw["postPanas"]["totalPositiveAffect"] = 10 if raw["postPanas"]["totalPositiveAffect"] > 10 else 11
    write(tmp_path / "c.json", raw)
    report = validate_folder(tmp_path)
    assert report.ok
    assert {"no truth": 1, "count": 1, "total": 1} == dict(report.warning_counts)


def test_a_variant_that_keeps_to_one_letter_is_given_away(tmp_path: Path) -> None:
    raw = make_conversation(1)
    for turn in raw["turns"]:
        for comparison in turn["annotations"]["pairwiseComparisons"]:
            if comparison["responseB"] == "human":
                comparison["responseA"], comparison["responseB"] = "human", comparison["responseA"]
    write(tmp_path / "c.json", raw)
    (warning,) = validate_folder(tmp_path).warnings
    assert "'human' is A in 40 of its 40 comparisons; the letter reveals the variant" == warning.sentence
    assert "letters" == warning.kind


def test_a_variant_at_nine_comparisons_in_ten_is_not_given_away_yet(tmp_path: Path) -> None:
    raw = make_conversation(1, turns=1)
    pairs = [("original", "human")] * 9 + [("human", "original")]
    raw["turns"][0]["annotations"]["pairwiseComparisons"] = [
        {"questionId": "general", "responseA": a, "responseB": b, "winner": "A"} for a, b in pairs
    ]
    write(tmp_path / "c.json", raw)
    assert [] == [issue for issue in validate_folder(tmp_path).warnings if issue.kind == "letters"]
