"""Every metric can be explained to somebody who has never seen the benchmark."""

from __future__ import annotations

import pytest

from attunebench.errors import UsageError
from attunebench.metrics.registry import REGISTRY
from attunebench.reports import explain


@pytest.mark.parametrize("metric_id", list(REGISTRY))
def test_an_explanation_says_all_that_the_card_says(metric_id: str) -> None:
    card, words = REGISTRY[metric_id], " ".join(explain(metric_id).split())
    assert [] == [text for text in (card.label, card.meaning, card.definition, card.source) if text not in words]


def test_all_lists_each_metric_on_one_line() -> None:
    lines = explain("all").split("\n")
    assert [] == [
        i for i, card in REGISTRY.items() if 1 != sum(x.split()[:1] == [i] and card.meaning in x for x in lines)
    ]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_list_of_all_keeps_to_the_width_and_loses_nothing(width: int) -> None:
    text = explain("all", width=width)
    assert [] == [line for line in text.split("\n") if len(line) > width]
    assert [] == [i for i, card in REGISTRY.items() if f"{i} {card.meaning}" not in " ".join(text.split())]


@pytest.mark.parametrize("metric_id", ["emotion_f1", "four_branch", "q3_follow_up"])
def test_a_definition_in_symbols_says_what_they_stand_for(metric_id: str) -> None:
    assert "G is what the person gave" in explain(metric_id)


def test_a_definition_in_words_names_no_symbols() -> None:
    assert "Symbols" not in explain("binary_om_accuracy")


def test_ids_of_pooled_rows_are_explained_too() -> None:
    assert explain("binary_hp_mcc_pooled").startswith("Binary HP MCC, over the answers of all conversations together.")


def test_what_names_no_metric_by_far_is_told_where_they_are_listed() -> None:
    with pytest.raises(UsageError, match="--explain all"):
        explain("nonsense")


def test_a_lower_is_better_metric_says_so() -> None:
    assert "Lower is better: 0 is the best" in explain("q3_fit_distance")


def test_a_metric_with_a_chance_level_says_it() -> None:
    assert "Guessing at random scores 0.5" in " ".join(explain("pairwise_accuracy").split())


def test_a_judged_metric_says_that_it_depends_on_the_judge() -> None:
    assert "depends on the judge" in " ".join(explain("draft_judge").split())


def test_an_unknown_metric_is_a_usage_error_with_near_names() -> None:
    with pytest.raises(UsageError, match="emotion_va"):
        explain("emotion_vaa")
