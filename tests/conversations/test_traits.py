"""What a profile says, as one of a trait's answers: the cut-offs of spec 08, and people's own words."""

from __future__ import annotations

from typing import Any

import pytest
from factory import make_conversation
from talks import parsed

from attunebench.conversations.schema import Conversation, Demographics, ParticipantProfile
from attunebench.conversations.traits import CANNOT_TELL, TRAITS, Span, asrs_note, traits_of, truth_of, untold

BY_ID = {trait.id: trait for trait in TRAITS}


def profile(**scores: float) -> ParticipantProfile:
    return ParticipantProfile(computed_scores=scores)


def person(**told: Any) -> ParticipantProfile:
    return ParticipantProfile(demographics=Demographics(**told))


@pytest.mark.parametrize(
    ("expected", "trait", "score", "value"),
    [
        ("poor", "who_5", "who_5", 12),
        ("not poor", "who_5", "who_5", 13),
        ("screen-negative", "aq_10", "aq_10", 5),
        ("screen-positive", "aq_10", "aq_10", 6),
        ("screen-negative", "asrs_6", "asrs_6", 3),
        ("screen-positive", "asrs_6", "asrs_6", 4),
        ("normal", "promis_anxiety", "promis_anxiety_t", 54.9),
        ("mild", "promis_anxiety", "promis_anxiety_t", 55),
        ("mild", "promis_depression", "promis_depression_t", 59.9),
        ("moderate", "promis_depression", "promis_depression_t", 60),
        ("moderate", "promis_sleep", "promis_sleep_t", 69.9),
        ("severe", "promis_sleep", "promis_sleep_t", 70),
        (9.0, "tipi_openness", "tipi_openness", 9),
    ],
)
def test_a_scale_is_cut_where_spec_08_cuts_it(expected: object, trait: str, score: str, value: float) -> None:
    assert expected == truth_of(BY_ID[trait], profile(**{score: value}))


def test_a_raw_promis_score_alone_is_no_truth() -> None:
    assert truth_of(BY_ID["promis_sleep"], profile(promis_sleep=16)) is None


def test_a_scale_value_outside_its_range_is_no_truth() -> None:
    assert truth_of(BY_ID["tipi_openness"], profile(tipi_openness=1)) is None


def talks(*asrs: float) -> list[Conversation]:
    made = []
    for seed, value in enumerate(asrs):
        raw = make_conversation(seed, 1)
        raw["participant_profile"]["computed_scores"]["asrs_6"] = value
        made.append(parsed(raw))
    return made


@pytest.mark.parametrize(("is_sum", "values", "cut"), [(False, (0, 6), 4), (True, (0, 7), 14)])
def test_one_value_above_six_makes_all_asrs_scores_sums(is_sum: bool, values: tuple[float, ...], cut: float) -> None:
    data = talks(*values)
    assert is_sum == ("a sum of 0–24" in asrs_note(data)[0])
    trait = next(trait for trait in traits_of(data) if trait.id == "asrs_6")
    below, reached = (truth_of(trait, profile(asrs_6=value)) for value in (cut - 1, cut))
    assert ("screen-negative", "screen-positive") == (below, reached)


def test_the_form_of_asrs_changes_nothing_else() -> None:
    counts, sums = traits_of(talks(3)), traits_of(talks(20))
    assert {"asrs_6"} == {one.id for one, other in zip(counts, sums, strict=True) if one != other}


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (Span(25, 34), "25-34"),
        (Span(25, 34), "25 – 34 years"),
        (Span(65, float("inf")), "65+"),
        (Span(65, float("inf")), "65 or older"),
        (Span(0, 24), "Under 25"),
        (Span(41, 41), "41"),
        (None, "in my prime"),
        (None, "34-25"),
    ],
)
def test_ages_are_ranges(expected: Span | None, words: str) -> None:
    assert expected == truth_of(BY_ID["age"], person(age_range=words))


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ("woman", "Woman"),
        ("woman", "female"),
        ("man", "Man (cis)"),
        ("another gender", "Non-binary"),
        ("another gender", "Two-spirit"),
        ("another gender", "woman / man"),
        (None, "Prefer not to say"),
    ],
)
def test_genders_are_told_by_whole_words(expected: str | None, words: str) -> None:
    assert expected == truth_of(BY_ID["gender"], person(gender=words))


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ("secondary school or less", "High school diploma or GED"),
        ("secondary school or less", "Less than high school"),
        ("vocational training or some college", "Some college, no degree"),
        ("vocational training or some college", "Post-secondary certificate"),
        ("vocational training or some college", "Associate's degree"),
        ("bachelor's degree", "Bachelor’s degree"),
        ("bachelor's degree", "Undergraduate degree"),
        ("master's degree or doctorate", "Master's degree"),
        ("master's degree or doctorate", "Doctorate"),
        ("master's degree or doctorate", "Graduate degree"),
        (None, "the school of life"),
    ],
)
def test_education_is_a_step_of_a_ladder(expected: str | None, words: str) -> None:
    assert expected == truth_of(BY_ID["education"], person(education=words))


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ("native", "Native"),
        ("native", "First language"),
        ("fluent", "Near-native, fluent"),
        ("fluent", "C1"),
        ("intermediate or less", "Intermediate"),
        (None, "non-native"),
    ],
)
def test_english_is_one_of_three_levels(expected: str | None, words: str) -> None:
    assert expected == truth_of(BY_ID["english_proficiency"], person(english_proficiency=words))


@pytest.mark.parametrize(
    ("expected", "diagnoses"),
    [
        ({"none"}, ["None of the above"]),
        ({"ASD or ADHD", "anxiety or depression"}, ["ADHD", "Depression"]),
        ({"other"}, ["PTSD"]),
        (None, []),
        (None, ["Prefer not to say"]),
    ],
)
def test_diagnoses_are_the_groups_of_the_reports(expected: set[str] | None, diagnoses: list[str]) -> None:
    assert expected == truth_of(BY_ID["diagnosis_groups"], person(diagnoses=tuple(diagnoses)))


def test_words_that_fit_no_answer_are_named_and_words_that_do_are_not() -> None:
    said = person(education="the school of life", gender="Woman")
    assert "the school of life" == untold(BY_ID["education"], said)
    assert untold(BY_ID["gender"], said) is None
    assert untold(BY_ID["english_proficiency"], said) is None


@pytest.mark.parametrize("trait", TRAITS, ids=lambda trait: trait.id)
def test_no_truth_is_a_refusal_to_say_and_nobody_without_a_profile_has_one(trait: Any) -> None:
    assert truth_of(trait, None) is None
    assert CANNOT_TELL not in trait.options
