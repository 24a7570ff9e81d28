"""People who answered like models: planted skill is found, their own talks are marked, and few talks make no claim."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import QUICK, cell_of, covers, made, ranked, table_of

from attunebench.analyses.human_answers import RETEST
from attunebench.scores import Scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

NAMES = ("human/ann", "human/person-0", "one", "two", "three")


@cache
def scores() -> Scores:
    """Ann reads people much better than three models do; person-0 as the models, and 6 of the talks are their own."""
    models = dict.fromkeys(NAMES, Skill(pairwise=0.6)) | {"human/ann": Skill(pairwise=0.95)}
    return planted_scores(models, Plan(conversations=24, turns=3, people=4, seed=11))


@cache
def study(conversations: int = 24) -> ScoreTable:
    whole = score_table(scores())
    return whole.with_conversations(whole.ids[:conversations])


def test_the_planted_reader_of_people_is_found_and_named() -> None:
    analysis = made("human-answers", study())
    table = table_of(analysis, "people")
    assert covers(cell_of(table, ("ann", "Pairwise"), "person"), 0.95)
    assert covers(cell_of(table, ("ann", "Pairwise"), "minus_average"), 0.35)
    assert "ann is higher" in analysis.shows


def test_a_person_who_answers_like_a_model_is_not_told_from_the_average() -> None:
    cell = cell_of(table_of(made("human-answers", study()), "people"), ("person-0", "Pairwise"), "minus_average")
    assert covers(cell, 0.0)
    assert cell.p_corrected is not None
    assert 0.05 < cell.p_corrected


def test_the_best_model_is_the_highest_of_each_conversation() -> None:
    models = study().models()
    expected = np.nanmax(models.values("pairwise_accuracy"), axis=1).mean()
    table = table_of(made("human-answers", study()), "people")
    assert pytest.approx(expected) == cell_of(table, ("ann", "Pairwise"), "best").value


def test_who_answers_about_their_own_talk_is_marked_as_a_retest() -> None:
    analysis = made("human-answers", study())
    assert f"{RETEST} in 6" == cell_of(table_of(analysis, "people"), "person-0", "annotator").mark
    assert "" == cell_of(table_of(analysis, "people"), "ann", "annotator").mark
    rows = table_of(analysis, "conversations_pairwise_accuracy").rows
    own = [row for row in rows if row[1].mark == RETEST]
    assert 6 == len(own)
    assert {"person-0"} == {row[1].value for row in own}


def test_settings_can_say_that_answers_are_a_retest() -> None:
    stated: Any = copy.deepcopy(scores())
    for entry in stated["metadata"]["settings"]:
        if entry["em_model"] == "ann":
            entry["variants"][0]["parameters"] = {"retest": True}
    table = table_of(made("human-answers", score_table(stated)), "people")
    assert RETEST == cell_of(table, "ann", "annotator").mark


def test_each_conversation_is_listed_with_the_model_that_is_best_there() -> None:
    rows = table_of(made("human-answers", study()), "conversations_pairwise_accuracy").rows
    assert 48 == len(rows)
    row = next(r for r in rows if r[1].value == "ann")
    values = study().models()
    place = values.ids.index(str(row[0].value))
    ours = values.values("pairwise_accuracy")[place]
    assert pytest.approx(ours.max()) == row[3].value
    assert row[0].drill is not None
    assert (str(row[0].value),) == row[0].drill.conversations


def test_seven_conversations_make_no_claim() -> None:
    analysis = made("human-answers", study(7))
    assert "is higher" not in analysis.shows
    assert cell_of(table_of(analysis, "people"), ("ann", "Pairwise"), "minus_best").small


def test_people_without_models_are_shown_alone() -> None:
    whole = study()
    alone = whole.with_groups([group for group in whole.groups if group.kind == "human"])
    table = table_of(made("human-answers", alone), "people")
    assert None is cell_of(table, ("ann", "Pairwise"), "best").value


def test_people_without_a_mode_of_models_are_found() -> None:
    elsewhere: Any = copy.deepcopy(scores())
    for key in ("conversations", "aggregates"):
        for entry in elsewhere[key]:
            if entry["provider"] == "human":
                entry["mode"] = "by hand"
    assert 2 * 5 == len(table_of(made("human-answers", score_table(elsewhere)), "people").rows)


def test_without_people_it_says_what_is_needed() -> None:
    assert "`human`" in made("human-answers", ranked(), QUICK).missing
