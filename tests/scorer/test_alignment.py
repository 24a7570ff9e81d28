"""Answers are scored on the turns, texts and comparisons that they answer, or not at all: never on others, unsaid."""

from __future__ import annotations

import copy
import hashlib
import json

import pytest
from factory import make_conversation
from hypothesis import given
from hypothesis import strategies as st
from result_factory import FLIP, noisy_result, oracle_result, write_result

from attunebench.conversations.reading import read_conversation
from attunebench.errors import DataError
from attunebench.results.parsing import parse_result
from attunebench.scorer import score_folders
from attunebench.scorer.answers import MismatchError
from attunebench.scorer.conversation import score_conversation

TURNS = 4
RAW = make_conversation(5, turns=TURNS)


def conversation(raw):
    found, notes = read_conversation(raw, sha256="now")
    assert [] == notes.errors
    return found


def result(**changes):
    """A result with right and wrong answers that says which replies it compared."""
    made = oracle_result(RAW)
    for turn, shown in zip(made["turns"], RAW["turns"], strict=True):
        pairs = enumerate(shown["annotations"]["pairwiseComparisons"])
        turn["pairwise_assignment"] = {str(i): {"A": c["responseA"], "B": c["responseB"]} for i, c in pairs}
        turn["em_pairwise_selections"] = {str(i): "A" if i % 3 else "B" for i in range(12)}
        turn["em_emotion_tags"] = turn["em_emotion_tags"][:1]
    return {**made, **changes}


def scored(raw_result, raw=RAW):
    return score_conversation(conversation(raw), parse_result(raw_result))


def numbered(numbers, turns=None):
    """The result with these turn numbers; None leaves the number out."""
    made = result()
    kept = copy.deepcopy(made["turns"] if turns is None else turns)
    for turn, number in zip(kept, numbers, strict=True):
        turn.pop("turnNumber", None)
        if number is not None:
            turn["turnNumber"] = number
    return {**made, "turns": kept}


ASIS = scored(result())
SPELLINGS = st.sampled_from([int, str, float, lambda n: f" {n}.0 ", lambda n: f"{n}"])


@given(order=st.permutations(range(1, TURNS + 1)), spell=SPELLINGS)
def test_the_number_of_a_turn_counts_in_any_spelling_and_order(order, spell):
    turns = result()["turns"]
    shuffled = numbered([spell(number) for number in order], [turns[number - 1] for number in order])
    assert ASIS["metrics"] == scored(shuffled)["metrics"]


@given(numbers=st.lists(st.integers(-3, TURNS + 3), min_size=TURNS, max_size=TURNS, unique=True))
def test_a_turn_that_the_conversation_lacks_is_never_scored_as_another(numbers):
    expected = set(numbers) <= set(range(1, TURNS + 1))
    try:
        scored(numbered(numbers))
    except MismatchError:
        assert not expected
    else:
        assert expected


@pytest.mark.parametrize("number", [None, "two", "", 1.5, "1.5", True, [2], {}, 10**29, "1" * 400, float("inf")])
def test_a_number_that_is_none_is_no_place_in_the_list(number):
    with pytest.raises(ValueError, match="position 2"):
        parse_result(numbered([1, number, 3, 4]))


def test_turns_without_numbers_are_the_conversations_in_order_if_they_are_as_many():
    assert ASIS["metrics"] == scored(numbered([None] * TURNS))["metrics"]
    assert ASIS["metrics"] == scored(numbered([None] * TURNS), _renumbered([2, 3, 5, 9]))["metrics"]
    for turns in (result()["turns"][1:], [*result()["turns"], {}]):
        with pytest.raises(MismatchError):
            scored(numbered([None] * len(turns), turns))


def _renumbered(numbers):
    raw = copy.deepcopy(RAW)
    for turn, number in zip(raw["turns"], numbers, strict=True):
        turn["turnNumber"] = number
    return raw


