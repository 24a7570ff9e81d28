"""Which files of a folder are results, and what is said of the others."""

from __future__ import annotations

import json
import os

import pytest
from factory import make_conversation, write_conversations
from reading import load_results
from result_factory import oracle_result, write_result

from attunebench.errors import DataError
from attunebench.results.parsing import is_result, parse_result
from attunebench.results.schema import PredictedTag


def parsed(turn=None, **keys):
    content = {"conversationId": "c", "em_model": "m", "turns": [] if turn is None else [turn], **keys}
    return parse_result(content)


def test_conversation_model_and_turns_are_enough():
    result = parsed()
    assert ("c", "unknown", "m", "default", None) == result.key
    assert frozenset() == result.measured


@pytest.mark.parametrize("key", ["conversationId", "em_model", "turns"])
def test_a_required_key_that_is_missing_is_named(key):
    content = {"conversationId": "c", "em_model": "m", "turns": []}
    del content[key]
    with pytest.raises(ValueError, match=key):
        parse_result(content)


def test_answers_are_read_in_their_usual_spellings_and_all_else_is_not_answered():
    answers = {"B1": "Yes", "B2": True, "B3": 0, "B4": "n/a", "B5": None, "B6": ["yes"], "B7": " NO "}
    turn = {"turnNumber": 1, "em_binary_om_assessment": answers, "em_pairwise_selections": {"0": "a", "1": "tie"}}
    read = parsed(turn).turns[0]
    assert {"B1": "yes", "B2": "yes", "B3": "no", "B7": "no"} == read.binary_om
    assert {"0": "A"} == read.pairwise


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([], ()),
        (None, None),
        ("Proud", None),
        ([{"emotion": "PROUD", "intensity": "intense"}], (PredictedTag("Proud", 6),)),
        ([{"emotion": "proud", "intensity": 9}, "Joyful"], (PredictedTag("Proud"),)),
        (["Joyful"], None),
        ([{"emotion": 3}, None], None),
    ],
)
def test_tags_outside_the_twenty_are_dropped_and_a_list_of_nothing_else_is_not_answered(tags, expected):
    assert expected == parsed({"em_emotion_tags": tags}).turns[0].tags


def test_values_outside_their_scale_are_not_answered():
    post = {
        "predicted_post_panas": {
            "items": {"PROUD": 8, "Upset": "5", "alert": True, "active": 1.5, "strong": 10**400},
            "totalPositiveAffect": 9,
            "totalNegativeAffect": 70,
        },
        "predicted_conversation_wide": {"fourBranchScores": {"Managing": 7, "perceiving": 0}, "Q2": "", "Q1": "Other"},
    }
    result = parsed(post_conversation=post)
    assert {"upset": 5, "active": 1.5} == result.panas.items
    assert (None, 70) == (result.panas.positive, result.panas.negative)
    assert {"managing": 7} == result.wide.four_branch
    assert (("Other",), None) == (result.wide.q1, result.wide.q2)


def test_null_is_asked_and_not_answered_and_absent_is_not_asked():
    assert frozenset() == parsed(post_conversation={}).measured
    assert {"panas", "wide"} == parsed(post_conversation=None).measured
    assert {"tags"} == parsed({"em_emotion_tags": None}).measured


def test_flat_panas_items_are_read_like_nested_ones():
    flat = {"predicted_post_panas": {"Proud": 3, "totalPositiveAffect": 40}}
    assert {"proud": 3} == parsed(post_conversation=flat).panas.items


def test_turns_without_a_number_count_from_1_and_a_number_that_stands_twice_is_refused():
    assert [1, 2] == [turn.number for turn in parse_result({**_bare(), "turns": [{}, {}]}).turns]
    with pytest.raises(ValueError, match="turn 2 occurs"):
        parse_result({**_bare(), "turns": [{"turnNumber": 2}, {"turnNumber": 2}]})


def _bare():
    return {"conversationId": "c", "em_model": "m"}


def test_judges_are_those_that_were_set_or_else_those_that_voted():
    votes = {"em_draft_judge_scores_by_model": {"j": {"helpfulness": 3}, "silent": {}}}
    assert ("j",) == parsed(votes).judges
    assert ("one", "two") == parsed(votes, judge_models=["one", "two", "one"]).judges
    assert {"unknown": {"helpfulness": 3}} == parsed({"em_draft_judge_scores": {"helpfulness": 3}}).turns[0].ratings


def test_a_conversation_is_no_result_and_a_result_without_its_model_is_meant_to_be_one():
    conversation = make_conversation(1)
    assert not is_result(conversation)
    incomplete = oracle_result(conversation)
    del incomplete["em_model"]
    assert is_result(incomplete)
    assert not is_result([1])


@pytest.fixture
def folder(tmp_path):
    raw = make_conversation(1)
    write_result(tmp_path / "deep" / "er", oracle_result(raw))
    write_conversations(tmp_path / "conversations", 1)
    (tmp_path / "scores.json").write_text('{"schema_version": "1.0", "conversations": [], "aggregates": []}')
    (tmp_path / "_private.json").write_text("{")
    (tmp_path / ".hidden.json").write_text("{")
    return tmp_path


