"""The scorer agrees with an independent slow implementation of spec 04 on imperfect results of all kinds."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from factory import make_conversation
from result_factory import noisy_result, oracle_result

from attunebench.constants import BINARY_CATEGORY, Q3_OPTIONS, VALENCE_AROUSAL
from attunebench.conversations.reading import read_conversation
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.results.parsing import parse_result
from attunebench.scorer import score_conversation

_SPEC = importlib.util.spec_from_file_location("slow_reference", Path(__file__).with_name("slow_reference.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
slow_reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(slow_reference)

COORDINATES = {name.lower(): pair for name, pair in VALENCE_AROUSAL.items()}
POOLED = {
    "binary_om": "binary_om_accuracy",
    "binary_hp": "binary_hp_accuracy",
    "binary_om_hp": "binary_om_accuracy_hp",
    "binary_hp_hp": "binary_hp_accuracy_hp",
}
COUNTED = ("answered_rate",)
"""Counted from the file where it has no `calls`; the reference has them from `calls` alone."""


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("spoil", [0, 1, 2, 3, 4, None])
def test_every_metric_agrees_with_the_reference(seed, spoil):
    raw = make_conversation(seed, turns=3 + seed % 4)
    conversation, _ = read_conversation(raw)
    file = oracle_result(raw) if spoil is None else noisy_result(raw, spoil)
    metrics, turns, pooled = slow_reference.reference(raw, file, COORDINATES, BINARY_CATEGORY, Q3_OPTIONS)
    score = score_conversation(conversation, parse_result(file))
    for metric_id in cards_of("attunebench"):
        if metric_id not in COUNTED or "calls" in file:
            assert metrics.get(metric_id) == pytest.approx(score["metrics"][metric_id], abs=1e-12), metric_id
    assert set(metrics) <= set(REGISTRY)
    for turn in score["turns"]:
        number = turn["turnNumber"]
        for metric_id, value in turn["metrics"].items():
            assert turns[number].get(metric_id) == pytest.approx(value, abs=1e-12), (number, metric_id)
    for block, cells in score["pooled"].items():
        expected = pooled.get(POOLED[block])
        if expected is None:
            assert cells is None
            continue
        by_category = cells.pop("by_category")
        assert expected.pop("all") == pytest.approx(cells, abs=1e-12)
        assert expected.keys() == by_category.keys()
        for category, cell in expected.items():
            assert cell == pytest.approx(by_category[category], abs=1e-12)