@pytest.mark.slow
@given(data=st.data())
def test_comparisons_that_were_shown_the_other_way_round_are_scored_by_reply(data):
    raw = copy.deepcopy(RAW)
    for turn in raw["turns"]:
        for comparison in turn["annotations"]["pairwiseComparisons"]:
            if data.draw(st.booleans()):
                comparison["responseA"], comparison["responseB"] = comparison["responseB"], comparison["responseA"]
                comparison["winner"] = FLIP[comparison["winner"]]
    asked = conversation(RAW).asked_sha256
    for one in (result(), result(asked_sha256=asked)):
        again = scored(one, raw)
        assert ASIS["metrics"]["pairwise_accuracy"] == again["metrics"]["pairwise_accuracy"]
        assert ASIS["metrics"]["kendall_tau"] == pytest.approx(again["metrics"]["kendall_tau"])


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw["turns"][0]["annotations"]["pairwiseComparisons"].reverse(),
        lambda raw: raw["turns"][1]["annotations"]["pairwiseComparisons"].pop(),
    ],
)
def test_other_comparisons_are_a_mismatch(change):
    raw = copy.deepcopy(RAW)
    change(raw)
    with pytest.raises(MismatchError):
        scored(result(), raw)


def _other_question(raw):
    first, *_, last = raw["turns"][0]["annotations"]["pairwiseComparisons"]
    first["questionId"], last["questionId"] = last["questionId"], first["questionId"]


def _set(*place, value):
    def change(raw):
        for key in place[:-1]:
            raw = raw[key]
        raw[place[-1]] = value

    return change


TEXTS = [
    _set("turns", 0, "userMessage", value="Something else."),
    _set("turns", 3, "llmResponse", value="Something else."),
    _set("turns", 1, "annotations", "alternateResponses", "humanEdited", value="Something else."),
    lambda raw: raw["turns"].pop(),
    _other_question,
]
LABELS = [
    _set("turns", 0, "moodShiftTags", value=[]),
    _set("turns", 0, "annotations", "binaryJudgements", 0, "preferredBehavior", value="na"),
    _set("turns", 0, "annotations", "pairwiseComparisons", 0, "winner", value="tie"),
    _set("postPanas", "responses", "active", value=1),
    _set("metadata", "topic", value="other"),
]


@pytest.mark.parametrize("change", TEXTS)
def test_texts_and_questions_that_have_changed_since_are_a_mismatch(change):
    raw = copy.deepcopy(RAW)
    change(raw)
    with pytest.raises(MismatchError):
        scored(result(asked_sha256=conversation(RAW).asked_sha256), raw)


@pytest.mark.parametrize("change", LABELS)
def test_labels_that_were_corrected_are_none(change):
    raw = copy.deepcopy(RAW)
    change(raw)
    scored(result(asked_sha256=conversation(RAW).asked_sha256), raw)


def test_an_assignment_that_says_nothing_leaves_the_letters_as_they_are():
    for said in ({}, None, [], {"0": None}, {"0": "original"}, {"0": {"A": "original"}}):
        made = result()
        for turn in made["turns"]:
            turn["pairwise_assignment"] = said
        assert ASIS["metrics"] == scored(made)["metrics"]


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "truth").mkdir()
    for seed, raw in enumerate((RAW, make_conversation(6, turns=TURNS))):
        (tmp_path / "truth" / f"conversation_{seed}.json").write_text(json.dumps(raw))
    write_result(tmp_path / "results", noisy_result(make_conversation(6, turns=TURNS), 3))
    return tmp_path / "results", tmp_path / "truth"


def test_a_mismatch_is_named_and_the_rest_is_scored(folders):
    write_result(folders[0], numbered([0, 1, 2, 3]), "zero.json")
    scores = score_folders(*folders, resamples=50)
    assert ["zero.json"] == [entry["file"] for entry in scores["left_out"]["mismatched"]]
    assert [RAW["conversationId"]] == scores["aggregates"][0]["coverage"]["missing"]


def test_nothing_but_mismatches_is_refused(folders):
    write_result(folders[0], numbered([0, 1, 2, 3]), "zero.json")
    (folders[1] / "conversation_1.json").unlink()
    for file in folders[0].glob("*noisy*"):
        file.unlink()
    with pytest.raises(DataError, match=r"zero\.json"):
        score_folders(*folders, resamples=50)


@pytest.mark.parametrize(("then", "asked", "outdated"), [("now", None, 0), ("before", None, 1), ("before", "same", 0)])
def test_results_of_an_earlier_file_without_a_digest_of_its_texts_are_counted(folders, then, asked, outdated):
    digest = conversation(RAW).asked_sha256 if asked else None
    sha256 = conversation(RAW).source_sha256 if then == "before" else _digest(folders[1] / "conversation_0.json")
    write_result(folders[0], result(source_sha256=sha256, asked_sha256=digest), "r.json")
    assert outdated == score_folders(*folders, resamples=50)["metadata"]["n_outdated"]


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
