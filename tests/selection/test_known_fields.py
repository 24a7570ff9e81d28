"""What only the data tell: thirds, the form of ASRS-6, ranges, scales and facts that no catalogue knows, values."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest
from facts import a_fact, demo_facts
from hypothesis import given
from hypothesis import strategies as st

from attunebench.conversations import groups
from attunebench.errors import UsageError
from attunebench.selection import choose, condition_from, fields_of, overview, parse_where
from attunebench.selection import fields as fields_module
from attunebench.selection.catalogue import CATALOGUE, GROUPS
from attunebench.selection.known import thirds


@pytest.mark.parametrize(
    ("numbers", "cuts"),
    [
        ([1, 2, 3, 4, 5, 6], (3, 5)),
        ([1, 2, 3, 4], (2, 4)),
        ([1, 1, 2, 2], (2, 2)),
        ([1, 2, 2, 2, 2, 2, 3], (2, 3)),
        ([1, 1, 1, 1, 9], (9, 9)),
        ([5, 5, 5], None),
        ([], None),
    ],
)
def test_thirds_keep_equal_numbers_together(numbers: list[float], cuts: tuple[float, float] | None) -> None:
    assert cuts == thirds(numbers)


@given(st.lists(st.integers(2, 14), min_size=2, max_size=40))
def test_there_is_always_a_low_and_a_high_third_and_turning_the_scale_swaps_them(numbers: list[int]) -> None:
    cuts, turned = thirds(numbers), thirds([-number for number in numbers])
    if len(set(numbers)) < 2:
        assert cuts is None
        return
    assert cuts is not None
    assert turned is not None
    low, high = {n for n in numbers if n < cuts[0]}, {n for n in numbers if n >= cuts[1]}
    assert low
    assert high
    assert not low & high
    assert low == {n for n in numbers if -n >= turned[1]}
    assert high == {n for n in numbers if -n < turned[0]}


def test_thirds_of_a_person_count_each_person_once() -> None:
    talkative = [a_fact(f"t{i}", "talkative", tipi_openness=2) for i in range(10)]
    others = [a_fact(f"o{i}", f"p{i}", tipi_openness=5 + i) for i in range(5)]
    found = fields_of([*talkative, *others]).named("tipi_openness_third").bands
    assert found is not None
    assert (6.0, 8.0) == found.cuts


def test_asrs_above_six_is_a_sum_and_its_words_say_so() -> None:
    counts, sums = ([a_fact(f"c{i}", asrs_6=value) for i, value in enumerate(values)] for values in ((3, 4), (4, 15)))
    for entries, form, chosen in (
        (counts, "read as a count of 0–6", ("c1",)),
        (sums, "read as a sum of 0–24", ("c1",)),
    ):
        found = choose(entries, parse_where("asrs_6_band = screen-positive", fields_of(entries)))
        assert chosen == found.chosen
        assert form in parse_where("asrs_6 >= 4", fields_of(entries)).words()
    with pytest.raises(UsageError, match="read as a count of 0–6, as no value is above 6"):
        parse_where("asrs_6 >= 14", fields_of(counts))


def test_a_range_grows_with_the_data() -> None:
    entries = [a_fact("a", who_5=80), a_fact("b", who_5=20)]
    assert ("a",) == choose(entries, parse_where("who_5 > 50", fields_of(entries))).chosen


def test_unknown_scales_and_told_facts_become_fields() -> None:
    entries = [
        a_fact("a", phq_9=7, **{"GAD-7": 3, "turns_taken": 1}, living_in="Town", languages=["en", "fr"]),
        a_fact("b", phq_9=2, living_in="Prefer not to say"),
    ]
    fields = fields_of(entries)
    assert ("a",) == choose(entries, parse_where("phq_9 > 5 and gad_7 = 3", fields)).chosen
    assert ("a",) == choose(entries, parse_where("languages = fr", fields)).chosen
    assert {"b": ("living_in",)} == choose(entries, parse_where("living_in = town", fields)).unknown


def test_told_facts_of_any_kind_can_be_chosen_by() -> None:
    a, b = a_fact("a"), a_fact("b")
    a["demographics"] = {"siblings": 3, "student": True, "nested": {"deep": 1}, "code": 7}
    b["demographics"] = {"siblings": 0, "student": False, "code": "x7"}
    fields = fields_of([a, b])
    for text in ("siblings > 2", "student = true", "code = 7"):
        assert ("a",) == choose([a, b], parse_where(text, fields)).chosen
    assert "nested" not in fields.by_name
    examples = {seen.field.name: seen.example for seen in overview([a, b])}
    assert ("--where 'siblings >= 1.5'", "--where 'student = \"false\"'") == (examples["siblings"], examples["student"])


@pytest.mark.parametrize("key", ["who_5 ", "and", "", "\x1b[31m", "Größe", "a b c", "turns", "__class__", "9"])
def test_a_strange_name_of_a_scale_can_still_be_typed(key: str) -> None:
    entries = [a_fact("a"), a_fact("b", who_5=4)]
    entries[0]["computed_scores"] = {key: 3.0}
    further = [field for field in fields_of(entries) if field not in CATALOGUE and field.group == GROUPS[-1]]
    (field,) = further
    assert ("a",) == choose(entries, parse_where(f"{field.name} = 3", fields_of(entries))).chosen


def test_the_same_value_in_another_spelling_counts_once() -> None:
    entries = [a_fact("a", country="United Kingdom"), a_fact("b", country="united  kingdom"), a_fact("c", country="UK")]
    fields = fields_of(entries)
    assert {"United Kingdom": 2, "UK": 1} == fields.counts(fields.named("country"))


def test_age_ranges_are_counted_in_their_order() -> None:
    entries = [a_fact(f"c{i}", age_range=age) for i, age in enumerate(("65+", "65+", "25-34", "18-24", "100 and over"))]
    fields = fields_of(entries)
    assert ["18-24", "25-34", "65+", "100 and over"] == list(fields.counts(fields.named("age")))


def test_what_is_not_there_is_named_beside_the_nearest_that_is_first_and_with_counts() -> None:
    entries = [a_fact(f"c{i}", country=f"Land {i}") for i in range(40)] + [a_fact("d", country="Germany")]
    with pytest.raises(UsageError, match=r"“Germny”; there is Germany \(1\), .* and 29 more"):
        parse_where("country = Germny", fields_of(entries))


def test_a_field_of_which_nothing_is_known_says_so() -> None:
    fields = fields_of([a_fact()])
    with pytest.raises(UsageError, match="nothing is known of attitude"):
        parse_where("attitude = mixed", fields)
    with pytest.raises(UsageError, match="no conversation here has a value of WHO-5"):
        parse_where("who_5 < 13", fields)
    assert ("c1",) == choose([a_fact()], parse_where("attitude is missing", fields)).chosen


def test_an_overview_has_each_field_that_somebody_knows_and_its_counts() -> None:
    entries = [
        a_fact("a", "p1", gender="Woman", who_5=5),
        a_fact("b", "p1", gender="woman", who_5=5),
        a_fact("c", "p2", gender="Man"),
        a_fact("d", None),
    ]
    found = {seen.field.name: seen for seen in overview(entries)}
    assert {"gender", "participant", "turns", "conversation", "file", "who_5", "who_5_band"} == set(found)
    gender = found["gender"]
    assert (3, 2, 1) == (gender.conversations, gender.participants, gender.missing)
    assert [("Woman", 2, 1), ("Man", 1, 1)] == [(v.value, v.conversations, v.participants) for v in gender.values]
    assert "--gender Woman" == gender.example
    who = found["who_5"]
    assert (5, 5, 5, None) == (who.least, who.median, who.largest, who.thirds)
    assert "--who5-below 13" == who.example


def test_every_example_of_an_overview_can_be_typed() -> None:
    fields = fields_of(demo_facts())
    for seen in overview(demo_facts()):
        option, value = shlex.split(seen.example)
        condition_from({option: [value]}, fields)


def test_fields_are_shown_under_headings_that_there_are() -> None:
    assert {field.group for field in CATALOGUE} <= set(GROUPS)
    assert len(CATALOGUE) == len({field.name for field in CATALOGUE})
    assert len(CATALOGUE) == len({field.option for field in CATALOGUE})


def test_what_tells_nothing_is_said_once() -> None:
    assert groups.UNTOLD == fields_module.UNTOLD


def test_importing_the_fields_leaves_heavy_modules_out() -> None:
    code = "import sys, attunebench.selection; print(*{'numpy', 'pydantic', 'scipy', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "" == done.stdout.strip()
