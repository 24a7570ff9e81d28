"""What holds of a description of any data: order does not matter, counts add up, gaps are counted, few are masked."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from factory import make_conversation
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.analyses.table import Analysis, Cell, Table
from attunebench.conversations import Conversation, demo_folder, load_conversations, read_conversation
from attunebench.datasets.describing import SECTIONS, describe
from attunebench.datasets.describing.tables import MASKED, small_cells
from attunebench.errors import UsageError
from attunebench.reports.analyses import FORMATS, render

CHANCE = st.integers(0, 2**32).map(random.Random)
MADE = [make_conversation(seed, turns=1) for seed in range(6)]


def read(raw: dict[str, Any]) -> Conversation:
    conversation, notes = read_conversation(raw, "made.json")
    assert conversation is not None, notes.errors
    return conversation


def table_of(sections: tuple[Analysis, ...], section: str, table: str) -> Table:
    found = next(one for one in sections if one.name == section)
    return next(one for one in found.tables if one.id == table)


def column(table: Table, id: str) -> list[Cell]:
    place = [one.id for one in table.columns].index(id)
    return [row[place] for row in table.rows]


def with_gaps(raw: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The conversation with some of its labels left open, and parts of its profile not told."""
    raw = copy.deepcopy(raw)
    for turn in raw["turns"]:
        for judgement in turn["annotations"]["binaryJudgements"]:
            for side in ("observedBehavior", "preferredBehavior"):
                judgement[side] = rng.choice([judgement[side], judgement[side], "na", None])
        for comparison in turn["annotations"]["pairwiseComparisons"]:
            comparison["winner"] = rng.choice([comparison["winner"], "tie", None])
        turn["moodShiftTags"] = rng.choice([turn["moodShiftTags"], [], None])
    wide = raw["conversationWideQuestions"]
    for key in ("q1_lookingFor", "q2_emotionClarity", "q3_modelFit"):
        wide[key] = rng.choice([wide[key], None])
    raw["prePanas"] = rng.choice([raw["prePanas"], {}])
    person = raw["participant_profile"]["demographics"]
    for key in ("gender", "country", "age_range"):
        person[key] = rng.choice([person[key], None, f" {person[key]} ".upper()])
    raw["participant_profile"] = rng.choice([raw["participant_profile"], None])
    return raw


@given(CHANCE)
@settings(max_examples=12, deadline=None)
def test_the_order_of_the_files_changes_nothing(rng: random.Random) -> None:
    conversations = [read(with_gaps(raw, rng)) for raw in MADE]
    shuffled = rng.sample(conversations, len(conversations))
    assert describe(conversations) == describe(shuffled)


@given(CHANCE)
@settings(max_examples=12, deadline=None)
def test_what_is_given_and_what_is_open_add_up_to_what_was_asked(rng: random.Random) -> None:
    conversations = [read(with_gaps(raw, rng)) for raw in MADE]
    sections = describe(conversations)
    turns = [turn for conversation in conversations for turn in conversation.turns]
    labels = {row[0].value: (row[1].value, row[3].value) for row in table_of(sections, "size", "labels").rows}
    judgements = sum(len(turn.judgements) for turn in turns)
    assert judgements == sum(labels["Binary questions: observed"])  # type: ignore[arg-type]
    assert sum(len(turn.comparisons) for turn in turns) == sum(labels["Winners of comparisons"])  # type: ignore[arg-type]
    assert 20 * len(conversations) == sum(labels["PANAS items before"])  # type: ignore[arg-type]
    assert len(conversations) == sum(labels["Q2, clarity of feelings"])  # type: ignore[arg-type]
    kinds = {str(row[0].value): int(row[1].value or 0) for row in table_of(sections, "emotions", "turns").rows}
    whole = ("Turns with an emotion", "Neutral turns (no shift)", "Turns without a label")
    assert len(turns) == sum(kinds[kind] for kind in whole)
    for row in table_of(sections, "affect", "totals").rows:
        assert len(conversations) == int(row[1].value or 0) + int(row[-1].value or 0)


