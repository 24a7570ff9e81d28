"""Each field and each option against a plain re-computation from the JSON of the demonstration conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from facts import demo_facts, demo_raw

from attunebench.selection import Filter, choose, condition_from, fields_of, filters
from attunebench.selection.catalogue import CATALOGUE

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


def diagnosis_groups(raw: dict[str, Any]) -> tuple[str, ...]:
    named = [name for name in person(raw)["diagnoses"] if name != "None of the above"]
    groups = {GROUPS[name] for name in named} | {"any" if named else "none"}
    return tuple(sorted(groups))


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


RAW = demo_raw()
PLAIN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "diagnosis": lambda c: tuple(person(c)["diagnoses"]),
    "diagnosis_group": diagnosis_groups,
    "age": lambda c: person(c)["age_range"],
    "gender": lambda c: person(c)["gender"],
    "country": lambda c: person(c)["country"],
    "education": lambda c: person(c)["education"],
    "english": lambda c: person(c)["english_proficiency"],
    "work": lambda c: tuple(person(c)["work_edu_background"]),
    "participant": lambda c: c["participant_profile"]["participant_id"],
    "topic": lambda c: (c["metadata"]["category"],),
    "subtopic": lambda c: c["metadata"]["subtopic"],
    "attitude": lambda c: c["participant_profile"]["conversation_topic_attitude"],
    "om_model": lambda c: c["metadata"]["model"],
    "turns": lambda c: len(c["turns"]),
    "conversation": lambda c: c["conversationId"],
    "q1": lambda c: tuple(c["conversationWideQuestions"]["q1_lookingFor"]),
    "q2": lambda c: c["conversationWideQuestions"]["q2_emotionClarity"],
    "q3": lambda c: c["conversationWideQuestions"]["q3_modelFit"],
    "who_5_band": lambda c: "poor" if scale(c, "who_5") < 13 else "not poor",
    "aq_10_band": lambda c: "screen-positive" if scale(c, "aq_10") >= 6 else "screen-negative",
    "asrs_6_band": lambda c: "screen-positive" if scale(c, "asrs_6") >= 4 else "screen-negative",
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
    PLAIN[f"panas_{side}_change"] = lambda c, items=items: affect(c, "postPanas", items) - affect(c, "prePanas", items)


def test_every_field_of_the_catalogue_is_recomputed_here() -> None:
    assert {*PLAIN, "file"} == {field.name for field in CATALOGUE}


@pytest.mark.parametrize("name", PLAIN)
def test_a_field_reads_what_stands_in_the_files(name: str) -> None:
    field = fields_of(demo_facts()).named(name)
    read = {entry["conversationId"]: field.read(entry) for entry in demo_facts()}
    if name == "diagnosis_group":
        read = {key: tuple(sorted(value)) for key, value in read.items()}  # type: ignore[arg-type]
    assert {key: PLAIN[name](raw) for key, raw in RAW.items()} == read


TESTS: dict[str, Callable[[float, float], bool]] = {
    "is": lambda value, bound: value == bound,
    "min": lambda value, bound: value >= bound,
    "max": lambda value, bound: value <= bound,
    "below": lambda value, bound: value < bound,
    "above": lambda value, bound: value > bound,
}


def plainly(option: Filter, given: Any) -> set[str]:
    """Ids of the conversations that an option with this value stands for."""
    read = PLAIN[option.field.name]
    if option.field.kind == "number":
        found = {key for key, raw in RAW.items() if TESTS[option.test](read(raw), given)}
    elif option.field.name == "diagnosis":
        found = {key for key, raw in RAW.items() if any(given.lower() in name.lower() for name in read(raw))}
    elif option.field.kind == "list":
        found = {key for key, raw in RAW.items() if given in read(raw)}
    else:
        found = {key for key, raw in RAW.items() if given == read(raw)}
    return set(RAW) - found if option.negated else found


@pytest.mark.parametrize("option", [f for f in filters() if f.field.name != "file"], ids=lambda option: option.flag)
def test_an_option_chooses_what_its_value_says(option: Filter) -> None:
    values = [PLAIN[option.field.name](raw) for raw in RAW.values()]
    given = {one for value in values for one in (value if isinstance(value, tuple) else (value,))}
    if option.field.name == "diagnosis":
        given |= {"adhd", "none", "spectrum"}
    assert given
    for value in given:
        selection = choose(demo_facts(), condition_from({option.name: [value]}, fields_of(demo_facts())))
        wanted = plainly(option, value)
        assert wanted == set(selection.chosen)
        assert set(RAW) - wanted == set(selection.others)
        assert {} == selection.unknown


def test_a_file_is_chosen_by_its_name() -> None:
    selection = choose(demo_facts(), condition_from({"file": ["conversation_1004.json"]}, fields_of(demo_facts())))
    assert ["Moving"] == [RAW[key]["metadata"]["category"] for key in selection.chosen]


def test_different_options_mean_all_of_them_and_a_repeated_one_any_of_its_values() -> None:
    given = {"diagnosis": ["ADHD", "depression"], "age": ["25-34", "35-44"], "who5-below": ["13"]}
    wanted = {
        key
        for key, raw in RAW.items()
        if {"ADHD", "Depression"} & set(person(raw)["diagnoses"])
        and person(raw)["age_range"] in ("25-34", "35-44")
        and scale(raw, "who_5") < 13
    }
    assert wanted == set(choose(demo_facts(), condition_from(given, fields_of(demo_facts()))).chosen)
    assert 3 == len(wanted)


def test_a_negated_option_excludes_every_value_it_is_given() -> None:
    given = {"not-diagnosis": ["ADHD", "anxiety"]}
    wanted = {key for key, raw in RAW.items() if not {"ADHD", "Anxiety"} & set(person(raw)["diagnoses"])}
    assert wanted == set(choose(demo_facts(), condition_from(given, fields_of(demo_facts()))).chosen)


def test_participants_are_counted_on_each_side() -> None:
    selection = choose(demo_facts(), condition_from({"topic": ["Good news"]}, fields_of(demo_facts())))
    # demo-p1 and demo-p8 have good news, and demo-p1 talked of work too.
    assert (2, 7, 0, 1) == (
        selection.participants_chosen,
        selection.participants_others,
        selection.participants_unknown,
        selection.participants_both,
    )
