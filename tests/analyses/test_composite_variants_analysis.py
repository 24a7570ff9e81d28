"""The Composite by other formulas: values against a calculation of their own, ranks, shifts, and what is left out."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from plain_scores import plain_scores
from planted import Plan, Skill, planted_scores
from planted_studies import QUICK, cell_of, made, ranked, table_of

from attunebench.analyses.composite_variants import VARIANTS, variant_values
from attunebench.reports.analyses import FORMATS, render
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

NAME = "composite-variants"


@cache
def planted() -> ScoreTable:
    skills = {"a": {"default": Skill(judge=0.9, wide=0.4)}, "b": {"default": Skill(judge=0.2, wide=0.8)}}
    return score_table(planted_scores(skills, Plan(conversations=24, turns=3, seed=11)))


def mean(*values: float) -> float:
    known = [value for value in values if not np.isnan(value)]
    return sum(known) / len(known) if known else np.nan


def by_hand(study: ScoreTable, row: int, model: int) -> dict[str, float]:
    """The variants of one conversation from its metrics, each term of which is defined or left out."""
    m = {name: study.values(name)[row, model] for name in
         ("emotion_f1", "emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy", "q1_goals",
          "q2_clarity", "q3_fit", "q3_follow_up", "q3_follow_up_asked", "four_branch", "draft_judge",
          "panas_baseline_adjusted", "holistic_comprehension")}  # fmt: skip
    et, binary = mean(m["emotion_f1"], m["emotion_va"]), mean(m["binary_om_accuracy"], m["binary_hp_accuracy"])
    eq = mean(binary, m["pairwise_accuracy"])
    mood = 0.5 if np.isnan(m["panas_baseline_adjusted"]) else (m["panas_baseline_adjusted"] + 1) / 2

    def hc(follow_up: float) -> float:
        return 0.4 * mood + 0.3 * mean(m["q1_goals"], m["q2_clarity"], m["q3_fit"], follow_up) + 0.3 * m["four_branch"]

    assert hc(m["q3_follow_up"]) == pytest.approx(m["holistic_comprehension"])
    judged = mean(binary, m["pairwise_accuracy"], m["draft_judge"])
    return {
        "published": 24 * et + 49 * eq + 27 * hc(m["q3_follow_up"]),
        "asked": 24 * et + 49 * eq + 27 * hc(m["q3_follow_up_asked"]),
        "equal": 100 * (et + eq + hc(m["q3_follow_up"])) / 3,
        "judge": np.nan if np.isnan(m["draft_judge"]) else 24 * et + 49 * judged + 27 * hc(m["q3_follow_up"]),
    }


def test_every_variant_is_its_formula_in_every_conversation() -> None:
    study = planted()
    found = variant_values(study)
    assert {variant.id for variant in VARIANTS} == set(found)
    for place in np.ndindex(found["published"].shape):
        expected = by_hand(study, *place)
        assert {name: table[place] for name, table in found.items()} == pytest.approx(expected, nan_ok=True)


def test_the_first_variant_is_the_stored_composite() -> None:
    study = ranked().of_mode("default")
    assert np.array_equal(variant_values(study)["published"], study.values("composite"), equal_nan=True)


def plain(judges: dict[str, float], count: int = 30) -> ScoreTable:
    """Models whose pillars tie but for the judge: b is a little ahead of a without it."""
    rng = np.random.default_rng(2)
    models: dict[str, Any] = {}
    for name, judge in judges.items():
        base = {"a": 0.50, "b": 0.52, "c": 0.30}[name] + rng.normal(0, 0.01, count)
        pillars = {"emotion_tracking": base, "evaluation_quality": base, "holistic_comprehension": base}
        parts = {"binary_om_accuracy": base, "binary_hp_accuracy": base, "pairwise_accuracy": base}
        models[name] = {**pillars, **parts, "composite": 100 * base, "draft_judge": np.full(count, judge)}
    return score_table(plain_scores(models))


def test_a_rank_that_the_judge_turns_is_named_with_its_shift() -> None:
    analysis = made(NAME, plain({"a": 0.9, "b": 0.1, "c": 0.1}))
    table = table_of(analysis, "judge")
    assert [2.0, 1.0, 1.0] == [cell_of(table, "a", c).value for c in ("rank_published", "rank", "shift")]
    cell = cell_of(table, "a", "difference")
    assert cell.low is not None
    assert cell.high is not None
    assert cell.low < 49 * (0.9 - 0.5) / 3 < cell.high
    row = next(r for r in table_of(analysis, "variants").rows if "judge" in str(r[0].value))
    assert [30, 3, 2, 1] == [row[2].value, row[3].value, row[5].value, row[6].value]


def test_where_some_models_were_judged_only_these_are_ranked() -> None:
    analysis = made(NAME, plain({"a": 0.9, "b": 0.1, "c": np.nan}))
    assert {"a", "b"} == {row[0].value for row in table_of(analysis, "judge").rows}
    assert {"a", "b", "c"} == {row[0].value for row in table_of(analysis, "equal").rows}


def test_without_a_judge_the_variant_is_said_to_be_missing_and_judges_are_named_where_there_are_some() -> None:
    analysis = made(NAME, plain({"a": np.nan, "b": np.nan}))
    assert "judge" not in {table.id for table in analysis.tables}
    assert any("no draft was judged" in note for note in analysis.notes)


def test_every_variant_is_named_by_its_formula_in_every_format() -> None:
    analysis = made(NAME, planted(), QUICK)
    for form in FORMATS:
        text = " ".join(render([analysis], form, width=240).replace("\\", "").split())
        assert "(ET + EQ + HC)/3" in text


def test_models_without_a_conversation_in_common_are_no_error() -> None:
    gap = [np.nan] * 10
    base = [0.5] * 10
    pillars = ("emotion_tracking", "evaluation_quality", "holistic_comprehension", "composite")
    models = {"a": dict.fromkeys(pillars, base + gap), "b": dict.fromkeys(pillars, gap + base)}
    analysis = made(NAME, score_table(plain_scores(models)))
    assert {0} == {row[2].value for row in table_of(analysis, "variants").rows}
