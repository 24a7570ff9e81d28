"""What stands against holding groups against each other: refused where a comparison would measure it, else said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_scores import plain_scores

from attunebench.errors import DataError
from attunebench.scores.compatibility import findings, warnings_or_refusal
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

STRATEGIES = {"a": {"panas_strategy": "absolute"}, "b": {"panas_strategy": "delta"}}


def part(*names: str, metric: str = "composite", count: int = 30, gaps: int = 0, **more: Any) -> dict[str, Any]:
    """Scores of these models; the last one lacks the first `gaps` conversations."""
    columns = {name: np.full(count, 50.0) for name in names}
    columns[names[-1]][:gaps] = np.nan
    return plain_scores({name: {metric: column} for name, column in columns.items()}, **more)


def study_of(*parts: dict[str, Any]) -> ScoreTable:
    return score_table(list(parts), files=[f"{place}.json" for place in ("one", "two", "three")[: len(parts)]])


def said(study: ScoreTable, *metrics: str) -> str:
    return " ".join(finding.sentence for finding in findings(study, metrics))


def test_nothing_is_said_of_scores_that_compare() -> None:
    assert () == findings(study_of(part("a", "b")), ("composite",))
    assert () == findings(study_of(part("a"), part("b")), ("composite",))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (STRATEGIES, "DIFFERENT PANAS STRATEGIES: absolute (a); delta (b)"),
        ({"a": {"prompt_set_sha256": "1" * 64}, "b": {"prompt_set_sha256": "2" * 64}}, f"PROMPT SETS: {'1' * 12} (a)"),
        ({"a": {"codebook_sha256": "1" * 64}, "b": {"codebook_sha256": "2" * 64}}, "DIFFERENT CODEBOOKS"),
        (
            {"a": {"parameters": {"temperature": 0.0}}, "b": {"parameters": {"temperature": None}}},
            "the server's own (b)",
        ),
    ],
)
def test_other_settings_are_warned_of_with_the_names_of_who_has_them(settings: Any, expected: str) -> None:
    study = study_of(part("a", "b", settings=settings))
    assert expected in said(study)
    assert expected in " ".join(warnings_or_refusal(study))


def test_settings_do_not_apply_to_baselines_and_people() -> None:
    made = part(
        "a",
        "baseline/x",
        "human/y",
        settings={"a": {"panas_strategy": "absolute"}, "baseline/x": {"panas_strategy": "delta"}},
    )
    assert () == findings(study_of(made))


def test_a_setting_that_changed_within_a_model_s_results_is_told() -> None:
    made = part("a", "b")
    made["metadata"]["settings"][0]["variants"] = [{"panas_strategy": "absolute"}, {"panas_strategy": "delta"}]
    assert "PANAS strategies in a" in said(study_of(made))


JUDGES = {"a": {"judge_models": ["one"]}, "b": {"judge_models": ["two"]}}


def test_other_judges_forbid_comparing_what_they_judged_and_nothing_else() -> None:
    study = study_of(part("a", "b", metric="draft_judge", settings=JUDGES))
    assert () == findings(study, ("composite",))
    with pytest.raises(
        DataError, match=r"draft_judge.* one \(relative scale\) for a; two \(relative scale\) for b.*--force"
    ):
        warnings_or_refusal(study, ("draft_judge",))
    assert "NOT COMPARABLE" in warnings_or_refusal(study, ("draft_judge",), force=True)[0]


def test_a_judge_of_a_model_without_judged_drafts_does_not_matter() -> None:
    made = plain_scores({"a": {"draft_judge": np.ones(5)}, "b": {"composite": np.ones(5)}}, settings=JUDGES)
    assert () == findings(study_of(made), ("draft_judge",))


def test_other_labels_are_refused_with_the_file_the_number_and_an_example() -> None:
    study = study_of(part("a"), part("b", labels={"c003": "other", "c004": "other"}))
    with pytest.raises(DataError, match=r"two\.json .* on different labels .*: 2 of 30 conversations differ.* c003"):
        warnings_or_refusal(study)


def test_labels_outside_what_is_compared_do_not_matter() -> None:
    study = study_of(part("a"), part("b", labels={"c003": "other"}))
    assert () == findings(study.with_conversations([i for i in study.ids if i != "c003"]))


def test_a_file_with_more_conversations_of_the_same_labels_is_warned_of() -> None:
    study = study_of(part("a", count=30), part("b", count=40, ground_truth_sha256="b" * 64))
    assert not [finding for finding in findings(study) if finding.severity == "refuse"]
    assert all(name in said(study) for name in ("one.json", "two.json", "30 are common to all"))
    assert "30 are common to all" in said(study)


def test_an_old_file_on_other_data_is_refused_as_it_cannot_be_checked() -> None:
    study = study_of(part("a"), part("b", old=True, ground_truth_sha256="b" * 64))
    with pytest.raises(DataError, match=r"two\.json contains no labels"):
        warnings_or_refusal(study)


def test_an_old_file_on_the_same_data_compares() -> None:
    assert () == findings(study_of(part("a"), part("b", old=True)))


def test_an_old_file_that_does_not_say_its_data_is_warned_of() -> None:
    study = study_of(part("a", ground_truth_sha256=None), part("b", old=True, ground_truth_sha256=None))
    assert "is unknown" in said(study)


def test_other_definitions_of_metrics_are_refused() -> None:
    with pytest.raises(DataError, match=r"registry 1\b.*\b2\b"):
        warnings_or_refusal(study_of(part("a"), part("b", registry_version="2")))


@pytest.mark.parametrize("later", ["1.1", "1.12"])
def test_a_version_that_only_added_metrics_compares(later: str) -> None:
    assert () == findings(study_of(part("a"), part("b", registry_version=later)))


def test_another_first_number_is_another_definition_whatever_follows() -> None:
    with pytest.raises(DataError, match=r"registry 1\.1\b.*\b12\b"):
        warnings_or_refusal(study_of(part("a", registry_version="1.1"), part("b", registry_version="12")))


COMPARED = {"model": "one", "layer": 9, "sha256": "1" * 64, "rescaled": False}


def bertscored(name: str, **facts: Any) -> dict[str, Any]:
    return part(name, metric="bertscore_max", bertscore={**COMPARED, **facts})


def test_the_same_language_model_compares_whatever_its_folder_is_called() -> None:
    study = study_of(bertscored("a"), bertscored("b", model="two", device="cuda", transformers="9"))
    assert () == findings(study, ("bertscore_max",))


@pytest.mark.parametrize("facts", [{"sha256": "2" * 64}, {"layer": 8}, {"rescaled": True}])
def test_other_language_models_forbid_comparing_bertscores_and_nothing_else(facts: dict[str, Any]) -> None:
    study = study_of(bertscored("a"), bertscored("b", **facts))
    assert () == findings(study, ("composite",))
    with pytest.raises(DataError, match=r"bertscore_max comes from different language models: one \(weights 1{12}"):
        warnings_or_refusal(study, ("bertscore_max",))


def test_a_file_without_bertscores_stands_in_nobody_s_way() -> None:
    assert () == findings(study_of(bertscored("a"), part("b")), ("bertscore_max",))


def test_who_lacks_conversations_is_named() -> None:
    warning = said(study_of(part("a", "b", "c", gaps=20)))
    assert "c 10 of up to 30; 10 are common to all." in warning


def test_a_served_model_that_is_another_one_is_told() -> None:
    assert "a (other-model)" in said(study_of(part("a", "b", observed={"a": {"other-model": 30}})))


def test_modes_that_were_served_by_different_versions_are_told() -> None:
    made = plain_scores({"m": {mode: {"composite": np.ones(5)} for mode in ("default", "verbose")}})
    for entry, version in zip(made["metadata"]["settings"], ("m-0501", "m-0902"), strict=True):
        entry["observed"] = {"models_reported": {version: 5}}
    assert "m (m-0501, m-0902)" in said(study_of(made))


def test_unanswered_questions_are_told_as_they_count_as_wrong() -> None:
    made = plain_scores({"a": {"answered_rate": np.full(5, 0.5)}, "b": {"answered_rate": np.ones(5)}})
    assert "a 50.0 %" in said(study_of(made))


def test_the_answered_rate_is_a_ratio_of_sums_as_in_a_report() -> None:
    made = plain_scores({"a": {"answered_rate": [1.0, 0.5]}})
    for entry, (answered, expected) in zip(made["conversations"], ((90, 90), (5, 10)), strict=True):
        entry["calls"] = {"answered": answered, "expected": expected}
    assert "of what was asked" not in said(study_of(made))  # 95 of 100; the mean of the two rates is 75 %
    made["conversations"][1]["calls"]["answered"] = 4
    assert "a 94.0 %" in said(study_of(made))


def test_demonstration_data_are_told() -> None:
    assert "demonstration" in said(study_of(part("a", "b", sources=["synthetic-demo"])))
