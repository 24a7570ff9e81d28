"""Texts behind scores: found where they are, and named where they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from entries import an_entry, keep
from factory import make_conversation
from result_factory import oracle_result

from attunebench.backends.base import Reply
from attunebench.scorer import score_folders
from attunebench.scores import ConversationEntry, Scores
from attunebench.transcripts import FolderTranscripts, folders_of

Folders = tuple[Path, Path, Scores]


@pytest.fixture
def scored(tmp_path: Path) -> Folders:
    """A conversations folder, a results folder, and their scores."""
    talks, results = tmp_path / "talks", tmp_path / "results"
    talks.mkdir()
    results.mkdir()
    conversation = make_conversation(1, turns=2)
    (talks / "conversation_1.json").write_text(json.dumps(conversation))
    (results / "one.json").write_text(json.dumps(oracle_result(conversation, model="m", provider="local")))
    return talks, results, score_folders(results, talks)


def entry_of(scores: Scores) -> ConversationEntry:
    return scores["conversations"][0]


def test_the_words_of_a_talk_are_those_of_its_file(scored: Folders) -> None:
    talks, results, scores = scored
    conversation = make_conversation(1, turns=2)
    with FolderTranscripts(talks, results) as transcripts:
        turns = transcripts.talk(entry_of(scores)["conversationId"])
    assert [1, 2] == [turn.number for turn in turns]
    assert conversation["turns"][0]["userMessage"] == turns[0].user_message
    assert conversation["turns"][1]["annotations"]["alternateResponses"]["humanEdited"] == turns[1].human_edited


def test_a_draft_is_that_of_the_result_file(scored: Folders) -> None:
    talks, results, scores = scored
    with FolderTranscripts(talks, results) as transcripts:
        drafts = transcripts.drafts(entry_of(scores))
        assert 2 == len(drafts)
        assert {"judge-1 (relative scale)": {"overall_score": 7, "helpfulness": 7}} == drafts[0].judges
        assert all("no longer" not in remark for remark in transcripts.remarks)


@pytest.mark.parametrize("name", ["gone.json", "../talks/conversation_1.json", "/etc/hostname"])
def test_a_result_that_is_not_there_or_elsewhere_gives_no_draft_and_is_named(scored: Folders, name: str) -> None:
    talks, results, scores = scored
    entry: Any = {**entry_of(scores), "source_file": name}
    with FolderTranscripts(talks, results) as transcripts:
        assert () == transcripts.drafts(entry)
        assert name in " ".join(transcripts.remarks)


def test_a_file_that_holds_another_result_by_now_gives_no_draft(scored: Folders) -> None:
    talks, results, scores = scored
    entry: Any = {**entry_of(scores), "em_model": "another"}
    with FolderTranscripts(talks, results) as transcripts:
        assert () == transcripts.drafts(entry)


def test_replies_are_those_of_the_conversation_alone_in_order_of_asking(scored: Folders) -> None:
    _, results, scores = scored
    conversation = entry_of(scores)["conversationId"]
    call = {"call_id": f"{conversation}/default/1/review", "conversation_id": conversation, "kind": "review"}
    keep(
        results,
        an_entry(1, **call, ask=1, sent_at="2026-01-01T00:00:09", reply=Reply(text="second")),
        an_entry(2, **call, ask=0, sent_at="2026-01-01T00:00:01", reply=Reply(text="first", finish_reason="length")),
        an_entry(3, call_id=f"{conversation}0/default/1/review", conversation_id=f"{conversation}0"),
        an_entry(4, call_id=f"{conversation}/default/1/judge/0", conversation_id=conversation, judge=0, kind="judge"),
    )
    with FolderTranscripts(None, results) as transcripts:
        replies = transcripts.replies(conversation)
    assert [("first", "ended by: length"), ("second", "")] == [(reply.text, reply.trouble) for reply in replies]
    assert ["", ""] == [reply.parameters for reply in replies]


def test_replies_under_several_settings_say_which(scored: Folders) -> None:
    _, results, scores = scored
    conversation = entry_of(scores)["conversationId"]
    call = {"call_id": f"{conversation}/default/1/draft", "conversation_id": conversation}
    keep(results, *(an_entry(n, **call, parameters=f'{{"temperature": {n}}}') for n in (0, 1)))
    with FolderTranscripts(None, results) as transcripts:
        assert {'{"temperature": 0}', '{"temperature": 1}'} == {r.parameters for r in transcripts.replies(conversation)}


def test_a_request_that_the_server_never_takes_has_no_text_and_says_why(scored: Folders) -> None:
    _, results, scores = scored
    conversation = entry_of(scores)["conversationId"]
    call = {"call_id": f"{conversation}/default/1/draft", "conversation_id": conversation}
    keep(results, an_entry(1, **call, reply=None, error="too long", error_outcome="unreadable"))
    with FolderTranscripts(None, results) as transcripts:
        (reply,) = transcripts.replies(conversation)
    assert (None, "too long") == (reply.text, reply.trouble)


def test_without_folders_everything_is_empty_and_named(scored: Folders) -> None:
    entry = entry_of(scored[2])
    with FolderTranscripts(None, None) as transcripts:
        assert ((), (), ()) == (transcripts.talk("x"), transcripts.drafts(entry), transcripts.replies("x"))
        assert ["--conversations", "--results"] == [
            option for option in ("--conversations", "--results") if option in " ".join(transcripts.remarks)
        ]


def test_a_damaged_journal_is_named_and_the_rest_is_there(scored: Folders) -> None:
    talks, results, scores = scored
    (results / "_calls.sqlite3").write_bytes(b"no database")
    with FolderTranscripts(talks, results) as transcripts:
        assert () == transcripts.replies(entry_of(scores)["conversationId"])
        assert 2 == len(transcripts.drafts(entry_of(scores)))
        assert "_calls.sqlite3" in " ".join(transcripts.remarks)


def test_conversations_that_changed_since_are_named(scored: Folders) -> None:
    talks, results, scores = scored
    digest = scores["metadata"]["ground_truth_sha256"]
    with (
        FolderTranscripts(talks, results, sha256=digest) as same,
        FolderTranscripts(talks, results, sha256="0") as other,
    ):
        assert [False, True] == ["changed" in " ".join(transcripts.remarks) for transcripts in (same, other)]


def test_folders_are_those_given_else_those_that_the_scores_name_beside_them(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    given = tmp_path / "given"
    metadata = {"results": "runs", "ground_truth": "gone"}
    found = folders_of(metadata, tmp_path / "scores.json", results=None, conversations=None)
    assert (tmp_path / "runs", Path("gone")) == found
    assert given == folders_of(metadata, tmp_path / "scores.json", results=given, conversations=None)[0]
    assert (None, None) == folders_of({}, tmp_path / "scores.json", results=None, conversations=None)