@given(CHANCE)
@settings(max_examples=12, deadline=None)
def test_each_demographic_adds_up_to_the_participants(rng: random.Random) -> None:
    conversations = [read(with_gaps(raw, rng)) for raw in MADE]
    sections = describe(conversations, sections=["people"])
    people = {c.participant_id or c.conversation_id for c in conversations}
    for what in ("Gender", "Country", "Age"):
        rows = [row for row in table_of(sections, "people", "demographics").rows if row[0].value == what]
        assert len(people) == sum(int(row[2].value or 0) for row in rows)
        assert len(conversations) == sum(int(row[3].value or 0) for row in rows)


def test_spellings_of_one_answer_are_one_answer_and_what_differs_is_told() -> None:
    raws = [copy.deepcopy(raw) for raw in MADE[:2]]
    for raw, gender, country in zip(raws, ("woman ", "Woman"), ("Kenya", "India"), strict=True):
        raw["participant_profile"] |= {"participant_id": "p"}
        raw["participant_profile"]["demographics"] |= {"gender": gender, "country": country}
    table = table_of(describe(map(read, raws)), "people", "demographics")
    assert [("Woman", 1, 2)] == [(r[1].value, r[2].value, r[3].value) for r in table.rows if r[0].value == "Gender"]
    assert ["India", "Kenya"] == [row[1].value for row in table.rows if row[0].value == "Country"]
    assert any("Country (of 1 participant)" in note for note in table.notes)


def test_people_whose_id_is_unknown_are_each_their_own() -> None:
    raws = [copy.deepcopy(raw) for raw in MADE]
    for raw in raws:
        raw["participant_profile"]["participant_id"] = None
    size = describe(map(read, raws), sections=["size"])[0]
    assert "6 conversations of 6 participants" in size.shows
    assert any("6 conversations without a participant ID" in note for note in size.notes)


def test_ages_come_in_their_order() -> None:
    raws = [copy.deepcopy(raw) for raw in MADE[::2]]
    for raw, age in zip(raws, ("65+", "18-24", "25-34"), strict=True):
        raw["participant_profile"]["demographics"]["age_range"] = age
    table = table_of(describe(map(read, raws)), "people", "demographics")
    assert ["18-24", "25-34", "65+"] == [row[1].value for row in table.rows if row[0].value == "Age"]


def test_asrs_is_read_as_a_sum_where_one_value_is_above_6() -> None:
    raws = [copy.deepcopy(raw) for raw in MADE[::2]]
    for raw, score in zip(raws, (14, 13, 5), strict=True):
        raw["participant_profile"]["computed_scores"]["asrs_6"] = score
    table = table_of(describe(map(read, raws)), "people", "screeners")
    bands = {row[1].value: row[2].value for row in table.rows if row[0].value == "ADHD symptoms (ASRS-6)"}
    assert {"screen-positive (14 and above of 24)": 1, "screen-negative (below 14)": 2} == bands
    assert any("a sum of 0–24" in note for note in table.notes)


@given(st.lists(st.integers(0, 30), max_size=12), st.integers(2, 10))
def test_masked_cells_cannot_be_told_from_the_sum_of_a_list(counts: list[int], below: int) -> None:
    hidden = small_cells(counts, below)
    masked = [count for count, one in zip(counts, hidden, strict=True) if one]
    assert not any(0 < count < below for count, one in zip(counts, hidden, strict=True) if not one)
    assert 0 not in masked
    if masked:
        assert len(masked) > 1 or sum(map(bool, counts)) == 1
        assert sum(masked) >= below or sum(masked) == sum(counts)


@given(st.lists(st.integers(0, 30), max_size=12))
def test_nothing_is_masked_unless_asked(counts: list[int]) -> None:
    assert not any(small_cells(counts, 0))
    assert not any(small_cells(counts, 1))


