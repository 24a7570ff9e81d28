"""Each field against a plain re-computation from the JSON of the demonstration conversations, and what data add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from facts import a_fact, demo_facts, demo_raw
from hypothesis import given
from hypothesis import strategies as st

from attunebench.errors import UsageError
from attunebench.selection import choose, fields_of, parse_where
from attunebench.selection.facts import fields_listed
from attunebench.selection.fields import thirds

RAW = demo_raw()
FIELDS = fields_of(demo_facts())
POSITIVE = ["active", "alert", "attentive", "determined", "enthusiastic"]
POSITIVE += ["excited", "inspired", "interested", "proud", "strong"]
NEGATIVE = ["afraid", "ashamed", "distressed", "guilty", "hostile"]
NEGATIVE += ["irritable", "jittery", "nervous", "scared", "upset"]
GROUPS = {
    "ADHD": "ASD or ADHD",
    "Autism spectrum disorder": "ASD or ADHD",
    "Anxiety": "anxiety or depression",
    "Depression": "anxiety or depression",
}


def person(raw: dict[str, Any]) -> dict[str, Any]:
    return raw["participant_profile"]["demographics"]  # type: ignore[no-any-return]


def scale(raw: dict[str, Any], name: str) -> float:
    return float(raw["participant_profile"]["computed_scores"][name])


def affect(raw: dict[str, Any], when: str, items: list[str]) -> float:
    return float(sum(raw[when]["responses"][item] for item in items))


def change(raw: dict[str, Any], items: list[str]) -> float:
    return affect(raw, "postPanas", items) - affect(raw, "prePanas", items)


def mood(raw: dict[str, Any]) -> str:
    positive, negative = change(raw, POSITIVE), change(raw, NEGATIVE)
    if positive == negative == 0:
        return "unchanged"
    if positive >= 0 >= negative:
        return "better"
    return "worse" if positive <= 0 <= negative else "mixed"


def diagnosis_groups(raw: dict[str, Any]) -> list[str]:
    named = [name for name in person(raw)["diagnoses"] if name != "None of the above"]
    return sorted({GROUPS[name] for name in named} | {"any" if named else "none"})


def severity(t_score: float) -> str:
    return "normal" if t_score < 55 else "mild" if t_score < 60 else "moderate" if t_score < 70 else "severe"


def third(raw: dict[str, Any], read: Callable[[dict[str, Any]], float], *, of_people: bool) -> str:
    """By brute force: of all ways to cut off the lowest (highest) values the one that comes nearest to a third."""
    units = {raw["participant_profile"]["participant_id"] if of_people else key: read(raw) for key, raw in RAW.items()}
    values = list(units.values())

    def gap(outside: list[float]) -> tuple[float, int]:
        return abs(len(outside) / len(values) - 1 / 3), len(outside)

    low = max(min(([v for v in values if v <= cut] for cut in set(values) - {max(values)}), key=gap))
    high = min(min(([v for v in values if v >= cut] for cut in set(values) - {min(values)}), key=gap))
    return "low" if read(raw) <= low else "high" if read(raw) >= high else "middle"


PLAIN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "diagnosis": lambda c: person(c)["diagnoses"],
    "diagnosis_group": diagnosis_groups,
    "age": lambda c: person(c)["age_range"],
    "gender": lambda c: person(c)["gender"],
    "country": lambda c: person(c)["country"],
    "education": lambda c: person(c)["education"],
    "english": lambda c: person(c)["english_proficiency"],
    "work": lambda c: person(c)["work_edu_background"],
    "participant": lambda c: c["participant_profile"]["participant_id"],
    "topic": lambda c: c["metadata"]["category"],
    "subtopic": lambda c: c["metadata"]["subtopic"],
    "attitude": lambda c: c["participant_profile"]["conversation_topic_attitude"],
    "om_model": lambda c: c["metadata"]["model"],
    "turns": lambda c: float(len(c["turns"])),
    "conversation": lambda c: c["conversationId"],
    "q1": lambda c: c["conversationWideQuestions"]["q1_lookingFor"],
    "q2": lambda c: c["conversationWideQuestions"]["q2_emotionClarity"],
    "q3": lambda c: c["conversationWideQuestions"]["q3_modelFit"],
    "who_5_band": lambda c: "poor" if scale(c, "who_5") < 13 else "not poor",
    "aq_10_band": lambda c: "screen-positive" if scale(c, "aq_10") >= 6 else "screen-negative",
    "asrs_6_band": lambda c: "screen-positive" if scale(c, "asrs_6") >= 4 else "screen-negative",
    "mood_change": mood,
}
for name in ("who_5", "aq_10", "asrs_6"):
    PLAIN[name] = lambda c, name=name: scale(c, name)
for what in ("anxiety", "depression", "sleep"):
    PLAIN[f"promis_{what}"] = lambda c, what=what: scale(c, f"promis_{what}")
    PLAIN[f"promis_{what}_t"] = lambda c, what=what: scale(c, f"promis_{what}_t")
    PLAIN[f"promis_{what}_band"] = lambda c, what=what: severity(scale(c, f"promis_{what}_t"))
for trait in ("extraversion", "agreeableness", "conscientiousness", "stability", "openness"):
    read = PLAIN[f"tipi_{trait}"] = lambda c, trait=trait: scale(c, f"tipi_{trait}")
    PLAIN[f"tipi_{trait}_third"] = lambda c, read=read: third(c, read, of_people=True)
for side, items in (("positive", POSITIVE), ("negative", NEGATIVE)):
    read = PLAIN[f"panas_{side}_before"] = lambda c, items=items: affect(c, "prePanas", items)
    PLAIN[f"panas_{side}_before_third"] = lambda c, read=read: third(c, read, of_people=False)
    PLAIN[f"panas_{side}_change"] = lambda c, items=items: change(c, items)


def test_every_field_is_recomputed_here() -> None:
    assert {*PLAIN, "file"} == {field.name for field in FIELDS.listed}


@pytest.mark.parametrize("name", PLAIN)
def test_a_field_reads_what_stands_in_the_files(name: str) -> None:
    for entry, value in zip(demo_facts(), FIELDS.named(name).values, strict=True):
        expected = PLAIN[name](RAW[entry["conversationId"]])
        if isinstance(expected, float):
            assert expected == value
        else:
            assert sorted([expected] if isinstance(expected, str) else expected) == sorted(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("spelling", ["who_5", "WHO-5", "who5", "Who_5"])
def test_a_field_is_found_under_any_spelling_of_its_name(spelling: str) -> None:
    assert "who_5" == FIELDS.named(spelling).name


def test_a_field_is_found_under_the_name_that_the_data_have() -> None:
    keys = ("diagnoses", "age_range", "english_proficiency", "participant_id", "q1", "conversationId")
    assert ["diagnosis", "age", "english", "participant", "q1", "conversation"] == [FIELDS.named(k).name for k in keys]


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


@given(st.lists(st.integers(2, 14), min_size=2, max_size=40).filter(lambda numbers: len(set(numbers)) > 1))
def test_there_is_always_a_low_and_a_high_third_and_turning_the_scale_swaps_them(numbers: list[int]) -> None:
    cuts, turned = thirds(numbers), thirds([-number for number in numbers])
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
    bands = fields_of([*talkative, *others]).named("tipi_openness_third").bands
    assert {"low": "below 6", "middle": "6 to < 8", "high": "8 and above"} == bands


def test_asrs_above_six_is_a_sum_and_its_meaning_says_so() -> None:
    for values, form in (((3, 4), "a count of 0–6"), ((4, 15), "a sum of 0–24")):
        fields = fields_of([a_fact(f"c{i}", asrs_6=value) for i, value in enumerate(values)])
        assert ("c1",) == choose(fields, parse_where("asrs_6_band = screen-positive", fields)).chosen
        assert form in fields.named("asrs_6").meaning


def test_scales_and_facts_that_are_not_listed_become_fields() -> None:
    a = a_fact("a", phq_9=7, **{"GAD-7": 3, "turns_taken": 1}, living_in="Town", languages=["en", "fr"])
    b = a_fact("b", phq_9=2, living_in="Prefer not to say")
    a["demographics"] |= {"siblings": 3, "student": True, "nested": None, "code": 7}
    b["demographics"] |= {"siblings": 0, "student": False, "code": "x7"}
    fields = fields_of([a, b])
    for text in ("phq_9 > 5 and gad_7 = 3", "languages = fr", "siblings > 2", "student = true", "code = 7"):
        assert ("a",) == choose(fields, parse_where(text, fields)).chosen
    assert {"b": {"living_in"}} == choose(fields, parse_where("living_in = town", fields)).unknown
    assert "nested" not in {field.name for field in fields.listed}


@pytest.mark.parametrize("key", ["who_5 ", "and", "", "\x1b[31m", "Größe", "a b c", "turns", "__class__", "9"])
def test_a_strange_name_of_a_scale_can_still_be_typed(key: str) -> None:
    entries = [a_fact("a"), a_fact("b", who_5=4)]
    entries[0]["computed_scores"] = {key: 3.0}
    fields = fields_of(entries)
    (further,) = {field.name for field in fields.listed} - {field.name for field in FIELDS.listed}
    assert ("a",) == choose(fields, parse_where(f"{further} = 3", fields)).chosen


def test_the_same_value_in_another_spelling_counts_once() -> None:
    countries = ("United Kingdom", "united  kingdom", "UK")
    fields = fields_of([a_fact(f"c{i}", country=country) for i, country in enumerate(countries)])
    assert {"United Kingdom": 2, "UK": 1} == fields.named("country").counts()


@pytest.mark.parametrize("answer", ["Prefer not to say", "n/a", "  ", "prefer  NOT to answer"])
def test_an_answer_that_tells_nothing_is_missing(answer: str) -> None:
    fields = fields_of([a_fact(gender=answer, diagnoses=[answer])])
    assert [None] == fields.named("gender").values == fields.named("diagnosis").values


def test_an_empty_answer_to_q1_is_an_answer() -> None:
    assert [(), None] == fields_of([a_fact("asked", q1=[]), a_fact("never")]).named("q1").values


def test_a_change_is_missing_where_either_end_is() -> None:
    entries = [a_fact(positive=30, positive_after=25), a_fact(positive=30), a_fact(positive_after=30)]
    assert [-5.0, None, None] == fields_of(entries).named("panas_positive_change").values


def test_what_is_not_there_is_named_beside_the_nearest_that_is_first_and_with_counts() -> None:
    entries = [a_fact(f"c{i}", country=f"Land {i}") for i in range(40)] + [a_fact("d", country="Germany")]
    with pytest.raises(UsageError, match=r"“Germny”; there is Germany \(1\), .* and 29 more"):
        parse_where("country = Germny", fields_of(entries))


def test_a_field_of_which_nothing_is_known_can_only_be_missing() -> None:
    fields = fields_of([a_fact()])
    for text in ("attitude = mixed", "who_5 < 13", "tipi_openness_third = low"):
        with pytest.raises(UsageError, match="nothing is known of"):
            parse_where(text, fields)
    assert ("c1",) == choose(fields, parse_where("attitude is missing", fields)).chosen


def test_the_list_has_each_field_that_somebody_knows_with_its_counts() -> None:
    entries = [
        a_fact("a", "p1", gender="Woman", who_5=5),
        a_fact("b", "p1", gender="woman", who_5=5),
        a_fact("c", "p2", gender="Man"),
        a_fact("d", None),
    ]
    texts, numbers, values = (
        [[cell.value for cell in row] for row in table.rows] for table in fields_listed(fields_of(entries)).tables
    )
    assert ["gender", "participant", "conversation", "file", "who_5_band"] == [row[0] for row in texts]
    assert ["gender", 3, 2, 'gender = "Woman"'] == texts[0]
    assert ["who_5", 2, 1, 5, 5, 5, "who_5 >= 5"] == numbers[1]
    assert [["gender", "Woman", 2, 1], ["gender", "Man", 1, 1]] == values[:2]
    assert ["who_5_band", "poor (below 13)", 2, 1] in values


def test_every_example_of_the_list_is_an_expression_that_chooses_somebody() -> None:
    texts, numbers, _ = fields_listed(FIELDS).tables
    for row in (*texts.rows, *numbers.rows):
        assert choose(FIELDS, parse_where(str(row[-1].value), FIELDS)).chosen
