"""Three-valued logic: a missing value leaves a conversation out of both sides, whatever is asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from facts import a_fact, facts
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.scores import GroundTruthEntry
from attunebench.selection import And, Condition, Not, Or, all_of, any_of, choose, fields_of, parse_where
from attunebench.selection.catalogue import CATALOGUE
from attunebench.selection.conditions import EVERYTHING, Between, Compared, Contains, Is, Known

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

FEW = settings(max_examples=40)
BY_NAME = {field.name: field for field in CATALOGUE}
WHO, GENDER, DIAGNOSIS, Q1 = (BY_NAME[name] for name in ("who_5", "gender", "diagnosis", "q1"))


def single() -> SearchStrategy[Condition]:
    bound = st.integers(0, 25).map(float)
    return st.one_of(
        st.builds(Compared, st.just(WHO), st.sampled_from(("<", "<=", "=", ">=", ">")), bound),
        st.builds(lambda a, b: Between(WHO, min(a, b), max(a, b)), bound, bound),
        st.builds(Is, st.just(GENDER), st.sampled_from((("Man",), ("Woman", "male")))),
        st.builds(Contains, st.just(DIAGNOSIS), st.sampled_from(("anx", "ADHD", "x"))),
        st.builds(Is, st.just(Q1), st.just(("Other",))),
        st.builds(Known, st.sampled_from((WHO, GENDER, DIAGNOSIS))),
    )


def conditions() -> SearchStrategy[Condition]:
    return st.recursive(
        single(),
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.lists(inner, min_size=2, max_size=3).map(all_of),
            st.lists(inner, min_size=2, max_size=3).map(any_of),
        ),
        max_leaves=6,
    )


@FEW
@given(facts(), conditions())
def test_every_conversation_is_on_one_side_or_left_out(entries: list[GroundTruthEntry], condition: Condition) -> None:
    found = choose(entries, condition)
    sides = [*found.chosen, *found.others, *found.unknown]
    assert sorted(entry["conversationId"] for entry in entries) == sorted(sides)


@FEW
@given(facts(), conditions())
def test_negation_swaps_the_sides_and_leaves_out_the_same(
    entries: list[GroundTruthEntry], condition: Condition
) -> None:
    found, negated = choose(entries, condition), choose(entries, Not(condition))
    assert (found.others, found.chosen, found.unknown) == (negated.chosen, negated.others, negated.unknown)


@FEW
@given(facts(), conditions(), conditions())
def test_de_morgan(entries: list[GroundTruthEntry], a: Condition, b: Condition) -> None:
    for entry in entries:
        assert Or((Not(a), Not(b))).holds(entry) is Not(And((a, b))).holds(entry)
        assert And((Not(a), Not(b))).holds(entry) is Not(Or((a, b))).holds(entry)


@FEW
@given(facts(), conditions())
def test_who_is_left_out_lacks_a_field_and_nobody_else_does(
    entries: list[GroundTruthEntry], condition: Condition
) -> None:
    for entry in entries:
        lacking = condition.lacking(entry)
        assert (condition.holds(entry) is None) == bool(lacking)
        assert all(field.read(entry) is None for field in lacking)


@FEW
@given(facts(most=5), conditions(), st.data())
def test_no_value_that_is_filled_in_changes_what_was_told(
    entries: list[GroundTruthEntry], condition: Condition, data: st.DataObject
) -> None:
    """What holds with a value missing holds whatever the value is."""
    for entry in entries:
        if (found := condition.holds(entry)) is None or "who_5" in entry["computed_scores"]:
            continue
        filled = {**entry, "computed_scores": {"who_5": data.draw(st.integers(0, 25))}}
        if "who_5 is" not in condition.text():
            assert found is condition.holds(filled)  # type: ignore[arg-type]


@FEW
@given(conditions())
def test_what_a_condition_is_written_as_is_read_as_the_same(condition: Condition) -> None:
    everything = [
        a_fact("a", gender="Man", diagnoses=["ADHD", "Anxiety x"], who_5=0, q1=["Other"]),
        a_fact("b", gender="Woman"),
        a_fact("c", gender="male"),
    ]
    assert condition.text() == parse_where(condition.text(), fields_of(everything)).text()


@FEW
@given(conditions())
def test_words_say_not_no_other_way_than_the_negation_does(condition: Condition) -> None:
    assert condition.words(negated=True) == Not(condition).words()
    assert condition.words() == Not(Not(condition)).words()


@pytest.mark.parametrize(
    ("a", "b", "both", "either"),
    [
        (True, None, None, True),
        (False, None, False, None),
        (None, None, None, None),
        (True, False, False, True),
        (True, True, True, True),
    ],
)
def test_truth_table(a: bool | None, b: bool | None, both: bool | None, either: bool | None) -> None:
    entry = a_fact(**({} if a is None else {"gender": "Man"}), **({} if b is None else {"who_5": 10}))
    first = Is(GENDER, ("Man",)) if a is not False else Is(GENDER, ("Woman",))
    second = Compared(WHO, "<", 13) if b is not False else Compared(WHO, ">", 13)
    assert (a, b) == (first.holds(entry), second.holds(entry))
    assert (both, both) == (And((first, second)).holds(entry), And((second, first)).holds(entry))
    assert (either, either) == (Or((first, second)).holds(entry), Or((second, first)).holds(entry))


def test_a_false_part_settles_what_a_missing_one_would_leave_open() -> None:
    entries = [a_fact("old", gender="Man"), a_fact("open", gender="Woman"), a_fact("in", gender="Woman", who_5=9)]
    found = choose(entries, all_of([Is(GENDER, ("Woman",)), Compared(WHO, "<", 13)]))
    assert (("in",), ("old",), {"open": ("who_5",)}) == (found.chosen, found.others, found.unknown)
    assert {"who_5": 1} == found.lacking


def test_known_and_missing_are_told_of_every_conversation() -> None:
    entries = [a_fact("a", who_5=9), a_fact("b")]
    assert (("a",), ("b",), {}) == (lambda s: (s.chosen, s.others, s.unknown))(choose(entries, Known(WHO)))
    assert ("b",) == choose(entries, Not(Known(WHO))).chosen


def test_below_is_strict_and_at_least_includes() -> None:
    entry = a_fact(who_5=13)
    assert [False, True, True, True, False] == [Compared(WHO, o, 13).holds(entry) for o in ("<", "<=", "=", ">=", ">")]  # type: ignore[arg-type]
    assert Between(WHO, 13, 20).holds(entry)
    assert Between(WHO, 5, 13).holds(entry)


def test_male_is_no_part_of_female() -> None:
    entries = [a_fact("m", gender="Male"), a_fact("f", gender="Female")]
    assert ("m",) == choose(entries, Is(GENDER, ("male",))).chosen


def test_no_answer_to_q1_is_missing_and_an_empty_one_is_not() -> None:
    entries = [a_fact("asked", q1=[]), a_fact("never")]
    found = choose(entries, Is(Q1, ("Other",)))
    assert (("asked",), {"never": ("q1",)}) == (found.others, found.unknown)


@pytest.mark.parametrize("answer", ["Prefer not to say", "n/a", "  ", "prefer  NOT to answer"])
def test_who_would_not_tell_is_on_neither_side(answer: str) -> None:
    found = choose([a_fact(gender=answer, diagnoses=[answer])], Not(Is(GENDER, ("Man",))))
    assert {"c1": ("gender",)} == found.unknown
    assert {"c1": ("diagnosis",)} == choose([a_fact(diagnoses=[answer])], Contains(DIAGNOSIS, "x")).unknown


def test_a_change_is_after_minus_before_and_missing_where_either_is() -> None:
    change = BY_NAME["panas_positive_change"]
    assert -5.0 == change.read(a_fact(positive=30, positive_after=25))
    assert change.read(a_fact(positive=30)) is None
    assert change.read(a_fact(positive_after=30)) is None


def test_everything_holds_of_every_conversation() -> None:
    assert ("c1",) == choose([a_fact()], EVERYTHING).chosen
    assert EVERYTHING == all_of([])
    assert "all conversations" == EVERYTHING.words()


@FEW
@given(facts(), conditions())
def test_participants_on_a_side_are_never_more_than_its_conversations(
    entries: list[GroundTruthEntry], condition: Condition
) -> None:
    found = choose(entries, condition)
    persons = {entry["conversationId"]: entry["participant_id"] or entry["conversationId"] for entry in entries}
    assert len({persons[name] for name in found.chosen}) == found.participants_chosen
    assert len({persons[name] for name in found.others}) == found.participants_others
    assert len({persons[name] for name in found.unknown}) == found.participants_unknown
    both = {persons[name] for name in found.chosen} & {persons[name] for name in found.others}
    assert len(both) == found.participants_both


TRIP = Is(BY_NAME["topic"], ("Work", "Money", "A \x1b[31mtrip"))
KNOWN_OR = all_of([Known(WHO), any_of([Between(WHO, 1, 2.5), Not(Known(GENDER))])])


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        (
            "diagnosis contains “ADHD” and age is “25-34”",
            all_of([Contains(DIAGNOSIS, "ADHD"), Is(BY_NAME["age"], ("25-34",))]),
        ),
        (
            "gender is not “Man” and WHO-5 not below 13",
            Not(any_of([Is(GENDER, ("Man",)), Compared(WHO, "<", 13)])),
        ),
        ("topic does not include “Work”, “Money” or “A trip”", Not(TRIP)),
        ("WHO-5 is known and (WHO-5 from 1 to 2.5 or gender is missing)", KNOWN_OR),
        ("PROMIS sleep band is “severe” (70 and above)", Is(BY_NAME["promis_sleep_band"], ("severe",))),
    ],
)
def test_words_are_for_a_paper(words: str, condition: Condition) -> None:
    assert words == condition.words()
