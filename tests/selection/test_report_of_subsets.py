"""A subset in a report: means are those of `score`, planted differences are found, what is small is not claimed."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from planted_studies import cell_of, covers, level, ranked_scores, table_of
from planted_within import TOPIC_LOSS, WORRY, changed, people_scores, people_study

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Analysis, Table
from attunebench.analyses.verdicts import legend
from attunebench.errors import UsageError
from attunebench.reports.analyses import FORMATS, render
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable
from attunebench.selection import EVERYTHING, choose, fields_of, parse_where
from attunebench.selection.report import FAMILIES, subset_report
from attunebench.selection.screen import on_screen

QUICK = Settings(resamples=300)
SURE = Settings(resamples=2000, metrics=("pairwise_accuracy",))


def reported(study: ScoreTable, where: str, settings: Settings = QUICK, **more: Any) -> tuple[Analysis, ...]:
    entries = [study.ground_truth[one] for one in study.ids]
    fields = fields_of(entries)
    condition = parse_where(where, fields) if where else EVERYTHING
    return subset_report(study, choose(fields, condition), settings, **more)


@cache
def worries() -> tuple[Analysis, ...]:
    return reported(people_study(), f"topic = {WORRY}", SURE, compare=True)


def beside(made: tuple[Analysis, ...], table: str = "beside-metrics") -> Table:
    return table_of(made[1], table)


# What the numbers are


def test_everything_chosen_gives_the_aggregates_of_the_scores() -> None:
    """Means, intervals and n: the same resamples as those of `score`."""
    scores = ranked_scores()
    settings = Settings(resamples=200)
    made = reported(score_table(scores), "", settings)
    assert [f"subset-{mode}" for mode in ("default", "verbose")] == [one.name for one in made[1:]]
    for aggregate in scores["aggregates"]:
        analysis = next(one for one in made if one.name == f"subset-{aggregate['mode']}")
        for family in FAMILIES:
            for metric_id in family.metrics:
                cell = cell_of(table_of(analysis, family.id), aggregate["em_model"], metric_id)
                known = aggregate["metrics"][metric_id]
                assert (known["mean"], known["n"]) == (pytest.approx(cell.value), cell.n)
                assert (known["ci_low"], known["ci_high"]) == (pytest.approx(cell.low), pytest.approx(cell.high))


@pytest.mark.slow
def test_n_and_participants_are_those_of_the_subset() -> None:
    (head, alone) = reported(people_study(), f"topic = {WORRY}")
    ids = {entry["conversationId"] for entry in people_scores()["ground_truth"] if entry["topics"] == [WORRY]}
    row = next(row for row in table_of(alone, "composite").rows if row[0].value == "calm")
    assert (len(ids), len(ids)) == (row[1].value, row[2].value)
    assert f"{len(ids)} of 66 scored conversations match" in head.shows


def test_the_base_rate_stands_beside_the_models_and_is_not_tested() -> None:
    row = next(row for row in beside(worries()).rows if row[0].mark == "reference")
    assert "Base rate" == row[0].value
    difference = cell_of(beside(worries()), "Base rate", "difference")
    assert difference.value is not None
    assert (None, None) == (difference.p, difference.p_corrected)
    calm = cell_of(beside(worries()), "calm", "difference")
    beyond = cell_of(beside(worries()), "calm", "beyond")
    assert pytest.approx(calm.value - difference.value) == beyond.value  # type: ignore[operator]


def test_a_value_that_is_missing_leaves_a_conversation_on_neither_side() -> None:
    def partly(scores: Any) -> None:
        for index, truth in enumerate(scores["ground_truth"]):
            truth["computed_scores"] = {} if index < 6 else {"who_5": index % 2 * 20}

    made = reported(changed(people_scores(), partly), "who_5 < 13", compare=True)
    assert [30, 30, 6] == [row[1].value for row in made[0].tables[0].rows]
    assert "who_5 in 6" in made[0].tables[0].caption
    composite = beside(made, "beside-composite")
    assert (30, 30) == (cell_of(composite, "calm", "subset").n, cell_of(composite, "calm", "rest").n)


# What is claimed


def test_a_planted_loss_is_found_with_its_size() -> None:
    for model, loss in (("calm", TOPIC_LOSS), ("even", TOPIC_LOSS), ("uneven", 2 * TOPIC_LOSS)):
        cell = cell_of(beside(worries()), model, "difference")
        assert covers(cell, -loss)
        assert "differs" == cell.mark
    assert "calm -" in worries()[1].shows


def test_a_model_that_loses_more_is_told_from_the_others() -> None:
    table = beside(worries(), "between-pairwise_accuracy")
    for model in ("calm", "even"):
        cell = cell_of(table, (model, "uneven"), "difference")
        assert covers(cell, TOPIC_LOSS)
        assert "differs" == cell.mark
    (equal,) = (row for row in table.rows if {row[0].value, row[1].value} == {"calm", "even"})
    assert "" == equal[4].mark
    assert "calm on uneven" in worries()[1].shows


def test_the_one_that_gains_comes_first_whichever_way_a_metric_runs() -> None:
    settings = replace(QUICK, metrics=("pairwise_accuracy", "emotion_intensity_mae"))
    made = reported(people_study(), f"topic = {WORRY}", settings, compare=True)
    for metric_id, sign in (("pairwise_accuracy", 1), ("emotion_intensity_mae", -1)):
        rows = beside(made, f"between-{metric_id}").rows
        assert all(sign * float(row[4].value or 0) >= 0 for row in rows)


def test_what_was_not_planted_is_not_claimed() -> None:
    settings = replace(SURE, metrics=("binary_om_accuracy", "binary_hp_accuracy"))
    made = reported(people_study(), f"topic = {WORRY}", settings, compare=True)
    assert {""} == {cell.mark for table in made[1].tables for row in table.rows for cell in row[1:]} - {"reference"}
    assert "Binary OM: None of the 3 differences" in made[1].shows


@pytest.mark.slow
def test_splits_at_random_are_claimed_no_more_often_than_promised() -> None:
    """12 splits of four equal models: a family of tests claims anything in about one of twenty."""
    study, rng = level(), np.random.default_rng(7)
    settings = replace(QUICK, mode="default", metrics=("pairwise_accuracy",), resamples=199, small=10)
    fields = fields_of(study.ground_truth[one] for one in study.ids)
    claims = 0
    for _ in range(12):
        chosen = choose(fields, EVERYTHING)
        order = rng.permutation(study.ids).tolist()
        split = replace(chosen, chosen=tuple(order[:15]), others=tuple(order[15:]))
        table = beside(subset_report(study, split, settings, compare=True))
        claims += any(cell.mark == "differs" for row in table.rows for cell in row)
    assert claims <= 2


def test_under_twenty_conversations_are_shown_and_neither_tested_nor_claimed() -> None:
    ids = [entry["conversationId"] for entry in people_scores()["ground_truth"] if entry["topics"] == [WORRY]][:19]
    where = f"conversation in ({', '.join(ids)})"
    made = reported(people_study(), where, replace(SURE, metrics=()), compare=True)
    for table in made[1].tables:
        cells = [cell for row in table.rows for cell in row if cell.value is not None]
        assert {None} == {cell.p for cell in cells}
        assert not any(cell.mark == "differs" for cell in cells)
    cell = cell_of(beside(made, "beside-composite"), "calm", "difference")
    assert cell.small
    assert cell.value is not None
    assert "Too few for a claim: 19 conversations in the subset and 47 in the rest" in made[1].shows
    assert "mde" not in [column.id for column in beside(made, "beside-composite").columns]


def test_a_single_participant_is_small_however_many_talks_there_are() -> None:
    def alone(scores: Any) -> None:
        for truth in scores["ground_truth"]:
            if truth["topics"] == [WORRY]:
                truth["participant_id"] = "the one"

    made = reported(changed(people_scores(), alone), f"topic = {WORRY}", SURE, compare=True)
    cell = cell_of(beside(made), "uneven", "difference")
    assert (True, None) == (cell.small, cell.p)
    assert "Too few for a claim" in made[1].shows


def test_people_on_both_sides_move_as_a_whole() -> None:
    """Tests on 22 people with three talks each differ from those on 66 people, while the difference is the same."""

    def shared(scores: Any) -> None:
        for index, truth in enumerate(scores["ground_truth"]):
            truth["participant_id"] = f"p{index // 3}"

    made = reported(changed(people_scores(), shared), f"topic = {WORRY}", SURE, compare=True)
    assert "22 participants have conversations on both sides" in made[0].tables[0].caption
    both, single = (cell_of(beside(one), "calm", "difference") for one in (made, worries()))
    assert both.value == pytest.approx(single.value)
    assert both.low != single.low


def test_a_report_says_by_which_expression_it_can_be_made_again() -> None:
    made = reported(people_study(), f"topic = {WORRY} and turns >= 1")
    assert made == reported(people_study(), shlex.split(made[0].notes[0])[-1])


def test_a_report_says_how_the_fields_are_read_that_it_was_chosen_by() -> None:
    def screened(scores: Any) -> None:
        for index, truth in enumerate(scores["ground_truth"]):
            truth["computed_scores"] = {"asrs_6": index % 7}

    study = changed(people_scores(), screened)
    assert any("a count of 0–6" in note for note in reported(study, "asrs_6 >= 4")[0].notes)
    assert any(
        "screen-positive (4 and above of 6)" in n for n in reported(study, "asrs_6_band = screen-positive")[0].notes
    )


def test_a_long_description_is_cut_in_the_title_and_whole_in_the_notes() -> None:
    ids = people_study().ids[:30]
    head = reported(people_study(), f"conversation in ({', '.join(ids)})")[0]
    assert len(head.title) < 220
    assert all(one in head.notes[0] for one in ids)


# What cannot be made


def test_a_subset_without_a_rest_is_reported_alone() -> None:
    made = reported(people_study(), "turns >= 1", SURE, compare=True)
    assert ["metrics"] == [table.id for table in made[1].tables]


def test_one_conversation_has_means_without_intervals() -> None:
    one = people_scores()["ground_truth"][0]["conversationId"]
    made = reported(people_study(), f"conversation = {one}")
    cell = cell_of(table_of(made[1], "composite"), "calm", "composite")
    assert (1, None, None, True) == (cell.n, cell.low, cell.high, cell.small)
    assert "1 of 66 scored conversations matches, of 1 participant; 65 do not." == made[0].shows


def test_one_model_has_no_difference_in_differences() -> None:
    study = people_study()
    single = study.with_groups([group for group in study.groups if group.label == "calm"])
    made = reported(single, f"topic = {WORRY}", SURE, compare=True)
    assert ["beside-metrics"] == [table.id for table in made[1].tables]


def test_a_mode_that_has_none_of_the_subset_says_so() -> None:
    study = score_table(ranked_scores())
    gone = {key: found for key, found in study.entries.items() if key[0][2] == "default" or key[1] != study.ids[0]}
    made = reported(replace(study, entries=gone), f"conversation = {study.ids[0]}", QUICK)
    assert "no conversation of the subset was scored in mode verbose." == made[2].missing


def test_unknown_metrics_and_modes_are_refused() -> None:
    with pytest.raises(UsageError, match="There is no metric 'nothing'"):
        reported(people_study(), "", replace(QUICK, metrics=("nothing",)))
    with pytest.raises(UsageError, match="Nothing was scored in mode 'loud'"):
        reported(people_study(), "", replace(QUICK, mode="loud"))


def test_metrics_in_points_and_in_shares_stand_in_tables_of_their_own() -> None:
    made = reported(people_study(), "", replace(QUICK, metrics=("pairwise_accuracy", "composite", "q1_goals")))
    tables = {table.id: [column.id for column in table.columns[3:]] for table in made[1].tables}
    assert {"points": ["composite"], "metrics": ["pairwise_accuracy", "q1_goals"]} == tables


def test_a_correction_that_does_not_exist_here_is_replaced_and_said() -> None:
    made = reported(people_study(), f"topic = {WORRY}", replace(SURE, correction="maxt"), compare=True)
    assert any("Max-T" in note for note in made[1].notes)
    assert "Holm" in beside(made).caption


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_the_same_scores_give_the_same_text(format: str) -> None:
    texts = {render(reported(people_study(), "turns >= 1 and diagnosis is known", QUICK), format) for _ in range(2)}
    assert 1 == len(texts)


def test_on_a_screen_n_is_left_out_where_it_is_that_of_the_whole_side_alone() -> None:
    def without(scores: Any) -> None:
        for one in scores["conversations"]:
            if one["conversationId"] == scores["conversations"][0]["conversationId"]:
                one["metrics"]["pairwise_accuracy"] = None
        scores["references"] = []

    made = reported(changed(people_scores(), without), f"topic = {WORRY}", SURE, compare=True)
    full, shown = made[1].tables[0], on_screen(made)[1].tables[0]
    sizes = [row[1].value for row in made[0].tables[0].rows]
    for at, size in ((1, sizes[0]), (2, sizes[1])):
        assert [n for row in full.rows if (n := row[at].n) != size] == [row[at].n for row in shown.rows if row[at].n]
    assert any(row[at].n for row in shown.rows for at in (1, 2))


def test_on_a_screen_the_marks_of_the_table_that_is_shown_are_explained() -> None:
    def alike(scores: Any) -> None:
        for one in scores["conversations"]:
            one["metrics"]["q2_clarity"] = 1.0

    settings = replace(SURE, metrics=("q2_clarity",))
    made = reported(changed(people_scores(), alike), f"topic = {WORRY}", settings, compare=True)
    shown = on_screen(made)[1]
    assert legend(shown.tables)
    assert set(legend(shown.tables)) <= set(shown.notes)
