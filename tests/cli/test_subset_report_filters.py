"""Each option of `subset-report` that chooses conversations, against a plain reading of the demonstration's files."""

from __future__ import annotations

import json
import operator
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from demo_scores import demo_scores_file
from facts import a_fact, demo_facts, demo_raw

from attunebench.cli.filtering import FILTERS, REMOVED, condition_of
from attunebench.errors import UsageError
from attunebench.selection import choose, fields_of, parse_where

Raw = dict[str, Any]
Cli = Callable[..., Any]
TESTS = {"min": operator.ge, "max": operator.le, "below": operator.lt}
FIELDS = fields_of(demo_facts())


def told(key: str) -> Callable[[Raw], Any]:
    return lambda raw: raw["participant_profile"]["demographics"][key]


def scale(key: str) -> Callable[[Raw], float]:
    return lambda raw: float(raw["participant_profile"]["computed_scores"][key])


TEXTS: dict[str, tuple[str, Callable[[Raw], bool]]] = {
    "--diagnosis": ("adhd", lambda raw: any("ADHD" in name for name in told("diagnoses")(raw))),
    "--age-range": ("25–34", lambda raw: told("age_range")(raw) == "25-34"),
    "--gender": ("man", lambda raw: told("gender")(raw) == "Man"),
    "--country": ("Kenya", lambda raw: told("country")(raw) == "Kenya"),
    "--education": ("bachelor's degree", lambda raw: told("education")(raw) == "Bachelor's degree"),
    "--participant": ("demo-p3", lambda raw: raw["participant_profile"]["participant_id"] == "demo-p3"),
    "--topic": ("family", lambda raw: raw["metadata"]["category"] == "Family"),
    "--attitude": ("Mixed", lambda raw: raw["participant_profile"]["conversation_topic_attitude"] == "Mixed"),
    "--om-model": ("demo-om-1", lambda raw: raw["metadata"]["model"] == "demo-om-1"),
    "--mood-change": (
        "worse",
        lambda raw: (
            raw["postPanas"]["totalPositiveAffect"] <= raw["prePanas"]["totalPositiveAffect"]
            and raw["postPanas"]["totalNegativeAffect"] > raw["prePanas"]["totalNegativeAffect"]
        ),
    ),
}
"""Option → a value that some conversations have, and whether a file is one of them."""
NUMBERS: dict[str, tuple[float, Callable[[Raw], float]]] = {
    "--turns": (5, lambda raw: float(len(raw["turns"]))),
    "--who5": (12, scale("who_5")),
    "--aq10": (4, scale("aq_10")),
    "--asrs6": (3, scale("asrs_6")),
    "--promis-anxiety-t": (57.3, scale("promis_anxiety_t")),
    "--promis-depression-t": (57.3, scale("promis_depression_t")),
    "--promis-sleep-t": (55.5, scale("promis_sleep_t")),
}
"""Stem → a bound that some conversations have on each side, and the number in the file."""
CASES = {
    option: (value, {key for key, raw in demo_raw().items() if is_it(raw)}) for option, (value, is_it) in TEXTS.items()
}
for stem, (bound, read) in NUMBERS.items():
    for end, holds in TESTS.items():
        CASES[f"{stem}-{end}"] = (f"{bound:g}", {key for key, raw in demo_raw().items() if holds(read(raw), bound)})


def chosen(filters: dict[str, list[str]], *where: str) -> set[str]:
    return set(choose(FIELDS, condition_of(filters, where, FIELDS)).chosen)


def test_there_is_a_case_for_every_filter() -> None:
    assert FILTERS.keys() == CASES.keys()


@pytest.mark.parametrize("option", FILTERS)
def test_an_option_chooses_what_the_files_say(option: str) -> None:
    value, expected = CASES[option]
    assert 0 < len(expected) < 12
    assert expected == chosen({option: [value]})


def test_options_combine_repeat_and_stand_beside_where() -> None:
    """Any of the values of an option, and all of the options and expressions."""
    expected = {
        key
        for key, raw in demo_raw().items()
        if {"ADHD", "Depression"} & set(told("diagnoses")(raw))
        and told("gender")(raw) != "Man"
        and scale("who_5")(raw) < 15
        and (len(raw["turns"]) >= 5 or raw["metadata"]["category"] == "Work")
    }
    filters = {"--diagnosis": ["ADHD", "depression"], "--who5-below": ["15"]}
    assert expected == chosen(filters, "not gender = man", "turns >= 5 or topic = Work")
    assert 1 < len(expected) < 10


@pytest.mark.parametrize(
    ("option", "key", "mine", "another"),
    [
        ("--gender", "gender", "male", "female"),
        ("--education", "education", "High school", "Less than high school"),
        ("--attitude", "attitude", "Comfortable", "Not comfortable"),
        ("--om-model", "om_model", "gpt-4", "gpt-4-turbo"),
        ("--country", "country", "Guinea", "Guinea-Bissau"),
    ],
)
def test_a_name_that_is_part_of_another_never_stands_for_it(option: str, key: str, mine: str, another: str) -> None:
    fields = fields_of([a_fact("a", **{key: mine}), a_fact("b", **{key: another})])
    assert ("a",) == choose(fields, condition_of({option: [mine.upper()]}, (), fields)).chosen
    with pytest.raises(UsageError, match=rf"^{option}: .*{another} \(1\)"):
        condition_of({option: [mine]}, (), fields_of([a_fact("b", **{key: another})]))


@pytest.mark.parametrize("option", REMOVED)
def test_an_option_that_is_gone_names_the_expression_that_does_the_same(cli: Cli, option: str) -> None:
    field = FIELDS.named(REMOVED[option].removeprefix("not ").split()[0])
    value = f"{field.numbers[0]:g}" if field.numbers else next(iter(field.counts()))
    for words in ((option, value), (f"{option}={value}",)):
        ended = cli("subset-report", *words)
        assert 2 == ended.status
        assert option in ended.err
        words_of_error = shlex.split(ended.err)
        expression = words_of_error[words_of_error.index("--where") + 1]
        assert parse_where(f'{REMOVED[option]} "{value}"', FIELDS) == parse_where(expression, FIELDS)


def test_the_command_reports_what_its_options_choose(cli: Cli) -> None:
    scores = json.loads(demo_scores_file().read_text("utf-8"))
    values = {
        entry["conversationId"]: entry["metrics"]["composite"]
        for entry in scores["conversations"]
        if entry["em_model"] == "lexicon"
    }
    quick = ("--metric", "composite", "--models", "lexicon", "--resamples", "100", "--format", "json")
    ended = cli("subset-report", "-s", demo_scores_file(), "--who5-below", "12", "--compare", *quick)
    head, beside = json.loads(ended.out)["analyses"]
    inside = CASES["--who5-below"][1]
    assert [len(inside), 12 - len(inside)] == [row["n"] for row in head["tables"][0]["rows"]]
    row = beside["tables"][0]["rows"][0]
    means = [np.mean([value for key, value in values.items() if (key in inside) is side]) for side in (True, False)]
    assert means == [pytest.approx(row["subset"]["value"]), pytest.approx(row["rest"]["value"])]
    assert pytest.approx(means[0] - means[1]) == row["difference"]["value"]
