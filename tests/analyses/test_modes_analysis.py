"""Modes: a planted change of one model is found and named, and nothing where modes change nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import QUICK, cell_of, covers, level, made, ranked, table_of

from attunebench.analyses.sampling import claimed
from attunebench.scores.loading import score_table

DIFFERENCES, RANKS = "verbose_minus_default", "verbose_ranks"


def test_the_interval_covers_the_planted_change_and_the_sentence_names_it() -> None:
    analysis = made("modes", ranked(), replace(QUICK, resamples=2000))
    assert () == analysis.warnings
    assert covers(cell_of(table_of(analysis, DIFFERENCES), "omega", "pairwise_accuracy"), 0.2)
    assert "omega on Pairwise" in analysis.shows


@pytest.mark.parametrize("model", ["alpha", "beta"])
def test_a_model_that_answers_alike_in_both_modes_has_no_change(model: str) -> None:
    cell = cell_of(table_of(made("modes", ranked()), DIFFERENCES), model, "pairwise_accuracy")
    assert covers(cell, 0.0)
    assert cell.p_corrected is not None
    assert 0.05 < cell.p_corrected


def test_nothing_is_claimed_where_nothing_was_planted() -> None:
    analysis = made("modes", level())
    cells = [cell for table in analysis.tables for row in table.rows for cell in row]
    assert not [cell for cell in cells if claimed(cell, QUICK)]


def test_a_difference_is_paired_over_the_conversations_of_both_modes() -> None:
    study = ranked()
    default, verbose = study.of_mode("default"), study.of_mode("verbose")
    place = [g.model for g in default.groups].index("omega"), [g.model for g in verbose.groups].index("omega")
    pairs = zip(default.values("composite")[:, place[0]], verbose.values("composite")[:, place[1]], strict=True)
    gaps = [after - before for before, after in pairs]
    cell = cell_of(table_of(made("modes", study), DIFFERENCES), "omega", "composite")
    assert pytest.approx(sum(gaps) / len(gaps)) == cell.value
    assert len(gaps) == cell.n


def test_models_of_one_mode_alone_are_left_out() -> None:
    rows = table_of(made("modes", ranked()), DIFFERENCES).rows
    assert ["alpha", "beta", "omega"] == [row[0].value for row in rows]


@pytest.mark.parametrize("mode", ["default", "verbose"])
def test_one_mode_has_nothing_to_compare_with(mode: str) -> None:
    assert mode in made("modes", ranked().of_mode(mode)).missing


def test_a_planted_fall_of_ranks_is_named_and_small_coverage_makes_no_claim() -> None:
    def skill(pairwise: float) -> Skill:
        return Skill(pairwise=pairwise)

    models = {
        "first": {"default": skill(0.9), "omniscient": skill(0.4)},
        "second": {"default": skill(0.75), "omniscient": skill(0.75)},
        "third": {"default": skill(0.6), "omniscient": skill(0.6)},
    }
    study = score_table(planted_scores(models, Plan(conversations=40, turns=3, seed=9)))
    settings = replace(QUICK, metrics=("pairwise_accuracy",))
    analysis = made("modes", study, settings)
    assert "first on Pairwise -2" in analysis.shows
    shift = cell_of(table_of(analysis, "omniscient_ranks"), "first", "pairwise_accuracy_shift")
    assert (-2.0, 40, True) == (shift.value, shift.n, claimed(shift, settings))
    few = made("modes", study.with_conversations(study.ids[:12]), settings)
    assert cell_of(table_of(few, "omniscient_minus_default"), "first", "pairwise_accuracy").small


def test_all_differences_of_a_mode_are_one_family() -> None:
    table = table_of(made("modes", level()), DIFFERENCES)
    cells = [cell for row in table.rows for cell in row[2:] if cell.p is not None and cell.p_corrected is not None]
    least = min(cells, key=lambda cell: cell.p or 0.0)
    assert least.p is not None
    assert least.p_corrected is not None
    assert min(1.0, least.p * len(cells)) == pytest.approx(least.p_corrected)


def test_participants_that_no_test_can_come_out_of_are_warned_of() -> None:
    study = ranked()
    assert () == made("modes", study).warnings
    # Ten conversations of ten people: p is at least 1/512, times 45 tests.
    few = made("modes", study.with_conversations(study.ids[:10]), replace(QUICK, by_participant=True))
    assert any("smallest possible p is 0.00195" in one for one in few.warnings)
