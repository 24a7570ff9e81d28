"""One conversation file: aliases, missing labels, and the sentence for each value that does not fit."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from factory import conversations, make_conversation
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.constants import PANAS_POSITIVE, Q1_OPTIONS, Q3_OPTIONS
from attunebench.conversations import Conversation, read_conversation

Json = dict[str, Any]


def read(raw: Json) -> Conversation:
    """The conversation, which has to be valid."""
    conversation, notes = read_conversation(raw, "c.json")
    assert [] == notes.errors
    assert conversation is not None
    return conversation


def errors(raw: Json) -> list[str]:
    conversation, notes = read_conversation(raw, "c.json")
    assert (conversation is None) == bool(notes.errors)
    return [str(error) for error in notes.errors]


def warnings(raw: Json, kind: str) -> list[str]:
    return [issue.path for issue in read_conversation(raw)[1].warnings if issue.kind == kind]


@pytest.fixture
def raw() -> Json:
    return make_conversation(1, turns=3)


@given(conversations())
@settings(max_examples=25, deadline=None)
def test_generated_conversations_have_neither_errors_nor_warnings(raw: Json) -> None:
    conversation, notes = read_conversation(raw)
    assert ([], []) == (notes.errors, notes.warnings)
    assert conversation is not None
    assert len(raw["turns"]) == len(conversation.turns)


def test_the_parts_arrive_where_readers_look_for_them(raw: Json) -> None:
    conversation = read(raw)
    first, given_first = conversation.turns[0], raw["turns"][0]
    assert raw["conversationId"] == conversation.conversation_id
    assert raw["participant_profile"]["participant_id"] == conversation.participant_id
    assert raw["participant_profile"]["computed_scores"] == dict(conversation.profile.computed_scores)  # type: ignore[union-attr]
    assert raw["conversationWideQuestions"]["fourBranchScores"] == dict(conversation.wide.four_branch)
    assert given_first["userMessage"] == first.user_message
    assert given_first["annotations"]["alternateResponses"]["humanEdited"] == first.variants["human"]
    assert [t["emotion"] for t in given_first["moodShiftTags"]] == [t.emotion for t in first.tags or ()]
    assert [c["winner"] for c in given_first["annotations"]["pairwiseComparisons"]] == [
        c.winner for c in first.comparisons
    ]


def with_other_names(raw: Json) -> Json:
    """The same content under every alias that the format knows."""
    other = copy.deepcopy(raw)
    wide = other["conversationWideQuestions"]
    for new, old in (("Q1", "q1_lookingFor"), ("Q2", "q2_emotionClarity"), ("Q3", "q3_modelFit")):
        wide[new] = wide.pop(old)
    other["prePanas"]["items"] = {k.upper(): v for k, v in other["prePanas"].pop("responses").items()}
    other["postPanas"] |= other["postPanas"].pop("responses")
    for turn in other["turns"]:
        labels = turn["annotations"]
        for judgement in labels["binaryJudgements"]:
            judgement["did_occur"] = {"yes": True, "no": 0, "na": "N/A"}[judgement.pop("observedBehavior")]
            judgement["humanPreference"] = {"yes": "Y", "no": "false", "na": "not_applicable"}[
                judgement.pop("preferredBehavior")
            ]
        replies = labels["alternateResponses"]
        labels["alternateResponses"] = {"alternate1": replies["llmImproved"], "alternate2": replies["humanEdited"]}
        for comparison in labels["pairwiseComparisons"]:
            comparison["response_1"] = comparison.pop("responseA")
            comparison["response_2"] = comparison.pop("responseB")
            comparison["winner"] = {"A": "response_1", "B": "response_2"}[comparison["winner"]]
    return other


def test_aliases_read_the_same_as_the_names_of_the_format(raw: Json) -> None:
    assert read(raw) == read(with_other_names(raw))


@pytest.mark.parametrize("alias", ["did_occur", "humanValue", "actualValue"])
def test_each_alias_of_the_observed_value(alias: str, raw: Json) -> None:
    judgement = raw["turns"][0]["annotations"]["binaryJudgements"][0]
    del judgement["observedBehavior"]
    judgement[alias] = "no"
    assert "no" == read(raw).turns[0].judgements[0].observed


@pytest.mark.parametrize("alias", ["should_occur", "humanPreference"])
def test_each_alias_of_the_preferred_value(alias: str, raw: Json) -> None:
    judgement = raw["turns"][0]["annotations"]["binaryJudgements"][0]
    del judgement["preferredBehavior"]
    judgement[alias] = 1
    assert "yes" == read(raw).turns[0].judgements[0].preferred


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [("yes", "yes"), ("Yes ", "yes"), ("y", "yes"), (True, "yes"), (1, "yes"), ("1", "yes"), ("true", "yes"),
     ("no", "no"), ("n", "no"), (False, "no"), (0, "no"), ("0", "no"), ("FALSE", "no"),
     ("na", "na"), ("n/a", "na"), ("not_applicable", "na"), (None, None), ("", None)],
)  # fmt: skip
def test_spellings_of_yes_no_and_na(given_value: Any, expected: str | None, raw: Json) -> None:
    raw["turns"][0]["annotations"]["binaryJudgements"][0]["observedBehavior"] = given_value
    assert expected == read(raw).turns[0].judgements[0].observed


@pytest.mark.parametrize(
    ("given_value", "expected"), [("mild", 2), ("Moderate", 4), ("intense", 6), (7, 7), (2.5, 2.5), (None, None)]
)
def test_intensities_are_numbers_or_three_words(given_value: Any, expected: float | None, raw: Json) -> None:
    raw["turns"][0]["moodShiftTags"] = [{"emotion": "pRoud", "intensity": given_value}]
    (tag,) = read(raw).turns[0].tags or ()
    assert ("Proud", expected) == (tag.emotion, tag.intensity)


@pytest.mark.parametrize("nothing", [None, "", "tie", "Tie"])
def test_a_winner_that_is_nobody_is_no_truth_and_counted(nothing: str | None, raw: Json) -> None:
    raw["turns"][2]["annotations"]["pairwiseComparisons"][7]["winner"] = nothing
    assert read(raw).turns[2].comparisons[7].winner is None
    assert ["turns[2].annotations.pairwiseComparisons[7].winner"] == warnings(raw, "no truth")


def test_the_sum_of_ten_items_beats_the_total_of_the_file(raw: Json) -> None:
    values = dict(zip(sorted(PANAS_POSITIVE), (5, 5, 5, 5, 3, 4, 4, 5, 4, 3), strict=True))
    raw["prePanas"]["responses"] |= {item.lower(): value for item, value in values.items()}
    raw["prePanas"]["totalPositiveAffect"] = 60
    assert 43 == read(raw).pre_panas.positive
    assert ["prePanas.totalPositiveAffect"] == warnings(raw, "total")


def test_the_total_of_the_file_counts_where_an_item_is_missing(raw: Json) -> None:
    del raw["prePanas"]["responses"]["proud"]
    raw["prePanas"]["totalPositiveAffect"] = 60
    assert 60 == read(raw).pre_panas.positive
    assert ["prePanas.totalPositiveAffect"] == warnings(raw, "total")
    del raw["prePanas"]["totalPositiveAffect"]
    assert read(raw).pre_panas.positive is None
    assert [] == warnings(raw, "total")
    assert ["prePanas.totalPositiveAffect"] == warnings(raw, "no truth")


@pytest.mark.parametrize(
    ("fit", "expected"),
    [(Q3_OPTIONS[0], ()), (Q3_OPTIONS[1], ()), (Q3_OPTIONS[2], None), (Q3_OPTIONS[3], None), (None, None)],
)
def test_an_absent_follow_up_is_empty_only_beside_a_positive_fit(fit: str | None, expected: Any, raw: Json) -> None:
    raw["conversationWideQuestions"]["q3_modelFit"] = fit
    del raw["conversationWideQuestions"]["q3_followUp_whatFeltOff"]
    assert expected == read(raw).wide.follow_up


def test_no_mood_shift_tags_are_neutral_and_null_is_no_truth(raw: Json) -> None:
    raw["turns"][0]["moodShiftTags"], raw["turns"][1]["moodShiftTags"] = [], None
    conversation = read(raw)
    assert () == conversation.turns[0].tags
    assert conversation.turns[1].tags is None


@pytest.mark.parametrize("profile", [None, {}, {"demographics": None, "computed_scores": {"who_5": None}}])
def test_a_profile_may_lack_anything(profile: Any, raw: Json) -> None:
    raw["participant_profile"] = profile
    assert read(raw).participant_id is None


def test_labels_may_all_be_missing() -> None:
    bare = {"conversationId": "bare", "turns": [{"turnNumber": 1, "userMessage": "Hello there", "llmResponse": "Hi"}]}
    conversation = read(bare)
    assert (None, None, None) == (conversation.wide.q1, conversation.wide.q3, conversation.pre_panas.positive)
    assert ((), ()) == (conversation.turns[0].judgements, conversation.turns[0].comparisons)


def test_turns_are_ordered_by_their_numbers(raw: Json) -> None:
    raw["turns"].reverse()
    assert [1, 2, 3] == [turn.number for turn in read(raw).turns]


def test_unknown_keys_are_kept_even_where_they_are_named_like_a_field_of_ours(raw: Json) -> None:
    raw |= {"note": "kept", "wide": 1}
    raw["turns"][0]["annotations"]["annotator"] = "me"
    raw["turns"][0]["annotations"]["binaryJudgements"][0]["confidence"] = 3
    conversation = read(raw)
    assert {"note": "kept", "wide_": 1} == conversation.model_extra
    assert {"annotations": {"annotator": "me"}} == conversation.turns[0].model_extra
    assert {"confidence": 3} == conversation.turns[0].judgements[0].model_extra


@given(st.dictionaries(st.text(max_size=20), st.none() | st.integers() | st.text(max_size=3), max_size=5))
@settings(max_examples=25)
def test_no_unknown_key_breaks_the_reading(extra: dict[str, Any]) -> None:
    raw = make_conversation(2, turns=1)
    for place in (raw, raw["turns"][0], raw["turns"][0]["annotations"]["pairwiseComparisons"][0], raw["prePanas"]):
        for key, value in extra.items():
            place.setdefault(key, value)
    assert "" != read(raw).turns[0].user_message


def put(*keys: Any) -> Callable[[Json, Any], None]:
    def change(raw: Json, value: Any) -> None:
        place: Any = raw
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


COMPARISON = ("turns", 2, "annotations", "pairwiseComparisons", 7)
JUDGEMENT = ("turns", 0, "annotations", "binaryJudgements", 3)
WIDE = "conversationWideQuestions"
LABELS, TAGS = ("turns", 0, "annotations"), ("turns", 0, "moodShiftTags")

MISFITS: list[tuple[tuple[Any, ...], Any, str]] = [
    (
        (*COMPARISON, "winner"),
        "both",
        "turns[2].annotations.pairwiseComparisons[7].winner: expected A or B, found 'both'",
    ),
    ((*COMPARISON, "winner"), ["A"], "[7].winner: expected A or B, found a list"),
    ((*COMPARISON, "responseA"), "model", "[7].responseA: expected original, alternate or human, found 'model'"),
    ((*COMPARISON, "questionId"), "PW17", "[7].questionId: expected general or PW1 … PW16, found 'PW17'"),
    (COMPARISON, None, "turns[2].annotations.pairwiseComparisons[7]: expected an object, found null"),
    ((*JUDGEMENT, "observedBehavior"), "maybe", "[3].observedBehavior: expected yes, no or na, found 'maybe'"),
    ((*JUDGEMENT, "observedBehavior"), 2, "binaryJudgements[3].observedBehavior: expected yes, no or na, found 2"),
    ((*JUDGEMENT, "questionId"), "B21", "expected the ID of a binary question (B1 … B505), found 'B21'"),
    ((*JUDGEMENT, "questionId"), {}, "expected the ID of a binary question (B1 … B505), found an object"),
    (TAGS, [{"emotion": "Happy", "intensity": 3}], "[0].emotion: expected one of the 20 PANAS items"),
    (TAGS, [{"emotion": "Proud", "intensity": 8}], "expected a number from 1 to 7, found 8"),
    (TAGS, [{"emotion": "Proud", "intensity": True}], "expected a number from 1 to 7, found true"),
    (TAGS, {}, "turns[0].moodShiftTags: expected a list, found an object"),
    (("turns", 0, "turnNumber"), None, "turns[0].turnNumber: expected a whole number from 1 to 1,000,000, found null"),
    (("turns", 1, "turnNumber"), 1, "turns[1].turnNumber: the turn number 1 occurs a second time"),
    (("turns", 0, "userMessage"), None, "turns[0].userMessage: expected a text, found null"),
    ((*LABELS, "alternateResponses", "humanEdited"), None, "humanEdited: expected a text, since comparisons"),
    ((*LABELS, "selectedPairwiseQuestions"), ["PW99"], "selectedPairwiseQuestions[0]: expected general"),
    (("turns", 0), "hello", "turns[0]: expected an object, found 'hello'"),
    (("turns",), [], "turns: expected at least one turn, found an empty list"),
    (("turns",), None, "turns: expected a list of turns, found null"),
    (("prePanas", "responses", "proud"), 0, "prePanas.responses.proud: expected a number from 1 to 7, found 0"),
    (("postPanas", "totalNegativeAffect"), 9, "totalNegativeAffect: expected a number from 10 to 70, found 9"),
    (("postPanas",), [], "postPanas: expected an object, found a list"),
    ((WIDE, "fourBranchScores", "managing"), 0, "fourBranchScores.managing: expected a number from 1 to 7, found 0"),
    ((WIDE, "q1_lookingFor"), ["A hug"], "q1_lookingFor[0]: expected one of the options"),
    ((WIDE, "q1_lookingFor"), Q1_OPTIONS[0], "q1_lookingFor: expected a list of options"),
    ((WIDE, "q2_emotionClarity"), "Foggy", "q2_emotionClarity: expected one of the options"),
    ((WIDE, "q3_modelFit"), 3, "q3_modelFit: expected one of the options"),
    ((WIDE, "q3_followUp_whatFeltOff"), [1], "q3_followUp_whatFeltOff: expected a list of texts"),
    (("conversationId",), "", "conversationId: expected a text that is not empty, found ''"),
    (("conversationId",), "../up", "conversationId: expected no path separator, '..' or control character"),
    (("conversationId",), "a\\b", "conversationId: expected no path separator"),
    (("conversationId",), "a\nb", "conversationId: expected no path separator"),
    (("conversationId",), "a" * 500, "conversationId: expected at most 150 characters"),
    (("conversationId",), 7, "conversationId: expected a text that is not empty, found 7"),
    (("metadata",), "text", "metadata: expected an object, found 'text'"),
    (("participant_profile",), [], "participant_profile: expected an object, found a list"),
    (("participant_profile", "computed_scores", "who_5"), "12", "computed_scores.who_5: expected a number, found '12'"),
]


@pytest.mark.parametrize(("keys", "value", "sentence"), MISFITS, ids=[sentence for _, _, sentence in MISFITS])
def test_a_value_that_does_not_fit_is_named_with_its_place(
    keys: tuple[Any, ...], value: Any, sentence: str, raw: Json
) -> None:
    put(*keys)(raw, value)
    found = errors(raw)
    assert 1 == len(found)
    assert sentence in found[0]
    assert found[0].startswith("c.json: ")


def test_a_reply_of_a_wrong_type_is_one_error(raw: Json) -> None:
    raw["turns"][0]["annotations"]["alternateResponses"]["llmImproved"] = 5
    (found,) = errors(raw)
    assert found.endswith("llmImproved: expected a text, found 5")


def test_two_equal_sides_are_no_comparison(raw: Json) -> None:
    raw["turns"][0]["annotations"]["pairwiseComparisons"][0] |= {"responseA": "human", "responseB": "human"}
    (found,) = errors(raw)
    assert found.endswith("pairwiseComparisons[0]: expected two different variants, found 'human' on both sides")


def test_a_question_judged_twice_counts_once_and_contradicting_judgements_are_an_error(raw: Json) -> None:
    judgements = raw["turns"][0]["annotations"]["binaryJudgements"]
    judgements.append(dict(judgements[0]))
    assert 36 == len(read(raw).turns[0].judgements)
    judgements[-1] |= {"observedBehavior": "na", "preferredBehavior": "na"}
    assert 1 == len(errors(raw))


def test_all_errors_of_a_file_are_listed_and_not_only_the_first(raw: Json) -> None:
    put(*COMPARISON, "winner")(raw, "both")
    put(*JUDGEMENT, "observedBehavior")(raw, "maybe")
    put("prePanas", "responses", "proud")(raw, 9)
    assert 3 == len(errors(raw))


def test_another_number_of_comparisons_is_a_warning(raw: Json) -> None:
    raw["turns"][1]["annotations"]["pairwiseComparisons"].pop()
    assert 11 == len(read(raw).turns[1].comparisons)
    assert ["turns[1].annotations.pairwiseComparisons"] == warnings(raw, "count")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [leaf for key, inner in pairs for leaf in leaves(inner, (*path, key))]


PLACES = leaves(make_conversation(3, turns=1))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(PLACES), json_values), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_whatever_stands_anywhere_the_reader_never_raises(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    raw = make_conversation(3, turns=1)
    for keys, value in changes:
        with suppress(TypeError, KeyError, IndexError):  # an earlier change took the place away
            put(*keys)(raw, value)
    conversation, notes = read_conversation(json.loads(json.dumps(raw)), "c.json")
    assert (conversation is None) == bool(notes.errors)
