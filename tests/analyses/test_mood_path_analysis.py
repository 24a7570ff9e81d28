"""The mood path: affect is counted as defined; a planted deficit after misreads is found, none by counting alone."""

from __future__ import annotations

import itertools
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_studies import cell_of, covers, level, made, table_of
from planted_within import DEFICIT, changed, turns_scores, turns_study

from attunebench.analyses import Analysis, Settings
from attunebench.analyses.mood_path import after_means
from attunebench.analyses.sampling import claimed
from attunebench.analyses.within import View
from attunebench.constants import PANAS_POSITIVE

NAME = "mood-path"
SURE = Settings(resamples=500)


@cache
def analysis() -> Analysis:
    return made(NAME, turns_study(), SURE)


def after(misread: list[float], values: list[float]) -> list[float]:
    """Of one conversation: the mean after a misread, corrected, and after a hit."""
    study: Any = SimpleNamespace(ids=range(1), clusters_of_turns=lambda: np.zeros(len(values), dtype=np.intp))
    sides = (np.array(side, dtype=np.float64)[:, None] for side in (misread, values))
    view = View(np.ones((1, 1)), None, np.zeros(1, dtype=np.intp), SURE, study)
    return list(map(float, after_means(view, *sides)[0, 0]))


def test_the_planted_deficit_after_a_misread_is_found_with_its_size() -> None:
    table = table_of(analysis(), "recovery")
    cell = cell_of(table, ("Binary HP", "stumbling"), "difference")
    assert covers(cell, -DEFICIT)
    assert claimed(cell, SURE)
    assert claimed(cell_of(table, ("Binary HP", "all models"), "difference"), SURE)
    assert covers(cell_of(table, ("Binary HP", "stumbling"), "beyond"), -DEFICIT)


def test_models_without_a_deficit_show_none() -> None:
    table = table_of(analysis(), "recovery")
    for outcome in ("Binary OM", "Pairwise", "Emotion VA"):
        assert 0.05 < (cell_of(table, (outcome, "stumbling"), "difference").p_corrected or 0)
    rows = table_of(made(NAME, level(), SURE), "recovery").rows
    assert not any(claimed(cell, SURE) for row in rows for cell in row)


VALUES = st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=3, max_size=5)


@given(VALUES)
def test_over_all_orders_of_the_turns_counting_alone_makes_no_difference(turns: list[tuple[bool, float]]) -> None:
    differences = []
    for order in itertools.permutations(turns):
        misread, hit = after([float(missed) for missed, _ in order], [value for _, value in order])
        if misread == misread:
            differences.append(misread - hit)
    assert not differences or pytest.approx(0, abs=1e-9) == sum(differences) / len(differences)


def test_without_the_correction_the_same_orders_would_show_one() -> None:
    """Misread turns have the low values: what follows a misread is then higher on average, by (1 − 0)/(5 − 1)."""
    turns = [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]
    plain = []
    for order in itertools.permutations(turns):
        next_to = {missed: [v for (m, _), (_, v) in itertools.pairwise(order) if m == missed] for missed in (0.0, 1.0)}
        plain.append(sum(next_to[1.0]) / len(next_to[1.0]) - sum(next_to[0.0]) / len(next_to[0.0]))
    assert pytest.approx(1 / 4) == sum(plain) / len(plain)


def test_a_gap_is_followed_by_nothing() -> None:
    assert pytest.approx([0.5, 0.25]) == after([1.0, np.nan, 0.0, 0.0], [np.nan, 0.5, np.nan, 0.25])
    assert np.isnan(after([1.0, np.nan, 0.0], [0.1, 0.2, 0.3])).all()


def test_an_unanswered_turn_is_no_misread() -> None:
    def silent(scores: Any) -> None:
        for entry in scores["conversations"]:
            for turn in entry["turns"][::2]:
                turn["answers"]["tags"] = None
                turn["metrics"]["emotion_f1"] = 0.0
            for turn in entry["turns"][1::2]:
                turn["metrics"]["emotion_f1"] = 1.0

    made_of = made(NAME, changed(turns_scores(), silent))
    table = table_of(made_of, "recovery")
    assert 0.0 == cell_of(table, ("Binary HP", "blind"), "misread").value


def test_affect_is_the_summed_intensity_of_each_side() -> None:
    early = [turn["tags"] for truth in turns_scores()["ground_truth"] for turn in truth["turns"][:2]]
    sums = [sum(v or 4 for name, v in (tags or {}).items() if name in PANAS_POSITIVE) for tags in early]
    assert (
        pytest.approx(sum(sums) / len(sums))
        == cell_of(table_of(analysis(), "positive-affect"), "person", "early").value
    )


def test_following_is_pearsons_correlation_of_changes() -> None:
    scores = turns_scores()
    felt, read = [], []
    for entry in scores["conversations"]:
        if entry["em_model"] != "blind":
            continue
        truth = next(t for t in scores["ground_truth"] if t["conversationId"] == entry["conversationId"])
        for changes, tags in (
            (felt, [turn["tags"] for turn in truth["turns"]]),
            (read, [turn["answers"]["tags"] for turn in entry["turns"]]),
        ):
            path = [sum(v or 4 for name, v in (t or {}).items() if name not in PANAS_POSITIVE) for t in tags]
            changes += [after - before for before, after in itertools.pairwise(path)]
    cell = cell_of(table_of(analysis(), "following"), "blind", "r_negative")
    assert pytest.approx(np.corrcoef(felt, read)[0, 1]) == cell.value


def test_a_model_that_says_what_was_felt_follows_fully_without_bias() -> None:
    def oracle(scores: Any) -> None:
        tags = {
            (t["conversationId"], turn["turnNumber"]): turn["tags"]
            for t in scores["ground_truth"]
            for turn in t["turns"]
        }
        for entry in scores["conversations"]:
            for turn in entry["turns"]:
                turn["answers"]["tags"] = tags[entry["conversationId"], turn["turnNumber"]]

    table = table_of(made(NAME, changed(turns_scores(), oracle)), "following")
    assert pytest.approx(1.0) == cell_of(table, "tiring", "r_positive").value
    assert 0.0 == cell_of(table, "tiring", "bias_negative").value
