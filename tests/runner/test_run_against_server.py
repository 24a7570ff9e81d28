"""Runs against a real local HTTP server: what is sent, what is written, and whose fault changes what."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from keys import KEY

from attunebench.conversations import load_conversations
from attunebench.errors import DataError, UsageError
from attunebench.runner import RunSummary
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Status, Together

T = 3
Run = Callable[..., RunSummary]
Results = Callable[[], list[dict[str, Any]]]


def models_asked(server: FakeServer) -> Counter[str]:
    return Counter(body["model"] for body in server.bodies)


def predictions(results: list[dict[str, Any]]) -> list[Any]:
    """What the model said, without when, how long and after how many tries."""
    return [[result["turns"], result["post_conversation"]] for result in results]


def test_a_conversation_takes_four_calls_a_turn_and_one_more_and_a_vote_a_turn(
    run: Run, server: FakeServer, results: Results
) -> None:
    run(judges=("judge",), modes=("default", "verbose"))
    assert {"fake-model": 2 * 2 * (4 * T + 1), "judge": 2 * 2 * T} == models_asked(server)
    assert 4 == len(results())


def test_results_are_complete_and_scored(run: Run, results: Results) -> None:
    summary = run(judges=("judge",))
    assert 1.0 == summary.answered_rate
    for result in results():
        assert result["calls"]["expected_items"] == result["calls"]["answered_items"]
        assert 0 < result["scores"]["composite"] < 100
        assert 0.5 == result["scores"]["draft_judge"]
        assert all("judge" in turn["em_draft_judge_scores_by_model"] for turn in result["turns"])


def test_a_repeated_run_sends_nothing_and_loads_no_client(
    run: Run, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(judges=("judge",))
    server.asked.clear()
    monkeypatch.setitem(sys.modules, "attunebench.backends.chat", None)
    summary = run(judges=("judge",))
    assert [] == server.asked
    assert (0, 2) == (summary.written, summary.complete_before)


def test_a_result_that_is_gone_comes_out_of_the_journal(
    run: Run, server: FakeServer, tmp_path: Path, results: Results
) -> None:
    run()
    before = predictions(results())
    next((tmp_path / "results").glob("*.json")).unlink()
    server.asked.clear()
    summary = run()
    assert [] == server.bodies
    assert (4 * T + 1, 0) == (summary.spending.replayed, summary.spending.model.replies)
    assert before == predictions(results())


def test_without_its_journal_a_run_does_the_missing_conversations_only(
    run: Run, server: FakeServer, tmp_path: Path, results: Results
) -> None:
    run()
    next((tmp_path / "results").glob("*.json")).unlink()
    (tmp_path / "results" / "_calls.sqlite3").unlink()
    server.asked.clear()
    run()
    assert 4 * T + 1 == len(server.bodies)
    assert 2 == len(results())


def test_transient_trouble_changes_no_prediction(
    run: Run, server: FakeServer, results: Results, tmp_path: Path
) -> None:
    run(output=tmp_path / "undisturbed")
    undisturbed = [json.loads(path.read_text()) for path in sorted((tmp_path / "undisturbed").glob("*.json"))]
    server.asked.clear()
    tried: set[str] = set()

    def first_try_fails(asked: Asked) -> Behaviour:
        if asked.prompt in tried or not tried:  # the very first one, after which more than a few are sent at once
            tried.add(asked.prompt)
            return Answer()
        tried.add(asked.prompt)
        return Status(503)

    server.script = first_try_fails
    summary = run()
    assert predictions(undisturbed) == predictions(results())
    assert 2 * (4 * T + 1) - 1 == summary.retries
    assert 1.0 == summary.answered_rate


def first_prompt_of(data: Path) -> str:
    return load_conversations(data).conversations[0].turns[0].user_message


def test_a_conversation_whose_line_stays_broken_is_skipped_and_unscored_until_a_run_has_it(
    run: Run, server: FakeServer, data: Path, results: Results, tmp_path: Path
) -> None:
    broken = first_prompt_of(data)
    server.script = lambda asked: Status(503) if broken in asked.prompt else Answer()
    summary = run(max_tries=2)
    assert 1 == len(results())
    assert 1 == len(summary.skipped)
    noted = json.loads((tmp_path / "results" / "_skipped_fake-model.json").read_text())["skipped"]
    assert [(True, 2)] == [("503" in entry["reason"], entry["tries"]) for entry in noted]
    server.script = None
    server.asked.clear()
    run()
    assert (4 * T + 1, 2) == (len(server.bodies), len(results()))
    assert not (tmp_path / "results" / "_skipped_fake-model.json").exists()


def without_letters(asked: Asked) -> Behaviour:
    """No usable answer to the first ask of a comparison, a good one to the reask."""
    is_pairwise = "pairwise_selections" in asked.prompt
    return Answer("I cannot choose.") if is_pairwise and "An earlier answer" not in asked.prompt else Answer()


def test_an_unusable_answer_is_asked_for_again_naming_what_is_missing(
    run: Run, server: FakeServer, results: Results
) -> None:
    server.script = without_letters
    summary = run()
    assert 2 * T == summary.reasks
    assert 1.0 == summary.answered_rate
    assert {T} == {result["calls"]["reasked"] for result in results()}
    again = [asked.prompt for asked in server.asked if "An earlier answer" in asked.prompt]
    assert 2 * T == len(again)
    assert all("pairwise_selections" in prompt.splitlines()[-1] for prompt in again)
    assert not any("I cannot choose" in prompt for prompt in again)


@pytest.mark.parametrize("permitted", [0, 1])
def test_what_stays_unusable_is_asked_again_as_permitted_and_counts_as_not_answered(
    permitted: int, run: Run, server: FakeServer, results: Results
) -> None:
    server.script = lambda asked: Answer("Hm.") if "pairwise_selections" in asked.prompt else Answer()
    summary = run(max_reasks=permitted)
    assert (2 * T * permitted, {}) == (summary.reasks, summary.skipped)
    assert 2 * (4 * T + 1 + T * permitted) == len(server.bodies)
    assert all(turn["em_pairwise_selections"] is None for result in results() for turn in result["turns"])
    assert {0.0} == {result["scores"]["pairwise_accuracy"] for result in results()}


def test_a_reply_that_was_cut_is_asked_for_once_with_four_times_the_limit(
    run: Run, server: FakeServer, results: Results
) -> None:
    def script(asked: Asked) -> Behaviour:
        cut = "pairwise_selections" in asked.prompt and asked.body["max_tokens"] == 100
        return Answer('{"pairwise_selections": {"0": "A", "1', finish_reason="length") if cut else Answer()

    server.script = script
    summary = run(max_tokens=100)
    assert Counter({100: 2 * (4 * T + 1), 400: 2 * T}) == Counter(body["max_tokens"] for body in server.bodies)
    assert 1.0 == summary.answered_rate


def test_a_refusal_is_not_asked_again_counts_as_refused_and_leaves_nothing_to_judge(
    run: Run, server: FakeServer, results: Results
) -> None:
    refusal = Answer("", message={"content": None, "refusal": "I would rather not."})
    server.script = lambda asked: refusal if "drafted_response" in asked.prompt else Answer()
    summary = run(judges=("judge",))
    assert (0, 0, {"fake-model": 2 * (4 * T + 1)}) == (summary.reasks, summary.votes_owed, models_asked(server))
    assert {T} == {result["calls"]["refused"] for result in results()}
    assert all(turn["em_drafted_response"] is None for result in results() for turn in result["turns"])
    server.asked.clear()
    run(judges=("judge",))
    assert [] == server.asked


def test_a_judge_whose_line_is_broken_costs_no_conversation_and_owes_its_votes(
    run: Run, server: FakeServer, results: Results
) -> None:
    server.script = lambda asked: Status(503) if asked.body["model"] == "judge" else Answer()
    summary = run(judges=("judge",), max_tries=1)
    assert ({}, 2 * T) == (summary.skipped, summary.votes_owed)
    assert {None} == {result["scores"]["draft_judge"] for result in results()}
    before = predictions(results())
    server.script = None
    server.asked.clear()
    assert 0 == run(judges=("judge",)).votes_owed
    assert {"judge": 2 * T} == models_asked(server)
    assert {0.5} == {result["scores"]["draft_judge"] for result in results()}
    strip = [{k: v for k, v in turn.items() if "judge" not in k and "draft_binary" not in k} for turn in before[0][0]]
    now = predictions(results())[0][0]
    assert strip == [{k: v for k, v in turn.items() if "judge" not in k and "draft_binary" not in k} for turn in now]


def test_a_judge_that_says_nothing_usable_is_not_asked_for_ever(run: Run, server: FakeServer) -> None:
    server.script = lambda asked: Answer("Nice.") if asked.body["model"] == "judge" else Answer()
    assert 0 == run(judges=("judge",), max_reasks=0).votes_owed
    server.asked.clear()
    run(judges=("judge",), max_reasks=0)
    assert [] == server.asked


def test_a_judge_is_added_to_results_that_are_there(run: Run, server: FakeServer, results: Results) -> None:
    run(judges=("first",))
    server.asked.clear()
    run(judges=("first", "second"))
    assert {"second": 2 * T} == models_asked(server)
    for result in results():
        assert ["first", "second"] == result["judge_models"]
        assert all({"first", "second"} == set(t["em_draft_judge_scores_by_model"]) for t in result["turns"])


def test_a_run_without_judges_leaves_votes_alone(run: Run, server: FakeServer, results: Results) -> None:
    run(judges=("judge",))
    before = results()
    server.asked.clear()
    run()
    assert [] == server.asked
    assert before == results()


def test_the_judge_sees_neither_who_drafted_nor_the_profile(run: Run, server: FakeServer, data: Path) -> None:
    run(judges=("judge",), modes=("omniscient",))
    attitudes = {c.profile.conversation_topic_attitude for c in load_conversations(data) if c.profile}
    for body in server.bodies:
        if body["model"] == "judge":
            text = json.dumps(body["messages"])
            assert "fake-model" not in text
            assert "BACKGROUND" not in text
            assert not any(attitude and f"attitude: {attitude}" in text for attitude in attitudes)


@pytest.mark.parametrize("limit", [1, 4])
def test_no_more_calls_than_the_limit_are_under_way(run: Run, server: FakeServer, limit: int) -> None:
    server.script = lambda _: Together(limit)
    run(concurrency=limit, judges=("judge",), limit=1)
    assert limit == server.most_at_once


def test_all_calls_of_a_conversation_are_free_to_go_at_once(run: Run, server: FakeServer) -> None:
    """After the first answer, without which no more than five are bought."""
    server.script = lambda _: Together(4 * T) if len(server.bodies) > 1 else Answer()
    run(concurrency=100, limit=1, call_timeout=30, max_tries=1)
    assert 4 * T == server.most_at_once


def test_model_names_that_look_alike_to_a_file_system_keep_their_own_files(run: Run, results: Results) -> None:
    for name in ("a/b", "a:b", "A-B"):
        run(model=name, limit=1)
    assert ["A-B", "a/b", "a:b"] == sorted(result["em_model"] for result in results())


def test_a_file_of_somebody_else_is_never_overwritten(run: Run, tmp_path: Path, results: Results) -> None:
    run(limit=1)
    (path,) = (tmp_path / "results").glob("*.json")
    path.write_text('{"mine": true}')
    run(limit=1)
    assert '{"mine": true}' == path.read_text()
    assert 2 == len(results())


def test_a_corrected_label_buys_nothing_again(run: Run, server: FakeServer, data: Path) -> None:
    run()
    path = next(data.glob("*.json"))
    content = json.loads(path.read_text())
    content["turns"][0]["moodShiftTags"] = [{"emotion": "Proud", "intensity": 1}]
    content["turns"][0]["annotations"]["pairwiseComparisons"][0]["winner"] = "A"
    path.write_text(json.dumps(content))
    server.asked.clear()
    run()
    assert [] == server.asked


def test_a_changed_text_is_named_and_not_mixed_in(run: Run, data: Path) -> None:
    run()
    path = next(data.glob("*.json"))
    content = json.loads(path.read_text())
    content["turns"][0]["userMessage"] += " And one thing more."
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"conversation texts, in 1 result\."):
        run()


def test_the_same_judge_twice_is_refused(run: Run) -> None:
    with pytest.raises(UsageError, match="given twice"):
        run(judges=("judge", "judge"))


def test_no_key_is_written_anywhere(run: Run, server: FakeServer, data: Path, tmp_path: Path) -> None:
    broken = first_prompt_of(data)
    server.script = lambda asked: Status(503, f"for {KEY}") if broken in asked.prompt else Answer()
    run(max_tries=1)
    assert all(asked.headers["authorization"] == f"Bearer {KEY}" for asked in server.asked)
    for path in (tmp_path / "results").iterdir():
        assert KEY.encode() not in path.read_bytes()


def test_a_draft_with_half_a_surrogate_is_kept(run: Run, server: FakeServer, results: Results) -> None:
    text = json.dumps({"drafted_response": "I hear you \ud83d and so on."})
    server.script = lambda asked: Answer(text) if "drafted_response" in asked.prompt else Answer()
    run(limit=1)
    assert all(turn["em_drafted_response"] for result in results() for turn in result["turns"])


@pytest.mark.parametrize("length", [299, 301, 3000])
def test_a_model_with_a_long_name_is_known_by_all_of_it(run: Callable[..., RunSummary], length: int) -> None:
    assert {} == run(model="m" * length).served


def test_models_that_differ_behind_a_long_beginning_are_different(
    run: Callable[..., RunSummary], server: FakeServer
) -> None:
    other = "m" * 400 + "-else"
    server.script = lambda _: Answer(extra={"model": other})
    assert {"m" * 400: [other]} == run(model="m" * 400).served
