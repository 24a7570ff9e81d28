"""The questions about the whole talk: planted skill is found, near zero is said, and base rates are counted."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import cell_of, covers, level, made, older, table_of

from attunebench.constants import FOLLOW_UP_OPTIONS, Q3_NEGATIVE
from attunebench.scores import Scores
from attunebench.study import Study, make_study


def felt_off(conversation: dict[str, Any], _index: int) -> dict[str, Any]:
    """Everybody says that something felt off."""
    wide = conversation["conversationWideQuestions"]
    wide |= {"q3_modelFit": Q3_NEGATIVE[0], "q3_followUp_whatFeltOff": [FOLLOW_UP_OPTIONS[0]]}
    return conversation


@cache
def scores() -> Scores:
    """One model foresees nine answers of ten, one none."""
    skills = {"good": Skill(wide=0.9), "blind": Skill(wide=0.0)}
    return planted_scores(skills, Plan(conversations=30, turns=3, seed=5, shape=felt_off))


@cache
def planted() -> Study:
    return make_study(scores())


def test_the_interval_covers_the_planted_chance() -> None:
    table = table_of(made("conversation-wide", planted()), "questions")
    assert covers(cell_of(table, "good", "q2_clarity"), 0.9)
    assert 0.0 == cell_of(table, "blind", "q2_clarity").value


def test_a_model_without_any_follow_up_is_named_as_near_zero() -> None:
    analysis = made("conversation-wide", planted())
    assert "On the follow-up blind is near zero." in analysis.shows
    assert "mostly one value" == cell_of(table_of(analysis, "questions"), "blind", "q3_follow_up").mark


def test_who_is_above_blind_guessing_is_counted() -> None:
    assert (
        "On Q2 clarity 1 of 2 models is shown to be above blind guessing (1/4)"
        in made("conversation-wide", planted()).shows
    )


def test_blind_choices_are_not_called_better_than_chance() -> None:
    """A model that is right with a chance of 1/4 on each of Q2 and Q3."""
    blind = planted_scores(dict.fromkeys("abcd", Skill(wide=0.25)), Plan(conversations=24, turns=3, seed=21))
    shows = made("conversation-wide", make_study(blind)).shows
    assert "On Q2 clarity 0 of 4 models are shown" in shows
    assert "On Q3 fit 0 of 4 models are shown" in shows


def test_nobody_is_near_zero_where_nothing_was_planted() -> None:
    assert "No model is near zero on the follow-up." in made("conversation-wide", level()).shows


def test_the_most_frequent_answer_is_counted_over_the_labels() -> None:
    study = level()
    answers = Counter(truth["wide"]["q2"] for truth in study.truths() if truth is not None)
    row = next(r for r in table_of(made("conversation-wide", study), "people").rows if r[0].value == "Q2 clarity")
    assert pytest.approx(max(answers.values()) / sum(answers.values())) == row[3].value
    assert answers[str(row[1].value)] == max(answers.values())


def test_asked_only_and_false_alarms_stand_beside_the_follow_up() -> None:
    table = table_of(made("conversation-wide", level()), "questions")
    assert {"q3_follow_up", "q3_follow_up_asked", "q3_follow_up_false_alarm"} <= {c.id for c in table.columns}


def test_the_base_rate_is_a_reference_row() -> None:
    row = table_of(made("conversation-wide", level()), "questions").rows[-1]
    assert ("Base rate", "reference") == (row[0].value, row[0].mark)


def test_older_scores_have_no_table_of_people() -> None:
    analysis = made("conversation-wide", make_study(older(scores())))
    assert ["questions"] == [table.id for table in analysis.tables]
