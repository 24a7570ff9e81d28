"""Journalled replies read again: what a reader of today makes of them stands in the results, and nothing is asked."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import attunebench
from attunebench.cli.main import main
from attunebench.errors import DataError
from attunebench.journal import Entry, Journal, claim
from attunebench.journal.entries import COLUMNS, to_row
from attunebench.runner import ModelSettings, RunSettings, RunSummary
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Status

T = 3
Run = Callable[..., RunSummary]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of every result file."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.glob("[!_.]*.json")}


def read(folder: Path) -> dict[str, Any]:
    """Result files by name, without the note that they were read again."""
    found = {name: json.loads(data) for name, (data, _) in files(folder).items()}
    for result in found.values():
        result.pop("reparsed", None)
    return found


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object], number: int = 0) -> str:
    """Edit a result file as a reader that knew less would have written it; its name."""
    path = sorted(folder.glob("[!_.]*.json"))[number]
    result = json.loads(path.read_text("utf-8"))
    change(result)
    path.write_text(json.dumps(result), "utf-8")
    return path.name


def edit_replies(folder: Path, where: str, change: Callable[[str], str] | None) -> list[Entry]:
    """Change the texts of replies in the journal, or take the replies out; those that were there."""
    with Journal.read(folder) as journal:
        entries = list(journal.entries(where))
    with closing(sqlite3.connect(folder / "_calls.sqlite3")) as connection, connection:
        for entry in entries:
            connection.execute("DELETE FROM replies WHERE request_hash = ?", (entry.request_hash,))
            if change is not None and entry.reply is not None:
                other = replace(entry, reply=replace(entry.reply, text=change(entry.reply.text or "")))
                connection.execute(f"INSERT INTO replies VALUES ({', '.join('?' * len(COLUMNS))})", to_row(other))
    return entries


def test_results_that_come_out_the_same_keep_their_bytes_and_time_and_nothing_is_asked(
    run: Run, server: FakeServer, data: Path, folder: Path
) -> None:
    run(judges=("judge", "second"), modes=("default", "verbose"))
    before, asked = files(folder), len(server.asked)
    summary = attunebench.reparse(folder, data)
    assert (4, 0, {}) == (summary.unchanged, summary.changed.total(), summary.left)
    assert before == files(folder)
    assert asked == len(server.asked)


def test_an_answer_that_an_earlier_reader_did_not_find_comes_into_the_result(
    run: Run, server: FakeServer, data: Path, folder: Path
) -> None:
    run(judges=("judge",))
    right, asked = read(folder), len(server.asked)

    def unread(result: dict[str, Any]) -> None:
        result["turns"][0]["em_emotion_tags"] = None
        result["turns"][1]["em_pairwise_selections"] = None
        result["post_conversation"]["predicted_post_panas"]["items"].pop("Proud")
        result["calls"]["answered_items"] -= 2
        result["scores"] = {}

    name = rewrite(folder, unread)
    untouched = {other: file for other, file in files(folder).items() if other != name}
    summary = attunebench.reparse(folder, data)
    assert right == read(folder)
    assert untouched == {other: file for other, file in files(folder).items() if other != name}
    assert (1, 1) == (summary.unchanged, summary.changed.total())
    assert asked == len(server.asked)
    assert {"timestamp", "attunebench_version"} == set(json.loads(files(folder)[name][0])["reparsed"])


def test_what_no_reply_says_stays_in_a_result_that_is_rewritten(run: Run, data: Path, folder: Path) -> None:
    run()

    def note(result: dict[str, Any]) -> None:
        result["turns"][0]["em_drafted_response"] = "?"
        result["turns"][0]["note"] = "of somebody's"
        result |= {"run_timestamp": "2020-01-01T00:00:00+00:00", "mine": [1], "epoch": 7, "attunebench_version": "0"}

    name = rewrite(folder, note)
    attunebench.reparse(folder, data)
    result = read(folder)[name]
    assert "?" != result["turns"][0]["em_drafted_response"]
    assert "of somebody's" == result["turns"][0]["note"]
    assert ("2020-01-01T00:00:00+00:00", [1], 7, "0") == tuple(
        result[key] for key in ("run_timestamp", "mine", "epoch", "attunebench_version")
    )


def test_the_first_valid_answer_of_a_chain_of_asks_stands(
    run: Run, server: FakeServer, data: Path, folder: Path
) -> None:
    seen: set[str] = set()

    def garbled_at_first(asked: Asked) -> Behaviour:
        first = str(asked.schema) not in seen
        seen.add(str(asked.schema))
        return Answer(text="I would rather not say.") if first else Answer()

    server.script = garbled_at_first
    run(concurrency=1)
    before = files(folder)
    summary = attunebench.reparse(folder, data)
    assert (2, 0) == (summary.unchanged, summary.changed.total())
    assert before == files(folder)


def test_a_reply_that_today_s_reader_cannot_read_is_not_asked_for(
    run: Run, server: FakeServer, data: Path, folder: Path
) -> None:
    run()
    asked = len(server.asked)
    assert 2 == len(edit_replies(folder, "kind = 'review' AND turn = 1", lambda _: "Hm."))
    summary = attunebench.reparse(folder, data)
    assert (0, 2) == (summary.unchanged, summary.changed.total())
    assert all(result["turns"][0]["em_emotion_tags"] is None for result in read(folder).values())
    assert asked == len(server.asked)


@pytest.mark.parametrize("kind", ["draft", "post"])
def test_a_result_whose_reply_is_not_in_the_journal_is_left_and_named(
    run: Run, data: Path, folder: Path, kind: str
) -> None:
    run()
    name = rewrite(folder, lambda result: result["turns"][0].update(em_emotion_tags=[]))
    conversation = read(folder)[name]["conversationId"]
    edit_replies(folder, f"kind = '{kind}' AND turn < 2 AND conversation_id = '{conversation}'", None)
    before = files(folder)
    summary = attunebench.reparse(folder, data)
    assert {name: f"the journal lacks the replies to 1 of its {4 * T + 1} calls"} == summary.left
    assert before == files(folder)
    assert 1 == summary.unchanged


def test_a_result_of_another_text_of_its_conversation_is_left_and_named(run: Run, data: Path, folder: Path) -> None:
    run()
    before = files(folder)
    path = sorted(data.rglob("*.json"))[0]
    conversation = json.loads(path.read_text("utf-8"))
    conversation["turns"][0]["userMessage"] = "Something else entirely."
    path.write_text(json.dumps(conversation), "utf-8")
    summary = attunebench.reparse(folder, data)
    assert ["it was made with other conversation texts"] == list(summary.left.values())
    assert before == files(folder)


def test_a_vote_that_the_journal_lacks_stays(run: Run, data: Path, folder: Path) -> None:
    run(judges=("judge",))
    right = read(folder)
    edit_replies(folder, "kind = 'judge'", None)
    rewrite(folder, lambda result: result["turns"][0].update(em_emotion_tags=None))
    summary = attunebench.reparse(folder, data)
    assert {} == summary.left
    assert right == read(folder)


def test_a_draft_that_is_read_otherwise_loses_the_votes_on_the_old_one(run: Run, data: Path, folder: Path) -> None:
    run(judges=("judge",))
    edit_replies(
        folder,
        "kind = 'draft' AND turn = 1",
        lambda text: text.replace('"drafted_response": "', '"drafted_response": "Oh, '),
    )
    before = read(folder)
    summary = attunebench.reparse(folder, data)
    assert 2 == summary.votes_dropped
    for name, result in read(folder).items():
        assert "Oh, " + before[name]["turns"][0]["em_drafted_response"] == result["turns"][0]["em_drafted_response"]
        assert {} == result["turns"][0]["em_draft_judge_scores_by_model"] == result["turns"][0]["em_draft_judge_scores"]
        assert before[name]["turns"][1:] == result["turns"][1:]


def test_each_model_of_a_folder_is_read_from_its_own_replies(run: Run, data: Path, folder: Path) -> None:
    run()
    run(model="other")
    right = read(folder)
    for number in range(4):
        rewrite(folder, lambda result: result["turns"][0].update(em_emotion_tags=None), number)
    summary = attunebench.reparse(folder, data)
    assert right == read(folder)
    assert {"fake-model": 2, "other": 2} == summary.changed


def test_replies_to_other_parameters_belong_to_no_result(run: Run, data: Path, folder: Path) -> None:
    run()
    rewrite(folder, lambda result: result["parameters"].update(temperature=0.5))
    before = files(folder)
    summary = attunebench.reparse(folder, data)
    assert ["the journal has none of its replies"] == list(summary.left.values())
    assert before == files(folder)


def test_a_folder_without_a_journal_is_an_error_and_built_in_baselines_are_passed_over(
    run: Run, data: Path, folder: Path
) -> None:
    attunebench.run(data, RunSettings(em=ModelSettings(provider="baseline", model="majority"), output=folder))
    with pytest.raises(DataError, match="no call journal"):
        attunebench.reparse(folder, data)
    run()
    summary = attunebench.reparse(folder, data)
    assert (2, {}) == (summary.unchanged, summary.left)


def test_the_command_says_what_it_did_and_exits_with_1_where_results_were_left(
    run: Run, data: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    words = ["reparse", "--results", str(folder), "-d", str(data)]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert 0 == ended.value.code
    assert "2 results parsed again: 0 rewritten, 2 unchanged; 0 skipped." in capsys.readouterr().err
    rewrite(folder, lambda result: result["turns"][0].update(em_emotion_tags=None))
    name = rewrite(folder, lambda result: result.update(conversationId="gone"), 1)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert 1 == ended.value.code
    err = capsys.readouterr().err
    assert f"Skipped: {name}: its conversation is missing." in err
    assert "fake-model: 1 result rewritten." in err
    assert "1 result parsed again: 1 rewritten, 0 unchanged; 1 skipped." in err


def test_whatever_a_server_did_reading_again_at_once_changes_nothing(
    run: Run, server: FakeServer, data: Path, folder: Path
) -> None:
    too_long = {"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}}
    behaviours: list[Behaviour] = [
        Answer(text="{", finish_reason="length"),
        Answer(message={"refusal": "No."}, text=""),
        Answer(text='{"drafted_response": "Yes.'),
        Status(400, too_long),
        Status(500),
        Answer(text="\ud800 ```json {}```"),
    ]
    # Every request of a second one is answered well, so that chains of all lengths come about.
    server.script = lambda asked: behaviours[asked.number // 2 % len(behaviours)] if asked.number % 2 else Answer()
    run(judges=("judge",), max_tries=8)
    run(judges=("judge",), max_tries=8, retry_unanswered=True)
    before = files(folder)
    summary = attunebench.reparse(folder, data)
    assert {} == summary.left
    assert (2, 0) == (summary.unchanged, summary.changed.total())
    assert before == files(folder)


def test_of_replies_to_an_earlier_and_a_later_prompt_a_result_gets_its_own(
    run: Run, server: FakeServer, data: Path, folder: Path
) -> None:
    garbled: set[bytes] = set()

    def garbled_at_first(asked: Asked) -> Behaviour:
        key = asked.content[:3000]
        first = key not in garbled
        garbled.add(key)
        return Answer(text="Hm.") if first else Answer()

    server.script = garbled_at_first
    run()
    path = data / "conversation_1.json"
    earlier = path.read_text("utf-8")
    path.write_text(earlier.replace("message 3-1", "message three one"), "utf-8")
    run(replace=True)
    after = files(folder)
    assert 2 == attunebench.reparse(folder, data).unchanged
    path.write_text(earlier, "utf-8")
    summary = attunebench.reparse(folder, data)
    assert (1, 1) == (summary.unchanged, len(summary.left))
    assert after == files(folder)


def test_results_of_a_run_at_work_are_left_with_a_clause_that_has_no_stop(run: Run, data: Path, folder: Path) -> None:
    run()
    result = next(iter(read(folder).values()))
    with claim(folder, result["provider"], result["em_model"], [result["mode"]]):
        reasons = attunebench.reparse(folder, data).left.values()
    assert reasons
    assert not any(reason.endswith(".") for reason in reasons), reasons
