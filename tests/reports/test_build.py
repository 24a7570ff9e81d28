"""What a report shows, in which order, and what it says beside the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attunebench.errors import DataError, UsageError
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.rates import percent
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.reports import Report, build_report
from attunebench.reports.layout import as_analysis
from attunebench.text import number

MakeScores = Callable[..., dict[str, Any]]


def _ids(report: Report) -> list[str]:
    return [row.id for section in report.sections for row in section.rows]


def _titles(report: Report) -> list[str]:
    return [section.title for section in report.sections]


def test_composite_comes_first_then_turns_then_the_conversation(make_scores: MakeScores) -> None:
    titles = ["Composite and pillars", "Turn by turn", "Turn by turn: yes/no answers pooled", "Conversation-wide"]
    assert titles == _titles(build_report(make_scores()))[:4]


def test_judged_numbers_stand_in_the_default_report_with_their_judge_and_scale(make_scores: MakeScores) -> None:
    judged = build_report(make_scores()).sections[-1]
    assert {"draft_judge", "draft_judge_helpfulness", "draft_binary_alignment"} <= {row.id for row in judged.rows}
    assert {row.id for row in judged.rows} <= JUDGED
    assert "Judged by judge-1 (relative scale)." in judged.notes


def test_what_the_study_prints_beside_its_scores_stands_in_the_default_report(make_scores: MakeScores) -> None:
    rows = {row.id: row for section in build_report(make_scores()).sections for row in section.rows}
    assert {"emotion_intensity_mae", "panas_normalized", "panas_item_normalized"} <= set(rows)
    assert rows["emotion_intensity_mae"].heading != rows["emotion_intensity_mae"].card.label
    assert rows["panas_normalized"].heading == rows["panas_normalized"].card.label


def test_drafts_and_diagnostics_are_shown_on_request(make_scores: MakeScores) -> None:
    assert ["Drafted replies", "Diagnostics"] == _titles(build_report(make_scores(), show_all=True))[-2:]


def test_every_metric_has_exactly_one_place(make_scores: MakeScores) -> None:
    shown = [metric_id for metric_id in _ids(build_report(make_scores(), show_all=True)) if metric_id in REGISTRY]
    assert sorted(cards_of("attunebench")) == sorted(shown)


def test_every_canonical_metric_is_shown_by_default(make_scores: MakeScores) -> None:
    canonical = {card.id for card in REGISTRY.values() if card.status == "canonical"}
    assert set() == canonical - set(_ids(build_report(make_scores())))


def test_emotion_averages_stand_beside_their_tagged_form_and_the_neutral_share(make_scores: MakeScores) -> None:
    expected = ["emotion_f1", "emotion_f1_tagged", "emotion_va", "emotion_va_tagged"]
    shown = [row.id for row in build_report(make_scores()).sections[1].rows]
    assert expected == shown[:4]
    assert "neutral_turn_share" in shown


def test_the_primary_mode_leads_and_composites_fall_within_a_mode(make_scores: MakeScores) -> None:
    scores = make_scores(("a", "verbose", 0.9), ("b", "default", 0.4), ("c", "default", 0.7), ("d", "omniscient", 0.8))
    groups = [(group.model, group.mode) for group in build_report(scores).groups]
    assert [("c", "default"), ("b", "default"), ("a", "verbose"), ("d", "omniscient")] == groups


def test_undefined_is_a_dash_and_never_zero(make_scores: MakeScores) -> None:
    scores = make_scores()
    scores["aggregates"][0]["metrics"]["composite"] = {
        "mean": None,
        "n": 0,
        "se": None,
        "ci_low": None,
        "ci_high": None,
    }
    cell = as_analysis(build_report(scores)).tables[0].rows[0][1]
    assert (None, "") == (cell.value, cell.mark)


def test_a_metric_that_nobody_measured_is_named_instead_of_shown(make_scores: MakeScores) -> None:
    scores = make_scores()
    del scores["aggregates"][0]["metrics"]["binary_om_accuracy_hp"]
    section = build_report(scores).sections[1]
    assert "binary_om_accuracy_hp" not in [row.id for row in section.rows]
    assert ("Not measured here: Binary OM, person's phrasing.",) == section.notes


def test_few_answers_are_the_first_warning(make_scores: MakeScores) -> None:
    scores = make_scores(("m", "default", 0.5), n=3)
    scores["aggregates"][0]["metrics"]["answered_rate"]["mean"] = 0.9499
    first = build_report(scores).warnings[0]
    assert first == "Answered rate below 95 %: m (default) 94.9 %. Unanswered items count as wrong."


def test_enough_answers_and_full_coverage_give_no_warning(make_scores: MakeScores) -> None:
    assert () == build_report(make_scores()).warnings


def test_a_model_scored_on_fewer_conversations_says_so(make_scores: MakeScores) -> None:
    scores = make_scores(n=3, expected=5)
    scores["aggregates"][0]["coverage"]["skipped"] = ["c3", "c4"]
    assert ("Not all conversations are scored: m (default) 3 of 5 (2 skipped).",) == build_report(scores).warnings


@pytest.mark.parametrize(("reached", "lacking"), [(3, ""), (4, ", without 1 of its conversations")])
def test_a_part_that_is_a_fair_sample_is_called_one(make_scores: MakeScores, reached: int, lacking: str) -> None:
    scores = make_scores(n=3, expected=5)
    scores["aggregates"][0]["coverage"]["sample"] = {"seed": 7, "reached": reached, "of": 5}
    sample = f"a random sample stratified by topic and diagnosis (seed 7){lacking}"
    assert (f"Not all conversations are scored: m (default) 3 of 5, {sample}.",) == build_report(scores).warnings


@pytest.mark.parametrize("key", ["panas_strategy", "prompt_set_sha256", "codebook_sha256"])
def test_settings_that_differ_between_groups_are_a_warning(make_scores: MakeScores, key: str) -> None:
    scores = make_scores(("a", "default", 0.5), ("b", "default", 0.4))
    for entry, value in zip(scores["metadata"]["settings"], ("one", "two"), strict=True):
        entry["variants"][0][key] = value
    assert any(warning.startswith("DIFFERENT") for warning in build_report(scores).warnings)


def test_settings_that_differ_within_a_group_are_a_warning(make_scores: MakeScores) -> None:
    scores = make_scores()
    scores["metadata"]["settings"][0]["variants"].append({"n_results": 1, "panas_strategy": "delta"})
    assert any("PANAS STRATEGIES" in warning for warning in build_report(scores).warnings)


def test_only_other_modes_are_not_presented_as_the_primary_benchmark(make_scores: MakeScores) -> None:
    assert "the primary benchmark is mode default" in build_report(make_scores(("m", "verbose", 0.5))).warnings[0]


def test_other_modes_beside_the_primary_one_are_named_under_the_leaderboard(make_scores: MakeScores) -> None:
    report = build_report(make_scores(("m", "verbose", 0.5), ("m", "default", 0.5)))
    assert "unranked" in report.sections[0].notes[0]


def test_demonstration_data_is_named(make_scores: MakeScores) -> None:
    scores = make_scores()
    scores["metadata"]["sources"] = ["synthetic-demo"]
    assert "Demonstration conversations" in build_report(scores).warnings[0]


def test_what_was_left_out_is_named(make_scores: MakeScores) -> None:
    scores = make_scores()
    scores["left_out"] = {
        "unreadable": [{"file": f"{n}.json", "reason": "y"} for n in range(8)],
        "duplicates": [{"files": ["a.json", "b.json"]}],
        "invalid_conversations": [],
    }
    (said,) = (warning for warning in build_report(scores).warnings if "Not scored" in warning)
    assert "4.json and 3 more)" in said
    assert "(a.json and b.json)" in said
    assert "invalid" not in said


def test_incomplete_composites_are_counted(make_scores: MakeScores) -> None:
    scores = make_scores()
    scores["aggregates"][0]["composite_incomplete"] = 2
    assert "m (default) 2 of 4" in build_report(scores).notes[0]


def test_groups_of_different_conversations_are_said_to_be(make_scores: MakeScores) -> None:
    scores = make_scores(("a", "default", 0.5), ("b", "default", 0.4))
    scores["conversations"].pop()
    assert "3 conversations in common" in build_report(scores).notes[0]


@pytest.mark.parametrize("by", [None, "branch"])
def test_the_judge_is_named_wherever_its_score_stands(make_scores: MakeScores, by: Any) -> None:
    report = build_report(make_scores(), show_all=True, by=by)
    where = [section for section in report.sections if any(row.id == "draft_judge" for row in section.rows)]
    assert [True] == ["Judged by judge-1 (relative scale)." in section.notes for section in where]


def test_different_judges_are_loud(make_scores: MakeScores) -> None:
    scores = make_scores(("a", "default", 0.5), ("b", "default", 0.4))
    scores["metadata"]["settings"][1]["variants"][0]["judge_models"] = ["judge-2"]
    section = next(s for s in build_report(scores, show_all=True).sections if s.title == "Drafted replies")
    assert section.notes[0].startswith("DIFFERENT JUDGES")


def test_pooled_rows_say_their_n_only_where_no_row_of_counts_does(make_scores: MakeScores) -> None:
    rows = next(s for s in build_report(make_scores(), show_all=True).sections if "pooled" in s.title).rows
    assert {False} == {row.n_shown for row in rows}
    assert {True} == {row.n_shown for section in build_report(make_scores()).sections for row in section.rows}


def test_chosen_metrics_alone_are_shown_whatever_their_status(make_scores: MakeScores) -> None:
    assert ["composite", "mended_rate"] == _ids(build_report(make_scores(), metrics=["mended_rate", "composite"]))


def test_an_unknown_metric_is_a_usage_error_with_a_near_name(make_scores: MakeScores) -> None:
    with pytest.raises(UsageError, match="emotion_va"):
        build_report(make_scores(), metrics=["emotion_v"])


def test_both_maps_of_the_branches_are_stated(make_scores: MakeScores) -> None:
    report = build_report(make_scores(), by="branch")
    assert [4, 2] == [sum(word in title for title in _titles(report)) for word in ("study's map", "codebook's map")]
    mapped = [section for section in report.sections if "map)" in section.title]
    assert all("pragmatic" in section.explanation for section in mapped)


def test_each_branch_of_the_study_has_the_metrics_of_its_instrument(make_scores: MakeScores) -> None:
    first_ids = [section.rows[0].id for section in build_report(make_scores(), by="branch").sections[:5]]
    assert [
        "emotion_f1",
        "binary_om_accuracy",
        "panas_baseline_adjusted",
        "pairwise_accuracy",
        "four_branch",
    ] == first_ids


def test_categories_are_shown_with_their_counts(make_scores: MakeScores) -> None:
    table = as_analysis(build_report(make_scores(), by="branch")).tables[-1]
    assert "30/5/3/2" in [row[1].value for row in table.rows if row[0].value == "Perceiving: tp/tn/fp/fn"]
    assert "cognitive framing → no branch" in table.caption


@pytest.mark.parametrize(
    "spoil",
    [
        lambda scores: scores.update(aggregates=[]),
        lambda scores: scores.update(aggregates="x"),
        lambda scores: scores.update(aggregates=[3]),
        lambda scores: scores["aggregates"][0].pop("metrics"),
        lambda scores: scores["aggregates"][0].pop("em_model"),
    ],
)
def test_scores_of_another_shape_are_a_data_error(make_scores: MakeScores, spoil: Callable[[Any], Any]) -> None:
    scores = make_scores()
    spoil(scores)
    with pytest.raises(DataError):
        build_report(scores)


@pytest.mark.parametrize("key", ["metadata", "conversations", "left_out"])
def test_parts_beside_the_aggregates_may_be_missing_and_odd_ones_are_refused(make_scores: MakeScores, key: str) -> None:
    scores = make_scores()
    without = {name: part for name, part in scores.items() if name != key}
    assert _ids(build_report(scores)) == _ids(build_report(without))
    with pytest.raises(DataError, match=key):
        build_report({**scores, key: 3})


@pytest.mark.parametrize(
    ("value", "digits", "text"), [(0.61249, 3, "0.612"), (-0.0001, 3, "0.000"), (-0.5, 1, "-0.5"), (None, 3, "–")]
)
def test_numbers_are_rounded_for_display(value: float | None, digits: int, text: str) -> None:
    assert text == number(value, digits)


@pytest.mark.parametrize(("share", "text"), [(1.0, "100.0 %"), (0.99999, "99.9 %"), (0.95, "95.0 %")])
def test_a_percentage_never_rounds_up(share: float, text: str) -> None:
    assert text == percent(share)


def test_built_in_baselines_are_named_as_no_language_models(make_scores: MakeScores) -> None:
    scores = make_scores(("random", "default", 0.4), ("oracle", "default", 1.0), provider="baseline")
    [warning] = [text for text in build_report(scores).warnings if "baseline" in text]
    assert "not language models: oracle, random. The oracle answers from the labels" in warning


def test_metrics_that_nobody_asked_for_are_not_missed(make_scores: MakeScores) -> None:
    scores = make_scores()
    optional = [card.id for card in REGISTRY.values() if card.optional]
    for metric_id in optional:
        scores["aggregates"][0]["metrics"][metric_id] = {"mean": None, "n": 0, "se": None}
    report = build_report(scores, show_all=True)
    assert not set(optional) & set(_ids(report))
    assert "BERTScore" not in " ".join(
        [*report.notes, *(note for section in report.sections for note in section.notes)]
    )


def test_the_language_model_behind_bertscores_is_named_with_what_it_did_not_read(make_scores: MakeScores) -> None:
    scores = make_scores()
    scores["metadata"]["bertscore"] = {
        "model": "roberta-large",
        "layer": 17,
        "sha256": "a" * 64,
        "rescaled": False,
        "transformers": "5.1",
        "max_tokens": 512,
        "texts": 800,
        "texts_cut": 12,
    }
    (note,) = [note for note in build_report(scores).notes if "BERTScore" in note]
    assert f"roberta-large (layer 17, weights {'a' * 12}, transformers 5.1, not rescaled)" in note
    assert "12 of 800 texts were truncated to their first 512 tokens." in note
