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


def test_a_lower_is_better_metric_says_so() -> None:
    assert "Lower is better: 0 is the best" in explain("q3_fit_distance")


def test_a_metric_with_a_chance_level_says_it() -> None:
    assert "Blind guessing gets 0.5" in " ".join(explain("pairwise_accuracy").split())


def test_a_judged_metric_says_that_it_depends_on_the_judge() -> None:
    assert "depends on the judge" in " ".join(explain("draft_judge").split())


def test_an_unknown_metric_is_a_usage_error_with_near_names() -> None:
    with pytest.raises(UsageError, match="emotion_va"):
        explain("emotion_vaa")
