"""Options: how a text is matched field by field, how several combine, and what is refused."""

from __future__ import annotations

import pytest
from facts import a_fact

from attunebench.errors import UsageError
from attunebench.scores import GroundTruthEntry
from attunebench.selection import choose, condition_from, fields_of, filters


def chosen(entries: list[GroundTruthEntry], **given: list[str | float]) -> tuple[str, ...]:
    """Ids that the options choose."""
    return choose(entries, condition_from(given, fields_of(entries))).chosen


def named(key: str, *values: str) -> list[GroundTruthEntry]:
    """A conversation for each value of a told fact, or of topic (a list) and the like, called as the value is."""
    lists = ("topics", "diagnoses", "q1")
    return [a_fact(value, **{key: [value] if key in lists else value}) for value in values]


def test_an_exact_topic_goes_before_its_parts() -> None:
    entries = named("topics", "Work", "Work stress", "Housework")
    assert ("Work",) == chosen(entries, topic=["work"])
    assert ("Work stress", "Housework") == chosen(entries[1:], topic=["work stress", "housework"])


def test_a_part_of_a_topic_begins_a_word() -> None:
    assert ("Work stress", "At work") == chosen(named("topics", "Work stress", "At work", "Housework"), topic=["work"])


def test_the_options_that_a_part_stands_for_are_told_in_words() -> None:
    entries = named("topics", "Health worries", "Mental health", "Money")
    condition = condition_from({"topic": ["health"]}, fields_of(entries))
    assert "topic includes “Health worries” or “Mental health”" == condition.words()


def test_a_diagnosis_is_matched_by_any_part_of_its_name() -> None:
    entries = named("diagnoses", "Generalised anxiety disorder", "C-PTSD", "None of the above")
    assert ("Generalised anxiety disorder",) == chosen(entries, diagnosis=["ANXIETY"])
    assert ("C-PTSD",) == chosen(entries, diagnosis=["ptsd"])
    assert ("None of the above",) == chosen(entries, diagnosis=["none"])


@pytest.mark.parametrize(
    ("option", "key", "mine", "another"),
    [
        ("gender", "gender", "male", "female"),
        ("english", "english_proficiency", "Native", "Non-native"),
        ("education", "education", "High school", "Less than high school"),
        ("attitude", "attitude", "Comfortable", "Not comfortable"),
        ("om_model", "om_model", "gpt-4", "gpt-4-turbo"),
        ("country", "country", "Guinea", "Guinea-Bissau"),
        ("work", "work_edu_background", "Science", "Social science"),
    ],
)
def test_a_name_that_is_part_of_another_never_stands_for_it(option: str, key: str, mine: str, another: str) -> None:
    entries = named(key, mine, another)
    assert (mine,) == chosen(entries, **{option: [mine.upper()]})
    assert (another,) == chosen(entries, **{f"not_{option}": [mine.upper()]})
    with pytest.raises(UsageError, match=rf"--{option.replace('_', '-')}: no conversation here has .*{another} \(1\)"):
        chosen(entries[1:], **{option: [mine]})


def test_a_repeated_bound_means_any_of_them() -> None:
    entries = [a_fact(str(value), who_5=value) for value in (5, 10, 20)]
    assert ("5", "10") == chosen(entries, who5_below=[8, "13"])
    assert ("10",) == chosen(entries, who5_below=["13"], who5_min=["10"])


def test_a_missing_value_leaves_out_of_both_sides_also_under_negation() -> None:
    entries = [a_fact("w", gender="Woman"), a_fact("m", gender="Man"), a_fact("x")]
    for given, side in (({"gender": ["Man"]}, ("m",)), ({"not-gender": ["Man"]}, ("w",))):
        found = choose(entries, condition_from(given, fields_of(entries)))
        assert (side, {"x": ("gender",)}) == (found.chosen, found.unknown)


def test_each_where_and_each_option_must_hold() -> None:
    entries = [
        a_fact(str(value), who_5=value, gender=gender) for value, gender in ((5, "Man"), (6, "Woman"), (20, "Man"))
    ]
    condition = condition_from({"gender": ["Man"]}, fields_of(entries), ["who_5 > 4", "who_5 < 10"])
    assert ("5",) == choose(entries, condition).chosen
    assert 'gender = "Man" and who_5 > 4 and who_5 < 10' == condition.text()


def test_an_or_in_where_stays_together() -> None:
    entries = [a_fact("a", who_5=5, gender="Man"), a_fact("b", who_5=20, gender="Woman")]
    condition = condition_from({"gender": ["Woman"]}, fields_of(entries), ["who_5 < 10 or gender = Man"])
    assert () == choose(entries, condition).chosen


def test_options_without_a_value_choose_nothing_away() -> None:
    assert ("c1",) == chosen([a_fact()], gender=[], who5_below=[])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"who5_below": ["low"]}, "--who5-below: who_5 is compared with a number, not with “low”."),
        ({"who5_min": [float("nan")]}, "--who5-min: who_5 is compared with a number, not with “nan”."),
        ({"who5_min": ["40"]}, "--who5-min: WHO-5 runs from 0 to 25, so 40 tells nobody apart."),
        ({"topic": [" "]}, "--topic: topic is compared with a text that is not empty."),
        ({"shoe_size": ["40"]}, "There is no option shoe_size to choose conversations by"),
    ],
)
def test_what_no_option_takes(given: dict[str, list[str | float]], said: str) -> None:
    with pytest.raises(UsageError) as error:
        condition_from(given, fields_of([a_fact(who_5=3, topics=["Work"])]))
    assert said in str(error.value)


def test_each_option_has_a_name_of_its_own_and_a_help() -> None:
    found = filters()
    assert len(found) == len({option.parameter for option in found})
    assert all(option.help.endswith(".") and len(option.help) < 200 for option in found)
    flags = {option.flag for option in found}
    assert {"--diagnosis", "--not-diagnosis", "--age", "--who5-below", "--aq10-min", "--asrs6-min"} <= flags
    assert {"--promis-anxiety-t-min", "--tipi-openness-third", "--panas-negative-change-below", "--q1"} <= flags
