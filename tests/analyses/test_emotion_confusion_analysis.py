"""Confusion between emotions: a planted one is found against chance; counts are those of the matching of Emotion VA."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_studies import cell_of, level, made, table_of
from planted_within import changed, entries_of, people_study, turns_scores, turns_study

from attunebench.analyses import Analysis, Settings
from attunebench.analyses.sampling import claimed
from attunebench.analyses.tag_pairs import tag_pairs
from attunebench.constants import PANAS_ITEMS, PANAS_SIMILARITY
from attunebench.metrics.matching import best_matching, matched_total

NAME = "emotion-confusion"
SURE = Settings(resamples=500)


@cache
def analysis() -> Analysis:
    return made(NAME, people_study(relabelled=True), SURE)


def more_than_chance(analysis: Analysis) -> list[tuple[Any, Any]]:
    rows = table_of(analysis, "pairs").rows
    return [(row[0].value, row[1].value) for row in rows if claimed(row[-1], SURE) and float(row[-1].value or 0) > 0]


def test_the_planted_confusion_is_found_and_found_alone() -> None:
    """Labels say Afraid wherever the answers were made of Scared."""
    assert [("Afraid", "Scared")] == more_than_chance(analysis())
    assert 0.0 < (cell_of(table_of(analysis(), "pairs"), ("Afraid", "Scared"), "excess").low or 0)
    assert 0.05 > float(cell_of(table_of(analysis(), "items"), "Afraid", "recall").value or 0)


def test_no_confusion_is_claimed_where_none_was_planted() -> None:
    for study in (people_study(), level()):
        assert [] == more_than_chance(made(NAME, study, SURE))


def test_what_was_felt_is_found_taken_or_missed_without_a_rest() -> None:
    for row in table_of(analysis(), "items").rows:
        if row[2].value:
            assert pytest.approx(1.0) == sum(float(cell.value or 0) for cell in row[4:7])
    for row in table_of(analysis(), "matrix").rows:
        if row[2].value:
            assert pytest.approx(1.0) == sum(float(cell.value or 0) for cell in row[3:])


def test_precision_recall_and_f1_are_those_of_plain_sets() -> None:
    felt = named = both = 0
    for entry, truth in entries_of(turns_scores(), "blind"):
        for turn, told in zip(entry["turns"], truth["turns"], strict=True):
            here, there = "Upset" in told["tags"], "Upset" in turn["answers"]["tags"]
            felt, named, both = felt + here, named + there, both + (here and there)
    made_of = made(NAME, turns_study())
    row = ("Upset", "blind")
    assert pytest.approx(both / felt) == cell_of(table_of(made_of, "by-model"), row, "recall").value
    assert pytest.approx(both / named) == cell_of(table_of(made_of, "by-model"), row, "precision").value
    assert (felt, named) == tuple(cell_of(table_of(made_of, "by-model"), row, c).value for c in ("felt", "predicted"))
    assert pytest.approx(2 * both / (felt + named)) == cell_of(table_of(made_of, "f1"), "Upset", "model_blind").value


def test_matched_similarity_is_that_of_emotion_va() -> None:
    """Summed over a turn's pairs and divided by the larger side, the matching gives the metric back."""
    scores: Any = turns_scores()
    entry, truth = entries_of(scores, "blind")[0]
    for turn, told in zip(entry["turns"], truth["turns"], strict=True):
        tags, predicted = list(told["tags"]), list(turn["answers"]["tags"])
        if tags and predicted:
            table = [[PANAS_SIMILARITY[a][b] for b in predicted] for a in tags]
            total = sum(table[row][column] for row, column in best_matching(table))
            assert pytest.approx(turn["metrics"]["emotion_va"]) == total / max(len(tags), len(predicted))


TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(st.floats(0, 1), min_size=width, max_size=width), min_size=1, max_size=4)
)


@given(TABLES)
def test_the_pairs_of_the_best_matching_add_up_to_its_total(table: list[list[float]]) -> None:
    pairs = best_matching(table)
    assert pytest.approx(matched_total(table)) == sum(table[row][column] for row, column in pairs)
    assert min(len(table), len(table[0])) == len(pairs) == len({c for _, c in pairs}) == len({r for r, _ in pairs})


@given(st.lists(st.sampled_from(PANAS_ITEMS), unique=True), st.lists(st.sampled_from(PANAS_ITEMS), unique=True))
def test_equal_names_are_matched_with_each_other(felt: list[str], named: list[str]) -> None:
    from attunebench.analyses.tag_pairs import _matching, _places

    pairs = _matching(_places(felt), _places(named))
    assert {PANAS_ITEMS.index(name) for name in set(felt) & set(named)} <= {i for i, j in pairs if i == j}


def test_unanswered_turns_are_left_out_and_counted() -> None:
    def silent(scores: Any) -> None:
        scores["conversations"][0]["turns"][0]["answers"]["tags"] = None

    study = changed(turns_scores(), silent)
    pairs = tag_pairs(study, SURE.rng("any"))
    assert 1 == pairs.unanswered
    assert "unanswered" in made(NAME, study).notes[0]
    assert "unanswered" not in made(NAME, turns_study()).notes[0]