@pytest.mark.parametrize("format", FORMATS)
def test_words_of_few_show_in_no_format_once_they_are_masked(format: str) -> None:
    rare = ["Kenya", "Exploding head", "Glassblowing", "Grief about a parrot", "a-private-model"]
    raws = [copy.deepcopy(raw) for raw in MADE]
    for raw in raws:
        raw["participant_profile"]["demographics"] |= {"country": "Chile", "work_edu_background": ["Office"]}
    raw = raws[0]
    raw["participant_profile"]["demographics"] |= {
        "country": rare[0],
        "diagnoses": [rare[1]],
        "work_edu_background": [rare[2]],
    }
    raw["metadata"] |= {"category": "Grief", "subtopic": rare[3], "model": rare[4]}
    conversations = [read(raw) for raw in raws]
    open_text = render(describe(conversations), format, rows=None, width=200)
    masked = render(describe(conversations, mask_below=3), format, rows=None, width=200)
    for word in rare:
        assert word in open_text
        assert word not in masked
    assert MASKED in masked
    assert "Chile" not in masked, "the only other country would tell how many are left"


def test_free_texts_about_what_felt_off_are_counted_and_never_shown() -> None:
    raws = [copy.deepcopy(raw) for raw in MADE]
    wide = raws[0]["conversationWideQuestions"]
    wide["q3_modelFit"] = "Mostly off-target or intrusive"
    wide["q3_followUp_whatFeltOff"] = ["It reminded me of my brother Timo", "Too generic"]
    sections = describe(map(read, raws))
    assert "Timo" not in render(sections, "json")
    counts = {row[0].value: row[2].value for row in table_of(sections, "answers", "follow_up").rows}
    assert 1 == counts["in own words"]
    assert 1 <= int(counts["Too generic"] or 0)


@pytest.mark.parametrize("format", FORMATS)
def test_a_conversation_without_any_label_is_described_and_draws(format: str) -> None:
    turn = {"turnNumber": 1, "userMessage": "Hello", "llmResponse": "Hello!"}
    sections = describe([read({"conversationId": "bare", "turns": [turn]})])
    assert list(SECTIONS) == [section.name for section in sections]
    assert "nan" not in render(sections, format, rows=None).lower().replace("tenan", "")
    labels = {row[0].value: row[3].value for row in table_of(sections, "size", "labels").rows}
    assert (20, 4, 1) == tuple(labels[kind] for kind in ("PANAS items after", "Four Branch ratings", "Q1, goals"))


def test_sections_are_chosen_by_name_and_files_left_out_are_named() -> None:
    conversations = load_conversations(demo_folder()).conversations
    made = describe(conversations, sections=["people", "emotions"], left_out=["a.json: broken"])
    assert ["emotions", "people"] == [section.name for section in made]
    assert ("Skipped: a.json: broken",) == made[0].warnings
    with pytest.raises(UsageError, match="There is no section 'peple'; choose from size, emotions"):
        describe(conversations, sections=["peple"])


def test_written_examples_are_said_to_be_no_human_data() -> None:
    made = describe(load_conversations(demo_folder()).conversations, sections=["size"])
    assert any("not human data" in warning for warning in made[0].warnings)
    assert () == describe(map(read, MADE), sections=["size"])[0].warnings


def test_what_people_told_steers_no_terminal_and_fills_no_screen() -> None:
    raws = [copy.deepcopy(raw) for raw in MADE[:2]]
    raws[0]["participant_profile"]["demographics"] |= {"country": "\x1b[31mNor\x07way", "education": "long " * 9000}
    raws[0]["metadata"] |= {"category": ["A | B", "\x1b]0;title\x07"], "subtopic": "=1+1", "model": ["no text"]}
    raws[0]["participant_profile"]["computed_scores"]["own\nscale"] = 3
    sections = describe(map(read, raws))
    for format in FORMATS:
        drawn = render(sections, format, rows=None)
        assert not {"\x1b", "\x07"} & set(drawn)
        assert 40_000 > max(map(len, drawn.splitlines()))
    told = [row[1].value for row in table_of(sections, "people", "demographics").rows]
    assert "Norway" in told
    assert 100 >= max(len(str(value)) for value in told)
    assert "own scale" in [row[0].value for row in table_of(sections, "people", "scales").rows]
    assert ["A | B"] == [row[0].value for row in table_of(sections, "topics", "topics").rows][:1]
