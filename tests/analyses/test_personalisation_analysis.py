"""Personalisation: a planted gain over the base rate is found, and a model that guesses gains nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import QUICK, cell_of, covers, made, older, table_of

from attunebench.analyses.personalisation import base_right
from attunebench.analyses.sampling import claimed
from attunebench.analyses.within import View
from attunebench.scores import Scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

SETTINGS = replace(QUICK, resamples=500)


@cache
def scores() -> Scores:
    """One model reads the person, one answers at random."""
    skills = {"reader": Skill(om=0.95, hp=0.95, pairwise=0.9), "guesser": Skill(om=0.5, hp=0.5, pairwise=0.5)}
    return planted_scores(skills, Plan(conversations=30, turns=3, seed=17))


@cache
def study() -> ScoreTable:
    return score_table(scores())


def base(metric_id: str) -> float:
    return float(next(r for r in study().references if r.id == "base-rate").values[metric_id].mean())


@pytest.mark.parametrize(("metric_id", "planted"), [("binary_om_accuracy", 0.95), ("pairwise_accuracy", 0.9)])
def test_the_interval_covers_the_planted_gain(metric_id: str, planted: float) -> None:
    """The planted chance over what the base rate is known to score."""
    cell = cell_of(table_of(made("personalisation", study(), SETTINGS), "gain"), "reader", metric_id)
    assert covers(cell, planted - base(metric_id))
    assert cell.p_corrected is not None
    assert cell.p_corrected <= 0.05


def test_the_gain_is_the_plain_paired_difference() -> None:
    values = study().values("binary_hp_accuracy")[:, [g.model for g in study().groups].index("reader")]
    cell = cell_of(table_of(made("personalisation", study(), SETTINGS), "gain"), "reader", "binary_hp_accuracy")
    assert pytest.approx(float(values.mean()) - base("binary_hp_accuracy")) == cell.value


def test_a_guess_is_told_from_the_base_rate_only_where_labels_are_uneven() -> None:
    """Half of what replies did here is yes, so that guessing is the base rate; preferences lean one way."""
    table = table_of(made("personalisation", study(), SETTINGS), "gain")
    assert pytest.approx(0.5, abs=0.02) == base("binary_om_accuracy")
    even, uneven = (cell_of(table, "guesser", m) for m in ("binary_om_accuracy", "binary_hp_accuracy"))
    assert even.p_corrected is not None
    assert 0.05 < even.p_corrected
    assert covers(uneven, 0.5 - base("binary_hp_accuracy"))


def test_the_sentence_counts_who_is_above_and_below() -> None:
    assert "Binary HP: 1 above, 1 below of 2" in made("personalisation", study(), SETTINGS).shows


def test_skill_is_the_gain_over_the_room_that_is_left() -> None:
    values = study().values("binary_hp_accuracy")[:, [g.model for g in study().groups].index("reader")]
    expected = (float(values.mean()) - base("binary_hp_accuracy")) / (1 - base("binary_hp_accuracy"))
    table = table_of(made("personalisation", study(), SETTINGS), "skill")
    assert "reader" == cell_of(table, "Binary HP", "who").value
    assert pytest.approx(expected) == cell_of(table, "Binary HP", "best").value


def test_a_base_rate_below_guessing_is_no_number_to_be_above_of() -> None:
    assert base("binary_om_accuracy") < 0.5
    analysis = made("personalisation", study(), SETTINGS)
    assert cell_of(table_of(analysis, "skill"), "Binary OM", "base").value is None
    assert any("Binary OM" in warning and "below chance" in warning for warning in analysis.warnings)


def test_the_base_rate_of_a_question_leaves_its_own_conversation_out() -> None:
    some = study()
    truth, rows = some.truth_binary("observed"), some.clusters_of_turns()
    sums = np.stack([np.nansum(2 * truth[rows != c] - 1, axis=0) for c in range(len(some.ids))])
    question = int(np.flatnonzero((np.sign(sums) == np.sign(sums[0])).all(axis=0) & (sums[0] != 0))[0])
    shares = []
    for conversation in range(len(some.ids)):
        mine = [v for v, row in zip(truth[:, question], rows, strict=True) if row == conversation and not np.isnan(v)]
        others = [v for v, row in zip(truth[:, question], rows, strict=True) if row != conversation and not np.isnan(v)]
        if mine:
            lean = sum(others) / len(others)
            guess = 1.0 if lean > 0.5 else 0.0 if lean < 0.5 else 0.5
            shares.append(sum(0.5 if guess == 0.5 else float(v == guess) for v in mine) / len(mine))
    table = table_of(made("personalisation", some, SETTINGS), "questions_binary_om")
    assert pytest.approx(sum(shares) / len(shares)) == cell_of(table, some.questions[question], "base").value


def test_the_gain_on_every_question_is_planted() -> None:
    reader = study().with_groups([group for group in study().groups if group.model == "reader"])
    table = table_of(made("personalisation", reader, SETTINGS), "questions_binary_hp")
    gains = [row[-1].value for row in table.rows]
    assert sorted(gains, key=lambda gain: -float(gain or 0)) == gains
    assert all(isinstance(gain, float) and gain > 0 for gain in gains)


def test_few_conversations_make_no_claim() -> None:
    few = study().with_conversations(study().ids[:8])
    cells = [cell for table in made("personalisation", few, SETTINGS).tables for row in table.rows for cell in row]
    assert not any(claimed(cell, SETTINGS) for cell in cells)


def test_scores_without_a_base_rate_say_what_is_needed() -> None:
    assert "attune-bench score" in made("personalisation", score_table(older(scores()))).missing


def test_a_perfect_base_rate_leaves_no_skill() -> None:
    some = study()
    ceiling = [replace(r, values={**r.values, "q2_clarity": np.ones(len(some.ids))}) for r in some.references]
    table = table_of(made("personalisation", replace(some, references=tuple(ceiling)), SETTINGS), "skill")
    assert None is cell_of(table, "Q2 clarity", "best").value


def one_turn_each(conversations: int) -> View:
    """Conversations of one turn each, of which nothing else is known."""
    study: Any = SimpleNamespace(ids=range(conversations), clusters_of_turns=lambda: np.arange(conversations))
    return View(np.ones((1, 1)), None, np.arange(conversations), SETTINGS, study)


def test_nobody_beats_a_base_rate_that_its_own_labels_tipped() -> None:
    """On even answers leaving one out makes the others lean the wrong way: a guesser seemed better in 99 % of studies.

    A question whose majority one conversation decides counts half, in every conversation.
    """
    truth = np.array([[1.0], [0.0], [1.0], [0.0]])
    assert [0.5] * 4 == base_right(one_turn_each(4), truth)[:, 0].tolist()
    firm = np.array([[1.0], [1.0], [1.0], [1.0], [0.0]])
    assert [1.0, 1.0, 1.0, 1.0, 0.0] == base_right(one_turn_each(5), firm)[:, 0].tolist()


def test_nothing_is_claimed_over_a_base_rate_below_blind_guessing() -> None:
    some = study()
    low = [replace(r, values={**r.values, "q2_clarity": np.zeros(len(some.ids))}) for r in some.references]
    made_of = made("personalisation", replace(some, references=tuple(low)), SETTINGS)
    assert any("Q2 clarity" in warning for warning in made_of.warnings)
    assert "Q2 clarity" not in made_of.shows