def test_a_folder_is_read_recursively_and_other_files_are_passed_over(folder):
    found = load_results(folder)
    assert 1 == len(found.results)
    assert ([], []) == (found.unreadable, found.profiles)
    assert found.results[0].source_file.startswith("deep/er/")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "is not valid JSON"),
        (b"", "is not valid JSON"),
        (b"\xff", "is not UTF-8"),
        (b"[" * 100_000, "is nested deeper than 64 levels"),
        (b'{"em_model": "m", "turns": []}', "conversationId is missing"),
        (b'{"em_model": "m", "conversationId": "c", "turns": [3]}', "turns is missing or is not a list of objects"),
    ],
)
def test_an_unreadable_result_is_named_with_its_reason_and_stops_nothing(folder, content, reason):
    (folder / "bad.json").write_bytes(content)
    found = load_results(folder)
    assert 1 == len(found.results)
    assert ["bad.json"] == [file.file for file in found.unreadable]
    assert reason in found.unreadable[0].reason


def test_counts_and_costs_beyond_any_float_are_unknown():
    result = parsed(api_cost=10**400, duration_seconds="9" * 400)
    assert (None, None) == (result.api_cost, result.duration_seconds)


def test_a_byte_order_mark_and_a_nan_do_no_harm(tmp_path):
    result = {**oracle_result(make_conversation(1)), "api_cost": float("nan")}
    (tmp_path / "r.json").write_text("\ufeff" + json.dumps(result), encoding="utf-8")
    assert load_results(tmp_path).results[0].api_cost is None


def test_of_two_results_for_the_same_thing_neither_is_taken_and_both_are_named(folder):
    result = oracle_result(make_conversation(1))
    write_result(folder, result, "again.json")
    write_result(folder, {**result, "epoch": 2}, "second_epoch.json")
    found = load_results(folder)
    assert ["second_epoch.json"] == [kept.source_file for kept in found.results]
    assert 2 == len(found.duplicates[0].files)
    assert "again.json" in found.duplicates[0].files


def test_what_a_run_skipped_is_known_from_its_file(folder):
    entry = {"provider": "p", "model": "m", "conversationId": "c", "mode": "verbose", "reason": "timed out"}
    (folder / "_skipped_m.json").write_text(json.dumps({"schema_version": 1, "skipped": [entry, 3, {}]}))
    skipped = load_results(folder).skipped
    assert [("p", "m", "c", "verbose", "timed out")] == [
        (s.provider, s.em_model, s.conversation_id, s.mode, s.reason) for s in skipped
    ]


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="There is no folder"):
        load_results(tmp_path / "nowhere")


def linked(tmp_path):
    """Results of two models, one of them behind links: to a folder, to a file, in a circle, and to nothing."""
    write_result(tmp_path / "res" / "a", oracle_result(make_conversation(1), model="a"), "one.json")
    write_result(tmp_path / "real" / "deep", oracle_result(make_conversation(1), model="b"), "one.json")
    write_result(tmp_path / "real", oracle_result(make_conversation(2), model="b"), "two.json")
    write_result(tmp_path, oracle_result(make_conversation(2), model="a"), "alone.json")
    (tmp_path / "res" / "b").symlink_to("../real")
    (tmp_path / "res" / "b again").symlink_to("../real")
    (tmp_path / "real" / "circle").symlink_to("..")
    (tmp_path / "res" / "file.json").symlink_to("../alone.json")
    (tmp_path / "res" / "a" / "same.json").symlink_to("one.json")
    return tmp_path / "res"


def test_results_behind_links_are_read_once(tmp_path):
    found = load_results(linked(tmp_path))
    assert {("a", 1), ("a", 2), ("b", 1), ("b", 2)} == {(result.em_model, _seed(result)) for result in found.results}
    assert (4, (), []) == (len(found.results), found.duplicates, found.unreadable)


def _seed(result):
    return next(s for s in (1, 2) if make_conversation(s)["conversationId"] == result.conversation_id)


def test_what_cannot_be_read_in_a_folder_is_named(tmp_path):
    res = linked(tmp_path)
    os.mkfifo(res / "pipe.json")
    (res / "lost.json").symlink_to("nothing.json")
    (res / "self.json").symlink_to("self.json")
    (res / "model").symlink_to("nothing")
    found = load_results(res)
    assert {"pipe.json", "lost.json", "self.json", "model"} == {file.file for file in found.unreadable}
    assert 4 == len(found.results)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions bind no administrator")
@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_a_folder_without_access_is_named(tmp_path, mode):
    res = linked(tmp_path)
    write_result(res / "closed", oracle_result(make_conversation(3)), "one.json")
    (res / "closed").chmod(mode)
    found = load_results(res)
    (res / "closed").chmod(0o700)
    assert ["closed"] == [file.file.split("/")[0] for file in found.unreadable]
    assert 4 == len(found.results)


def test_a_pipe_in_place_of_a_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "results")
    assert 1 == len(load_results(tmp_path / "results").unreadable)
