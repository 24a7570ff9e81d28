"""The votes in a result file: which are there, which are missing, and what a new one changes in the file."""

from __future__ import annotations

from typing import Any

import pytest

from attunebench.protocol.calls import RATINGS, Answer, Asked, Call, Record, Usage
from attunebench.results.folder import NoResult, read_content
from attunebench.results.parsing import parse_result
from attunebench.results.votes import (
    check_editable,
    judges_of,
    kept_votes,
    view_of,
    votes_in,
    with_votes,
)

OURS: dict[str, Any] = {
    "conversationId": "c",
    "em_model": "m",
    "judge_models": ["one"],
    "judge_usage": {"prompt_tokens": 10, "completion_tokens": None},
    "judge_api_cost": 0.5,
    "turns": [
        {
            "turnNumber": number,
            "em_drafted_response": f"Draft {number}",
            "em_draft_judge_scores": {"helpfulness": number},
            "em_draft_judge_scores_by_model": {"one": {"helpfulness": number}},
            "em_draft_binary_assessment": {"B1": "yes"},
            "em_draft_binary_assessment_by_model": {"one": {"B1": "yes"}},
            "em_draft_judge_scale_by_model": {"one": "quality"},
        }
        for number in (1, 2)
    ],
}
THEIRS: dict[str, Any] = {
    "conversationId": "c",
    "em_model": "m",
    "turns": [
        {"em_drafted_response": "Draft 1", "em_draft_judge_scores": {"overall_score": 6, "comment": "fine"}},
        {"em_drafted_response": "Draft 2", "em_draft_binary_assessment": {}},
        {"em_drafted_response": None},
    ],
}


def vote(turn: int, judge: int = 0, rating: int | None = 3, **values: Any) -> Record:
    """A judge's answer; one of nothing where `rating` is None."""
    asked = Asked("judge", questions={"B1": "?"}, scale="quality")
    call = Call(f"c/default/{turn}/judge/{judge}", "c", "default", turn, "judge", (), asked, {}, judge=judge)
    given = {} if rating is None else {**dict.fromkeys(RATINGS, rating), "draft_binary_assessment": {"B1": "no"}}
    return Record(call, Answer(given, (), "answered"), usage=Usage(prompt_tokens=5), cost=0.25, **values)


def test_a_vote_of_nothing_counts_as_cast_and_takes_the_place_of_an_older_one_unless_that_is_spared() -> None:
    empty = [vote(1, rating=None)]
    assert not votes_in(with_votes(OURS, empty, ("one",)))[1]["one"]
    spared = with_votes(OURS, empty, ("one",), spare=True)
    assert OURS["turns"] == spared["turns"]
    assert 0.75 == spared["judge_api_cost"]
    assert "new" in votes_in(with_votes(THEIRS, empty, ("new",), spare=True))[1]


def test_a_result_that_is_made_anew_keeps_the_votes_on_drafts_that_stay() -> None:
    fresh = with_votes({**OURS, "judge_models": [], "turns": [_bare(turn) for turn in OURS["turns"]]}, [], ("two",))
    fresh["turns"][1]["em_drafted_response"] = "Another draft"
    result = kept_votes(OURS, fresh)
    assert ["one", "two"] == result["judge_models"]
    assert [1] == [turn for turn, votes in votes_in(result).items() if "one" in votes]
    assert {} == result["turns"][1]["em_draft_judge_scores"]


def _bare(turn: dict[str, Any]) -> dict[str, Any]:
    return {key: {} if key.startswith("em_draft_") else value for key, value in turn.items()}


def test_a_view_knows_which_turns_have_a_draft_and_a_vote_and_on_which_scale() -> None:
    there = view_of(OURS)
    assert ({1, 2}, {"one": {1: "quality", 2: "quality"}}) == (there.drafted, there.voted)


def test_a_vote_without_a_scale_is_on_the_older_one() -> None:
    assert ["relative"] == [votes["unknown"].scale for votes in votes_in(THEIRS).values() if votes]


def test_judges_are_those_that_are_named_or_else_those_that_voted() -> None:
    assert (("one",), ("unknown",)) == (judges_of(OURS), judges_of(THEIRS))


@pytest.mark.parametrize(
    "edit",
    [
        {"turns": None},
        {"turns": [3]},
        {"turns": [{"turnNumber": 1}, {"turnNumber": 1}]},
        {"turns": [{"turnNumber": 1}, {}]},
        {"turns": [{"turnNumber": 1, "em_drafted_response": 5}]},
        {"turns": [{"turnNumber": 1, "em_draft_judge_scores": [5]}]},
        {"turns": [{"turnNumber": 1, "em_draft_binary_assessment_by_model": {"one": "yes"}}]},
        {"judge_models": "one"},
        {"judge_models": [1]},
        {"judge_usage": {"prompt_tokens": "many"}},
        {"judge_api_cost": "much"},
    ],
)
def test_a_file_that_votes_cannot_be_added_to_is_known(edit: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"turn|votes|drafts"):
        check_editable({**OURS, **edit})
    there = view_of({**OURS, **edit})
    assert (False, frozenset(), {}) == (there.whole, there.drafted, there.voted)


def test_turns_without_numbers_are_for_votes_alone() -> None:
    check_editable(THEIRS)
    assert not view_of(THEIRS).whole
    assert [1, 2, 3] == [turn.number for turn in parse_result(THEIRS).turns]


def test_a_file_that_is_meant_to_be_a_result_is_read_as_json(tmp_path: Any) -> None:
    (tmp_path / "a.json").write_text('{"em_model": "m", "more": 1}')
    (tmp_path / "b.json").write_text("{")
    assert {"em_model": "m", "more": 1} == read_content(tmp_path / "a.json", "a.json")
    assert isinstance(read_content(tmp_path / "b.json", "b.json"), NoResult)
