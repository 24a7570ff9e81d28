"""The leaderboard of a report: tiers in place of bare ranks, the same ones that `compare` finds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from plain_scores import plain_scores

from attunebench.analyses.base import SMALL
from attunebench.comparison import tiers_of
from attunebench.reports import build_report, render
from attunebench.scores.loading import score_table


def document(means: dict[str, float], *, count: int = 40, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return plain_scores(
        {name: {"composite": mean + 3 * rng.standard_normal(count)} for name, mean in means.items()}, **more
    )


@pytest.fixture(scope="module")
def scores() -> dict[str, Any]:
    return document({"a": 70.0, "b": 70.0, "c": 50.0, "baseline/random": 30.0})


def test_models_stand_in_tiers_with_their_places_and_baselines_do_not(scores: dict[str, Any]) -> None:
    standing = {group.model: group.standing for group in build_report(scores).groups}
    assert (1, 1, 2) == tuple(standing[name].tier for name in "abc")  # type: ignore[union-attr]
    assert "2 (3)" == standing["c"].text  # type: ignore[union-attr]
    assert standing["random"] is None


def test_the_tiers_are_those_of_a_comparison(scores: dict[str, Any]) -> None:
    ranking = tiers_of(score_table(scores).models(), "composite")
    found = {group.model: group.standing.tier for group in build_report(scores).groups if group.standing}
    assert {group.model: int(tier) for group, tier in zip(ranking.groups, ranking.tier, strict=True)} == found


def test_the_leaderboard_shows_them_and_says_what_a_tier_is(scores: dict[str, Any]) -> None:
    for format in ("terminal", "markdown"):
        text = " ".join(render(scores, format=format, width=120).split())
        assert "(ranks)" in text
        assert "1 (1–2)" in text
        assert "Holm over 3 pairs" in text


def test_machines_get_them_as_numbers(scores: dict[str, Any]) -> None:
    rows = json.loads(render(scores, format="json"))["analyses"][0]["tables"][0]["rows"]
    tiers = {row["model"]: row["tier"] for row in rows}
    assert ({"value": 2, "low": 3, "high": 3}, None) == (tiers["c"], tiers["random"])


def test_few_conversations_are_given_no_tiers_and_told_why() -> None:
    text = render(document({"a": 90.0, "b": 10.0}, count=SMALL - 1))
    assert "(ranks)" not in text
    assert "No tiers: fewer than 20 conversations" in text


def test_few_conversations_in_common_get_places_and_no_tier() -> None:
    values = np.linspace(40, 60, 60)
    one, other = np.where(np.arange(60) < 35, values, np.nan), np.where(np.arange(60) >= 25, values + 9, np.nan)
    report = build_report(plain_scores({"a": {"composite": one}, "b": {"composite": other}}))
    assert [None, None] == [group.standing.tier for group in report.groups if group.standing]
    assert "too few shared conversations" in report.sections[0].notes[0]


def test_a_single_model_has_no_standing() -> None:
    assert build_report(document({"a": 50.0})).groups[0].standing is None


def test_each_mode_is_a_ranking_of_its_own() -> None:
    column = {"composite": np.linspace(40, 60, 30)}
    scores = plain_scores({"a": {"default": column, "verbose": column}, "b": {"verbose": column}})
    standing = {(group.model, group.mode): group.standing for group in build_report(scores).groups}
    assert standing["a", "default"] is None
    assert "1 (1–2)" == standing["a", "verbose"].text  # type: ignore[union-attr]


def test_a_report_without_conversations_has_no_standings(scores: dict[str, Any]) -> None:
    assert all(group.standing is None for group in build_report({**scores, "conversations": []}).groups)
