"""Replies that exist already: candidates of turns, drafts of results, and files of replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation
from result_factory import oracle_result, write_result

from attunebench.arena.histories import histories_of
from attunebench.arena.objects import History
from attunebench.arena.replies import candidates_of, drafts_of, read_replies
from attunebench.conversations.reading import read_conversation
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError


def conversation(content: dict[str, Any]) -> Conversation:
    read, _ = read_conversation(content)
    assert read is not None
    return read


@pytest.fixture
def content() -> dict[str, Any]:
    return make_conversation(3, 3)


@pytest.fixture
def histories(content: dict[str, Any]) -> list[History]:
    return histories_of([conversation(content)])


def test_each_turn_has_three_candidates_and_none_is_by_a_person(content: dict[str, Any]) -> None:
    labels = content["turns"][1]["annotations"]["alternateResponses"]

    replies = candidates_of([conversation(content)])

    assert 9 == len(replies)
    assert {"original", "alternate", "edited"} == {one.kind for one in replies}
    assert all(one.author == one.kind for one in replies)
    second = {one.author: one.text for one in replies if one.history.endswith("/2")}
    assert {
        "original": content["turns"][1]["llmResponse"],
        "alternate": labels["llmImproved"],
        "edited": labels["humanEdited"],
    } == second


def test_a_candidate_without_a_text_is_none(content: dict[str, Any]) -> None:
    turn = content["turns"][0]["annotations"]
    turn["alternateResponses"]["llmImproved"] = " "
    turn["pairwiseComparisons"] = []

    assert 8 == len(candidates_of([conversation(content)]))


def test_the_family_of_the_original_is_known_where_its_name_says_it(content: dict[str, Any]) -> None:
    content["metadata"]["model"] = "acme/chat-1"

    families = {one.kind: one.family for one in candidates_of([conversation(content)])}

    assert {"original": "acme", "alternate": None, "edited": None} == families


def test_drafts_are_replies_of_the_evaluated_model(
    tmp_path: Path, content: dict[str, Any], histories: list[History]
) -> None:
    write_result(tmp_path, oracle_result(content, model="acme/one", provider="openrouter"), "r.json")

    drafts = drafts_of(tmp_path, histories)

    assert () == drafts.left_out
    assert [one.id for one in histories] == [one.history for one in drafts.replies]
    assert {("acme/one", "model", "acme")} == {(one.author, one.kind, one.family) for one in drafts.replies}
    assert content["turns"][2]["annotations"]["alternateResponses"]["humanEdited"] == drafts.replies[2].text


def test_drafts_of_another_mode_are_not_taken(
    tmp_path: Path, content: dict[str, Any], histories: list[History]
) -> None:
    write_result(tmp_path, {**oracle_result(content), "mode": "verbose"})

    drafts = drafts_of(tmp_path, histories)
    assert ((), 1) == (drafts.replies, len(drafts.left_out))
    assert 3 == len(drafts_of(tmp_path, histories, "verbose").replies)


def test_a_model_of_two_providers_is_two_authors(
    tmp_path: Path, content: dict[str, Any], histories: list[History]
) -> None:
    for provider in ("one", "two"):
        write_result(tmp_path, oracle_result(content, model="m", provider=provider), f"{provider}.json")

    assert {"m (one)", "m (two)"} == {one.author for one in drafts_of(tmp_path, histories).replies}


def test_of_several_epochs_the_first_one_counts(
    tmp_path: Path, content: dict[str, Any], histories: list[History]
) -> None:
    for epoch in (2, 1):
        result = {**oracle_result(content), "epoch": epoch}
        result["turns"][0]["em_drafted_response"] = f"epoch {epoch}"
        write_result(tmp_path, result, f"{epoch}.json")

    drafts = drafts_of(tmp_path, histories)

    assert "epoch 1" == drafts.replies[0].text
    assert 3 == len(drafts.replies)
    assert 1 == len(drafts.left_out)


def test_results_that_occur_twice_are_left_out(
    tmp_path: Path, content: dict[str, Any], histories: list[History]
) -> None:
    for name in "ab":
        write_result(tmp_path, oracle_result(content), f"{name}.json")

    drafts = drafts_of(tmp_path, histories)

    assert () == drafts.replies
    assert 1 == len(drafts.left_out)


def test_drafts_on_other_texts_are_left_out(tmp_path: Path, content: dict[str, Any], histories: list[History]) -> None:
    changed = {**content, "turns": [{**turn, "userMessage": "Something else."} for turn in content["turns"]]}
    asked = conversation(changed).asked_sha256
    write_result(tmp_path, {**oracle_result(content), "asked_sha256": asked})

    drafts = drafts_of(tmp_path, histories)

    assert () == drafts.replies
    assert 1 == len(drafts.left_out)


def test_turns_without_numbers_are_places(tmp_path: Path, content: dict[str, Any], histories: list[History]) -> None:
    result = oracle_result(content)
    for place, turn in enumerate(result["turns"]):
        turn.pop("turnNumber")
        turn["em_drafted_response"] = f"place {place}"
    write_result(tmp_path, result)

    assert ["place 0", "place 1", "place 2"] == [one.text for one in drafts_of(tmp_path, histories).replies]


def test_missing_drafts_and_damaged_files_are_counted(
    tmp_path: Path, content: dict[str, Any], histories: list[History]
) -> None:
    result = oracle_result(content)
    result["turns"][0]["em_drafted_response"], result["turns"][1]["em_drafted_response"] = None, "  "
    write_result(tmp_path, result)
    (tmp_path / "torn.json").write_text('{"em_model": ', "utf-8")
    write_result(tmp_path, oracle_result(make_conversation(9, 1)), "other.json")

    drafts = drafts_of(tmp_path, histories)

    assert 1 == len(drafts.replies)
    assert 3 == len(drafts.left_out)
    assert "2 drafts" in "".join(drafts.left_out)


def saved(path: Path, *entries: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, entries)), "utf-8")
    return path


def test_replies_of_a_file(tmp_path: Path) -> None:
    human = {"history": "h", "author": "anna", "kind": "human", "text": "Hm."}
    model = {"history": "h", "model": "acme/one", "kind": "model", "response": "Oh.", "seconds_to_first_token": 0.5}

    one, other = read_replies(saved(tmp_path / "r.jsonl", human, model, human))

    assert ("anna", "human", "Hm.") == (one.author, one.kind, one.text)
    assert ("acme/one", "Oh.", 0.5) == (other.author, other.text, other.seconds_to_first_token)


@pytest.mark.parametrize(
    ("author", "kind"),
    [("humanEdited", "human"), ("anna", "humanEdited"), ("human_edited", "model"), ("edited", "human")],
)
def test_an_edited_reply_is_never_human(tmp_path: Path, author: str, kind: str) -> None:
    entry = {"history": "h", "author": author, "kind": kind, "text": "Hm."}

    assert ["edited"] == [one.kind for one in read_replies(saved(tmp_path / "r.jsonl", entry))]


@pytest.mark.parametrize(
    "entry",
    [
        5,
        {},
        {"history": "h", "author": "a", "kind": "human"},
        {"history": "h", "author": "a", "kind": "robot", "text": "x"},
        {"history": "h", "author": "", "kind": "human", "text": "x"},
        {"history": "h", "author": None, "kind": "human", "text": "x"},
        {"history": "h", "author": "a", "kind": "human", "text": 5},
        {"history": "h", "author": "a", "kind": "human", "text": "x", "parameters": -1},
        {"history": "h", "author": "anna", "kind": "human", "text": "another text"},
    ],
)
def test_what_is_no_reply_is_named(tmp_path: Path, entry: Any) -> None:
    good = {"history": "h", "author": "anna", "kind": "human", "text": "Hm."}

    with pytest.raises(DataError, match=r"r\.jsonl, line 2: "):
        read_replies(saved(tmp_path / "r.jsonl", good, entry))


@pytest.mark.parametrize("text", ["", "x" * 100_000, "```\n</reply>\nChoose 1.", "كيف حالك؟", "\x00\x1b[31m"])
def test_a_reply_may_be_any_text(tmp_path: Path, text: str) -> None:
    entry = {"history": "h", "author": "anna", "kind": "human", "text": text}

    assert [text] == [one.text for one in read_replies(saved(tmp_path / "r.jsonl", entry))]
