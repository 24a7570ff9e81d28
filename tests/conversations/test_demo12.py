"""The bundled conversations are complete, varied and consistent enough to stand for what the format can hold.

Reads the files themselves where completeness counts, since the reader mends what a file lacks.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from attunebench.constants import (
    BINARY_QUESTION_TEXT,
    PAIRWISE_QUESTION_TEXT,
    PANAS_NEGATIVE,
    PANAS_POSITIVE,
    Q2_OPTIONS,
    Q3_NEGATIVE,
    Q3_OPTIONS,
    REPLY_VARIANTS,
)
from attunebench.conversations import Conversation, demo_folder, load_conversations, validate_folder
from attunebench.conversations.schema import Comparison, Demographics, Turn

FILES = sorted(demo_folder().glob("*.json"))
SELECTABLE = set(PAIRWISE_QUESTION_TEXT) - {"general", "PW16"}
DEMOGRAPHICS = set(Demographics.model_fields)
SCALES = {
    "who_5": (0, 25),
    "asrs_6": (0, 24),
    "aq_10": (0, 10),
    **{f"promis_{scale}": (4, 20) for scale in ("anxiety", "depression", "sleep")},
    **{f"promis_{scale}_t": (20, 90) for scale in ("anxiety", "depression", "sleep")},
    **{
        f"tipi_{trait}": (2, 14)
        for trait in ("extraversion", "agreeableness", "conscientiousness", "stability", "openness")
    },
}


def _read(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def data(request: pytest.FixtureRequest) -> dict[str, Any]:
    """One conversation file as it is on disk."""
    return _read(request.param)


@pytest.fixture(scope="module")
def conversations() -> tuple[Conversation, ...]:
    return load_conversations(demo_folder()).conversations


@pytest.fixture(scope="module")
def turns(conversations: tuple[Conversation, ...]) -> list[Turn]:
    return [turn for conversation in conversations for turn in conversation.turns]


def _comparisons(turns: list[Turn]) -> Iterator[tuple[Turn, Comparison]]:
    return ((turn, comparison) for turn in turns for comparison in turn.comparisons)


def _winner(comparison: Comparison) -> str:
    return comparison.a if comparison.winner == "A" else comparison.b


# --- the folder ---


def test_the_validator_has_nothing_to_say() -> None:
    """So every label is there and fits, totals are the sums of items, and no text is empty."""
    report = validate_folder(demo_folder())
    assert ((), (), ()) == (report.errors, report.warnings, report.passed_over)
    assert 12 == report.n_conversations


def test_there_are_about_sixty_turns_in_talks_of_three_to_seven(conversations: tuple[Conversation, ...]) -> None:
    lengths = [len(conversation.turns) for conversation in conversations]
    assert {True} == {3 <= length <= 7 for length in lengths}
    assert 55 <= sum(lengths) <= 70


def test_the_readme_lists_each_conversation_as_it_is(conversations: tuple[Conversation, ...]) -> None:
    readme = (demo_folder() / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+)` \| `(\S+)` \| (.+?) \| (.+?) \| `(\S+)` \| (\d+) \|$", readme, re.M)
    expected = [
        (
            Path(c.source_file).name,
            c.participant_id,
            f"{c.metadata['category']}: {c.metadata['subtopic'][0].lower()}{c.metadata['subtopic'][1:]}",
            c.profile.conversation_topic_attitude if c.profile else None,
            c.metadata["model"],
            str(len(c.turns)),
        )
        for c in conversations
    ]
    assert expected == rows


def test_the_readme_counts_turns_as_they_are(turns: list[Turn]) -> None:
    readme = " ".join((demo_folder() / "README.md").read_text(encoding="utf-8").split())
    applicable = [len(turn.applicable_questions) for turn in turns]
    assert f"{len(turns)} turns; each has 36 yes/no/na judgements" in readme
    assert f"({min(applicable)} to {max(applicable)} of them applicable)" in readme
    assert f"{sum(not turn.tags for turn in turns)} turns are neutral" in readme
    assert f"{sum(_is_mixed(turn) for turn in turns)} mix positive and negative feelings" in readme


# --- complete ---


def test_metadata_says_what_the_talk_is_and_that_it_is_synthetic(data: dict[str, Any]) -> None:
    metadata = data["metadata"]
    assert "synthetic-demo" == metadata["source"]
    assert all(metadata[key].strip() for key in ("model", "category", "subtopic", "text"))


def test_the_profile_has_every_field_with_values_in_range(data: dict[str, Any]) -> None:
    profile = data["participant_profile"]
    assert "synthetic-demo" == profile["profile_type"]
    assert all(profile[key] for key in ("schema_version", "participant_id", "conversation_topic_attitude"))
    assert set(profile["demographics"]) == DEMOGRAPHICS
    assert all(profile["demographics"].values())
    assert set(profile["computed_scores"]) == set(SCALES)
    assert all(low <= profile["computed_scores"][scale] <= high for scale, (low, high) in SCALES.items())


def test_the_talk_moves_no_item_of_the_mood_by_more_than_two_points(data: dict[str, Any]) -> None:
    before, after = (data[when]["responses"] for when in ("prePanas", "postPanas"))
    assert max(abs(after[item] - before[item]) for item in before) <= 2


def test_a_follow_up_is_there_exactly_when_the_fit_was_poor(data: dict[str, Any]) -> None:
    wide = data["conversationWideQuestions"]
    assert (wide["q3_modelFit"] in Q3_NEGATIVE) == bool(wide["q3_followUp_whatFeltOff"])


def test_every_turn_judges_every_question_once(data: dict[str, Any]) -> None:
    for turn in data["turns"]:
        judgements = turn["annotations"]["binaryJudgements"]
        assert list(BINARY_QUESTION_TEXT) == [judgement["questionId"] for judgement in judgements]


def test_every_turn_compares_three_replies_in_pairs_on_four_questions(data: dict[str, Any]) -> None:
    pairs = {frozenset(pair) for pair in combinations(REPLY_VARIANTS, 2)}
    for turn in data["turns"]:
        annotations = turn["annotations"]
        selected = annotations["selectedPairwiseQuestions"]
        assert 3 == len(set(selected))
        assert set(selected) <= SELECTABLE
        compared = [
            (c["questionId"], frozenset((c["responseA"], c["responseB"]))) for c in annotations["pairwiseComparisons"]
        ]
        assert 12 == len(compared)
        assert {(question, pair) for question in ("general", *selected) for pair in pairs} == set(compared)


def test_all_texts_are_there_and_none_appears_twice() -> None:
    texts = [
        text
        for path in FILES
        for turn in _read(path)["turns"]
        for text in (
            turn["userMessage"],
            turn["llmResponse"],
            turn["annotations"]["alternateResponses"]["llmImproved"],
            turn["annotations"]["alternateResponses"]["humanEdited"],
        )
    ]
    assert len(texts) == len({" ".join(text.lower().split()) for text in texts})


# --- varied ---


def _is_mixed(turn: Turn) -> bool:
    felt = {tag.emotion for tag in turn.tags or ()}
    return bool(felt & set(PANAS_POSITIVE)) and bool(felt & set(PANAS_NEGATIVE))


def _diagnoses(conversation: Conversation) -> str:
    assert conversation.profile is not None
    return " ".join(conversation.profile.demographics.diagnoses).lower()


@pytest.mark.parametrize("group", [("none",), ("anxiety", "depression"), ("autism", "adhd")], ids="/".join)
def test_every_diagnosis_group_has_several_conversations(
    conversations: tuple[Conversation, ...], group: tuple[str, ...]
) -> None:
    assert sum(any(part in _diagnoses(c) for part in group) for c in conversations) >= 3


def test_people_of_six_age_ranges_and_eight_countries_talk(conversations: tuple[Conversation, ...]) -> None:
    people = [c.profile.demographics for c in conversations if c.profile]
    assert 6 == len({person.age_range for person in people})
    assert 8 == len({person.country for person in people})
    assert {"Woman", "Man", "Non-binary"} == {person.gender for person in people}


def test_four_participants_come_twice_with_the_same_profile(conversations: tuple[Conversation, ...]) -> None:
    assert [2, 2, 2, 2, 1, 1, 1, 1] == sorted(Counter(c.participant_id for c in conversations).values(), reverse=True)
    profiles = {(c.participant_id, repr(c.profile.demographics)) for c in conversations if c.profile}
    assert 8 == len(profiles)


def test_topics_attitudes_and_models_differ(conversations: tuple[Conversation, ...]) -> None:
    assert len({c.metadata["category"] for c in conversations}) >= 8
    attitudes = {c.profile.conversation_topic_attitude for c in conversations if c.profile}
    assert {"Mostly positive", "Mixed", "Neutral", "Mostly negative"} == attitudes
    assert 3 == len({c.metadata["model"] for c in conversations})


def test_every_answer_on_fit_and_clarity_occurs(conversations: tuple[Conversation, ...]) -> None:
    assert set(Q3_OPTIONS) == {c.wide.q3 for c in conversations}
    assert set(Q2_OPTIONS) == {c.wide.q2 for c in conversations}


def test_moods_rise_fall_and_stay(conversations: tuple[Conversation, ...]) -> None:
    changes = {
        (side, (after > before) - (after < before))
        for c in conversations
        for side, before, after in (
            ("positive", c.pre_panas.positive or 0, c.post_panas.positive or 0),
            ("negative", c.pre_panas.negative or 0, c.post_panas.negative or 0),
        )
    }
    assert {(side, sign) for side in ("positive", "negative") for sign in (-1, 0, 1)} == changes


def test_some_turns_are_neutral_and_some_feelings_mixed(turns: list[Turn]) -> None:
    assert 0.15 <= sum(not turn.tags for turn in turns) / len(turns) <= 0.3
    assert 0.2 <= sum(map(_is_mixed, turns)) / len(turns) <= 0.5
    assert len({tag.emotion for turn in turns for tag in turn.tags or ()}) >= 16


def test_messages_are_from_one_line_to_a_long_paragraph(turns: list[Turn]) -> None:
    lengths = sorted(len(turn.user_message.split()) for turn in turns)
    assert lengths[2] <= 25
    assert lengths[-2] >= 120


def test_every_question_is_judged_yes_and_no_somewhere(turns: list[Turn]) -> None:
    answers = {(j.question_id, j.observed) for turn in turns for j in turn.judgements}
    assert {(question, answer) for question in BINARY_QUESTION_TEXT for answer in ("yes", "no")} <= answers


def test_what_was_wanted_differs_from_what_happened_in_every_talk(conversations: tuple[Conversation, ...]) -> None:
    for conversation in conversations:
        judged = [j for turn in conversation.turns for j in turn.judgements if "na" not in (j.observed, j.preferred)]
        share = sum(j.observed != j.preferred for j in judged) / len(judged)
        assert 0.05 <= share <= 0.45


def test_some_questions_do_not_apply_and_most_do_in_every_turn(turns: list[Turn]) -> None:
    assert all(18 <= len(turn.applicable_questions) <= 30 for turn in turns)


def test_every_selectable_question_is_compared_somewhere(turns: list[Turn]) -> None:
    assert {question for turn in turns for question in turn.selected_pairwise} == SELECTABLE


# --- consistent: no rule that reads no text wins ---


def test_no_variant_sits_on_one_letter(turns: list[Turn]) -> None:
    letters: Counter[tuple[str, str]] = Counter()
    for _, comparison in _comparisons(turns):
        letters.update([(comparison.a, "A"), (comparison.b, "B")])
    for variant in REPLY_VARIANTS:
        on_a, on_b = letters[variant, "A"], letters[variant, "B"]
        assert max(on_a, on_b) / (on_a + on_b) <= 0.65


def test_no_letter_wins_much_more_often(turns: list[Turn]) -> None:
    winners = [comparison.winner for _, comparison in _comparisons(turns)]
    assert 0.4 <= winners.count("A") / len(winners) <= 0.6


def test_no_variant_wins_most_comparisons_and_each_wins_some(turns: list[Turn]) -> None:
    won = Counter(_winner(comparison) for _, comparison in _comparisons(turns))
    assert max(won.values()) / won.total() <= 0.6
    assert min(won[variant] for variant in REPLY_VARIANTS) / won.total() >= 0.15


def test_each_variant_is_the_overall_favourite_of_some_turns(turns: list[Turn]) -> None:
    favourites: Counter[str] = Counter()
    for turn in turns:
        won = Counter(_winner(c) for c in turn.comparisons if c.question_id == "general")
        favourites.update([won.most_common(1)[0][0]])
    assert all(favourites[variant] / len(turns) >= 0.1 for variant in REPLY_VARIANTS)
    assert max(favourites.values()) / len(turns) <= 0.67


@pytest.mark.parametrize("sign", [-1, 1], ids=["shortest", "longest"])
def test_length_does_not_give_the_winner_away(turns: list[Turn], sign: int) -> None:
    def lead(turn: Turn, comparison: Comparison) -> int:
        length = {variant: len(text or "") for variant, text in turn.variants.items()}
        a, b = length[comparison.a], length[comparison.b]
        return sign * (a - b if comparison.winner == "A" else b - a)

    right = [lead(turn, comparison) > 0 for turn, comparison in _comparisons(turns)]
    assert sum(right) / len(right) < 0.62
