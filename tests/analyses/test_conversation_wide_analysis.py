"""The questions about the whole talk: planted skill is found, near zero is said, and base rates are counted."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import cell_of, covers, level, made, older, table_of

from attunebench.analyses.table import NOT_ESTIMABLE
from attunebench.constants import FOLLOW_UP_OPTIONS, Q3_NEGATIVE, Q3_OPTIONS
from attunebench.reports import build_report
from attunebench.scores import Scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable


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
def planted() -> ScoreTable:
    return score_table(scores())


def test_the_interval_covers_the_planted_chance() -> None:
    table = table_of(made("conversation-wide", planted()), "questions")
    assert covers(cell_of(table, "good", "q2_clarity"), 0.9)
    assert 0.0 == cell_of(table, "blind", "q2_clarity").value


def test_a_model_without_any_follow_up_is_named_as_near_zero() -> None:
    analysis = made("conversation-wide", planted())
    assert "near zero: blind 0.000" in analysis.shows
    assert NOT_ESTIMABLE == cell_of(table_of(analysis, "questions"), "blind", "q3_follow_up").mark


def test_who_is_above_blind_guessing_is_counted() -> None:
    assert "On Q2 clarity 1 of 2 models" in made("conversation-wide", planted()).shows


def test_blind_choices_are_not_called_better_than_chance() -> None:
    """A model that is right with a chance of 1/4 on each of Q2 and Q3."""
    blind = planted_scores(dict.fromkeys("abcd", Skill(wide=0.25)), Plan(conversations=24, turns=3, seed=21))
    shows = made("conversation-wide", score_table(blind)).shows
    assert "On Q2 clarity 0 of 4 models" in shows
    assert "On Q3 fit 0 of 4 models" in shows


def half_felt_off(conversation: dict[str, Any], index: int) -> dict[str, Any]:
    """Something felt off in every second conversation."""
    wide = conversation["conversationWideQuestions"]
    off = index % 2 == 0
    wide["q3_modelFit"] = Q3_NEGATIVE[0] if off else Q3_OPTIONS[0]
    wide["q3_followUp_whatFeltOff"] = [FOLLOW_UP_OPTIONS[0]] if off else []
    return conversation


@cache
def silent() -> ScoreTable:
    """A model that never names anything is right wherever nothing felt off, and wrong wherever something did."""
    plan = Plan(conversations=48, turns=3, seed=8, shape=half_felt_off)
    made_scores: Any = planted_scores({"good": Skill(wide=0.9), "silent": Skill(wide=0.0)}, plan)
    for entry in made_scores["conversations"]:
        asked = entry["metrics"]["q3_follow_up_asked"] is not None
        if entry["em_model"] == "silent":
            entry["metrics"] |= {"q3_follow_up": 0.0 if asked else 1.0, "q3_follow_up_asked": 0.0 if asked else None}
    return score_table(made_scores)


def test_near_zero_is_judged_where_something_felt_off_and_not_by_the_canonical_value() -> None:
    analysis = made("conversation-wide", silent())
    table = table_of(analysis, "questions")
    assert 0.5 == cell_of(table, "silent", "q3_follow_up").value
    assert (0.0, 24) == (
        cell_of(table, "silent", "q3_follow_up_asked").value,
        cell_of(table, "silent", "q3_follow_up_asked").n,
    )
    assert "near zero: silent 0.000" in analysis.shows
    assert table.chart is not None
    assert {"q3_follow_up", "q3_follow_up_asked"} <= set(table.chart.values)


def test_too_few_that_felt_something_off_support_no_claim() -> None:
    study = silent()
    shows = made("conversation-wide", study.with_conversations(study.ids[:24])).shows
    assert "in 12 conversations" in shows
    assert "near zero" not in shows


def test_the_default_report_has_the_follow_up_where_it_was_asked_beside_the_canonical_one() -> None:
    section = next(s for s in build_report(scores()).sections if s.title == "Conversation-wide")
    ids = [row.id for row in section.rows]
    assert ids.index("q3_follow_up_asked") == ids.index("q3_follow_up") + 1


def test_nobody_is_near_zero_where_the_follow_up_is_named() -> None:
    good = [group for group in planted().groups if group.model == "good"]
    shows = made("conversation-wide", planted().with_groups(good)).shows
    assert "near zero: no model" in shows


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
    analysis = made("conversation-wide", score_table(older(scores())))
    assert ["questions"] == [table.id for table in analysis.tables]
