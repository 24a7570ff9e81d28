"""Independence of skills: skills planted together are called related, skills planted apart are not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import QUICK, cell_of, made, ranked, table_of
from scipy import stats

from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

STEPS = (0, 1, 2, 3, 4, 5, 6, 7)
SHUFFLED = (5, 2, 7, 0, 3, 6, 1, 4)
"""Ranks whose correlation with 0 … 7 is close to 0."""
PAIRS = "capabilities"


def study(behaviour: tuple[int, ...], preference: tuple[int, ...]) -> ScoreTable:
    """Eight models whose Binary OM and Pairwise rise by these steps."""
    models = {
        f"m{i}": Skill(om=0.6 + 0.05 * om, pairwise=0.45 + 0.07 * better, judge=0.5)
        for i, (om, better) in enumerate(zip(behaviour, preference, strict=True))
    }
    return score_table(planted_scores(models, Plan(conversations=24, turns=3, people=20, seed=3)))


@cache
def together() -> ScoreTable:
    return study(STEPS, STEPS)


@cache
def apart() -> ScoreTable:
    return study(STEPS, SHUFFLED)


def test_skills_planted_together_are_called_related() -> None:
    analysis = made("independence", together())
    assert "related" == cell_of(table_of(analysis, PAIRS), ("behaviour", "preference"), "verdict").value


def test_skills_planted_apart_are_never_called_related() -> None:
    analysis = made("independence", apart())
    verdicts = {
        (r[0].value, r[1].value): r[4].value
        for r in table_of(analysis, PAIRS).rows
        if "preference" in (r[0].value, r[1].value)
    }
    assert "related" not in verdicts.values()


def test_a_planted_correlation_is_estimated_as_scipy_does() -> None:
    values = apart()
    means = [values.values(metric).mean(axis=0) for metric in ("binary_om_accuracy", "pairwise_accuracy")]
    rho = cell_of(table_of(made("independence", values), PAIRS), ("behaviour", "preference"), "rho")
    assert pytest.approx(stats.spearmanr(*means).statistic) == rho.value


def test_recognition_is_the_mean_of_both_emotion_metrics() -> None:
    values = apart()
    f1, va = values.values("emotion_f1"), values.values("emotion_va")
    expected = stats.spearmanr(((f1 + va) / 2).mean(axis=0), values.values("binary_om_accuracy").mean(axis=0)).statistic
    table = table_of(made("independence", values), PAIRS)
    assert pytest.approx(expected) == cell_of(table, ("recognition", "behaviour"), "rho").value


def test_a_reproducible_ranking_is_told_from_noise() -> None:
    table = table_of(made("independence", apart()), "reliability")
    strong, noise = (cell_of(table, name, "reliability").value for name in ("behaviour", "quality"))
    assert isinstance(strong, float)
    assert isinstance(noise, float)
    assert 0.95 < strong
    assert noise < 0.8


def test_noise_is_taken_out_of_a_correlation_by_its_reliabilities() -> None:
    for row in table_of(made("independence", apart()), PAIRS).rows:
        rho, a, b, corrected = (cell.value for cell in (row[3], row[5], row[6], row[7]))
        if all(isinstance(value, float) for value in (rho, a, b)) and a > 0 and b > 0:  # type: ignore[operator]
            expected = rho / np.sqrt(a * b)  # type: ignore[operator]
            assert pytest.approx(float(np.clip(expected, -1, 1))) == corrected


def test_the_threshold_and_the_number_of_models_are_printed() -> None:
    analysis = made("independence", apart(), replace(QUICK, threshold=0.3))
    assert "8 models" in analysis.shows
    assert any("0.3" in column.label for column in table_of(analysis, PAIRS).columns)


def test_binary_hp_stands_beside_preference_and_is_not_counted() -> None:
    analysis = made("independence", apart())
    names = {cell.value for row in table_of(analysis, PAIRS).rows for cell in row[:2]}
    assert {"recognition", "behaviour", "preference", "quality", "preference (HP)"} == names
    assert "6 pairs" in analysis.shows


def test_the_matrix_of_metrics_is_symmetric_with_ones_on_its_diagonal() -> None:
    table = table_of(made("independence", apart()), "metrics")
    matrix = [[cell.value for cell in row[1:]] for row in table.rows]
    assert len(matrix) == len(table.columns) - 1
    assert all(pytest.approx(1.0) == matrix[i][i] for i in range(len(matrix)))
    assert all(matrix[i][j] == pytest.approx(matrix[j][i]) for i in range(len(matrix)) for j in range(i))


def test_subgroups_that_are_small_are_shown_without_a_verdict() -> None:
    rows = table_of(made("independence", apart()), "subgroups").rows
    assert rows
    assert {"too few"} == {row[5].value for row in rows if isinstance(row[2].value, int) and row[2].value < 20}
    assert all(row[4].small for row in rows if isinstance(row[2].value, int) and row[2].value < 20)


def test_five_models_in_one_order_are_not_called_related() -> None:
    """One order in sixty is such by chance, and every resample of it is."""
    analysis = made("independence", ranked())
    assert "related" not in [row[4].value for row in table_of(analysis, PAIRS).rows if "behaviour" in (row[0].value,)]


def test_two_models_cannot_be_correlated() -> None:
    some = apart()
    assert made("independence", some.with_groups(some.groups[:2])).missing


def test_three_models_have_no_interval_and_no_verdict() -> None:
    some = apart()
    analysis = made("independence", some.with_groups(some.groups[:3]))
    assert {"too few"} == {row[4].value for row in table_of(analysis, PAIRS).rows}
    assert {None} == {row[3].low for row in table_of(analysis, PAIRS).rows}


def test_the_planted_orders_have_little_to_do_with_each_other() -> None:
    assert abs(stats.spearmanr(STEPS, SHUFFLED).statistic) < 0.2
