"""Three-valued logic: a missing value leaves a conversation out of both sides, whatever is asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from facts import a_fact, facts
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.scores import GroundTruthEntry
from attunebench.selection import EVERYTHING, Fields, choose, fields_of, parse_where
from attunebench.selection.conditions import Condition, Joined

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

FEW = settings(max_examples=25)
TESTS = (
    *(f"who_5 {sign} {bound}" for sign in ("<", "<=", "=", ">=", ">") for bound in (0, 12, 13)),
    "who_5 between 5 and 13",
    "gender = Man",
    "gender in (Woman, male)",
    "diagnosis contains anx",
    "diagnosis = ADHD",
    "q1 = Other",
    "who_5 is known",
    "gender is missing",
)
ANYTHING = [
    a_fact("a", gender="Man", diagnoses=["ADHD", "Anxiety x"], who_5=0, q1=["Other"]),
    a_fact("b", gender="Woman"),
    a_fact("c", gender="male"),
]
"""Has every value that the tests name."""


def expressions() -> SearchStrategy[str]:
    def wider(inner: SearchStrategy[str]) -> SearchStrategy[str]:
        lists = st.lists(inner, min_size=2, max_size=3)
        return inner.map("not ({})".format) | lists.map(") and (".join).map("({})".format) | lists.map(" or ".join)

    return st.recursive(st.sampled_from(TESTS), wider, max_leaves=6)


def read(text: str, entries: list[GroundTruthEntry]) -> tuple[Fields, Condition]:
    """The fields of the entries and of those that have every value, and what the expression says of them."""
    fields = fields_of([*entries, *ANYTHING])
    return fields, parse_where(text, fields)


@FEW
@given(facts(), expressions())
def test_every_conversation_is_on_one_side_or_left_out(entries: list[GroundTruthEntry], text: str) -> None:
    fields, condition = read(text, entries)
    selection = choose(fields, condition)
    sides = [*selection.chosen, *selection.others, *selection.unknown]
    assert sorted(entry["conversationId"] for entry in fields.entries) == sorted(sides)


@FEW
@given(facts(), expressions())
def test_negation_swaps_the_sides_and_leaves_out_the_same(entries: list[GroundTruthEntry], text: str) -> None:
    fields, condition = read(text, entries)
    selection, negated = choose(fields, condition), choose(fields, Joined("not", (condition,)))
    assert (selection.others, selection.chosen, selection.unknown) == (negated.chosen, negated.others, negated.unknown)


@FEW
@given(facts(), expressions())
def test_who_is_left_out_lacks_a_field_and_nobody_else_does(entries: list[GroundTruthEntry], text: str) -> None:
    fields, condition = read(text, entries)
    for place in range(len(fields.entries)):
        if isinstance(missing := condition.holds(place), frozenset):
            assert missing
            assert all(fields.named(name).values[place] is None for name in missing)


@FEW
@given(facts(most=5), expressions().filter(lambda text: "who_5 is" not in text), st.integers(0, 25))
def test_what_holds_with_a_value_missing_holds_whatever_it_is(
    entries: list[GroundTruthEntry], text: str, value: int
) -> None:
    filled = [
        entry if "who_5" in entry["computed_scores"] else {**entry, "computed_scores": {"who_5": value}}
        for entry in entries
    ]
    before, after = read(text, entries)[1], read(text, filled)[1]  # type: ignore[arg-type]
    for place in range(len(entries)):
        if isinstance(holds := before.holds(place), bool):
            assert holds is after.holds(place)


@FEW
@given(expressions())
def test_what_a_condition_is_written_as_is_read_as_the_same(text: str) -> None:
    fields, condition = read(text, [])
    assert condition == parse_where(condition.text(), fields)


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
    fields = fields_of([entry, *ANYTHING])
    first, second = f"gender = {'Woman' if a is False else 'Man'}", f"who_5 {'>' if b is False else '<'} 13"
    parts = {first: a, second: b, f"{first} and {second}": both, f"{second} and {first}": both}
    for text, expected in (parts | {f"{first} or {second}": either, f"{second} or {first}": either}).items():
        holds = parse_where(text, fields).holds(0)
        assert expected is (None if isinstance(holds, frozenset) else holds)


def test_a_false_part_settles_what_a_missing_one_would_leave_open() -> None:
    entries = [a_fact("old", gender="Man"), a_fact("open", gender="Woman"), a_fact("in", gender="Woman", who_5=9)]
    fields = fields_of(entries)
    selection = choose(fields, parse_where("gender = Woman and who_5 < 13", fields))
    assert (("in",), ("old",), {"open": {"who_5"}}) == (selection.chosen, selection.others, selection.unknown)
    assert {"who_5": 1} == selection.lacking


def test_below_is_strict_and_at_least_includes() -> None:
    fields = fields_of([a_fact(who_5=13)])
    tests = {"< 13": False, "<= 13": True, "= 13": True, ">= 13": True, "> 13": False, "between 13 and 20": True}
    assert tests == {test: parse_where(f"who_5 {test}", fields).holds(0) for test in tests}


def test_everything_holds_of_every_conversation() -> None:
    selection = choose(fields_of([a_fact()]), EVERYTHING)
    assert (("c1",), "") == (selection.chosen, selection.condition.text())


@FEW
@given(facts(), expressions())
def test_participants_are_counted_on_each_side(entries: list[GroundTruthEntry], text: str) -> None:
    fields, condition = read(text, entries)
    selection = choose(fields, condition)
    persons = {entry["conversationId"]: entry["participant_id"] or entry["conversationId"] for entry in fields.entries}
    sides = {side: {persons[name] for name in getattr(selection, side)} for side in ("chosen", "others", "unknown")}
    sides["both"] = sides["chosen"] & sides["others"]
    assert {side: len(them) for side, them in sides.items()} == selection.participants
