"""Scores of a size that a test can read: every metric of the registry with a value that its group decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attunebench.metrics.registry import REGISTRY

MakeScores = Callable[..., dict[str, Any]]


def _pooled(tp: int = 30, tn: int = 5, fp: int = 3, fn: int = 2) -> dict[str, Any]:
    cell = {"tp": tp, "tn": tn, "fp": fp, "fn": fn, "accuracy": 0.875, "precision": 0.91, "recall": 0.94}
    cell |= {"f1": 0.923, "mcc": 0.592}
    return {**cell, "by_category": {"perceiving": dict(cell), "cognitive_framing": dict(cell)}}


def _aggregate(model: str, mode: str, provider: str, n: int, expected: int, level: float) -> dict[str, Any]:
    metrics = {}
    for card in REGISTRY.values():
        mean = card.low + level * (card.high - card.low)
        step = 0.05 * (card.high - card.low)
        metrics[card.id] = {"mean": mean, "n": n, "se": step / 2, "ci_low": mean - step, "ci_high": mean + step}
    metrics["answered_rate"] = {"mean": 0.99, "n": n, "se": 0.001, "ci_low": 0.98, "ci_high": 1.0}
    blocks = ("binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp")
    return {
        "provider": provider,
        "em_model": model,
        "mode": mode,
        "n_conversations": n,
        "n_participants": max(n - 1, 1),
        "composite_incomplete": 0,
        "metrics": metrics,
        "pooled": {block: _pooled() for block in blocks},
        "coverage": {"expected": expected, "scored": n, "skipped": [], "duplicated": [], "missing": []},
    }


def _make_scores(*groups: tuple[str, str, float], n: int = 4, expected: int = 4, provider: str = "local") -> Any:
    """Scores of groups (model, mode, level): each metric lies at `level` of its range; n conversations each."""
    groups = groups or (("m", "default", 0.6),)
    entries = [
        {
            "conversationId": f"c{i}",
            "provider": provider,
            "em_model": model,
            "mode": mode,
            "participant_id": f"p{i // 2}",
            "metrics": {},
            "turns": [],
            "composite_complete": True,
        }
        for model, mode, _ in groups
        for i in range(n)
    ]
    settings = [
        {
            "provider": provider,
            "em_model": model,
            "mode": mode,
            "variants": [{"n_results": n, "panas_strategy": "absolute", "judge_models": ["judge-1"]}],
        }
        for model, mode, _ in groups
    ]
    return {
        "schema_version": "1.0",
        "format": "attunebench-scores",
        "metadata": {"attunebench_version": "0", "judges": ["judge-1"], "settings": settings},
        "conversations": entries,
        "aggregates": [_aggregate(model, mode, provider, n, expected, level) for model, mode, level in groups],
        "left_out": {},
    }


@pytest.fixture
def make_scores() -> MakeScores:
    """Scores of groups (model, mode, level): each metric lies at `level` of its range; n conversations each."""
    return _make_scores
