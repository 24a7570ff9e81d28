"""The first picture of a page, and the verdict above it: who stands where, and what is drawn apart."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from html_study import SETTINGS

from attunebench.analyses.palette import palette
from attunebench.reports.build import build_report
from attunebench.reports.html.environment import environment
from attunebench.reports.html.footnotes import Footnotes
from attunebench.reports.html.overview import Board, boards
from attunebench.scores import BASE_RATE, Scores
from attunebench.scores.loading import score_table


def board(scores: Any) -> Board:
    study = score_table(scores)
    report = build_report(scores, study=study, settings=SETTINGS)
    return next(boards(report, study, SETTINGS, {key: f"k{k}" for k, key in enumerate(palette(study.groups))}))


@pytest.fixture(scope="module")
def with_oracle(html_scores: Scores) -> Board:
    """The best model stands in as the oracle, and the weakest as a baseline."""
    text = json.dumps(html_scores)
    for model, baseline in {"strong": "oracle", "weak": "majority"}.items():
        text = text.replace(
            f'"provider": "test", "em_model": "{model}"', f'"provider": "baseline", "em_model": "{baseline}"'
        )
    return board(json.loads(text))


def names(shown: Board) -> list[str]:
    return [row.group.model for row in shown.forest.rows]


def test_models_stand_best_first_and_a_tier_is_named_in_its_first_row(html_scores: Scores) -> None:
    shown = board(html_scores)
    assert ["strong", "middle", "weak"] == names(shown)
    assert [1, 2, 3] == [row.tier for row in shown.forest.rows if row.first]
    assert 24 == shown.forest.n
    assert 0 == shown.forest.apart


def test_a_panel_for_each_pillar_and_pairwise_has_a_mark_in_each_row(html_scores: Scores) -> None:
    panels = board(html_scores).forest.panels
    assert "Composite" == panels[0].label
    assert "Pairwise" == panels[-1].label
    assert 5 == len(panels)
    assert {3} == {len([mark for mark in panel.marks if mark]) for panel in panels}
    assert {"base rate", "chance"} == {one.name for panel in panels for one in panel.references}


def test_baselines_stand_apart_and_the_verdict_names_no_oracle(with_oracle: Board) -> None:
    assert ["middle", "oracle", "majority"] == names(with_oracle)
    assert 2 == with_oracle.forest.apart
    assert "oracle" not in with_oracle.verdict


def test_what_lies_far_from_the_models_is_marked_at_the_edge_and_presses_nothing_together(with_oracle: Board) -> None:
    main = with_oracle.forest.panels[0]
    own, oracle, _ = main.marks
    assert oracle is not None
    assert (100.0, "off") == (oracle.at, oracle.shape)
    assert own is not None
    assert (own.high or 0) - (own.low or 0) > 10


def test_a_reference_beyond_the_axis_is_named_on_its_own_side(html_scores: Scores) -> None:
    scores = json.loads(json.dumps(html_scores))
    means = next(one["metrics"] for one in scores["references"] if one["id"] == BASE_RATE)
    means["composite"]["mean"], means["emotion_tracking"]["mean"] = -500.0, 9.0
    drawn = board(scores).forest
    template = environment().get_template("forest.html")
    text = "".join(str(template.module.panel(drawn, panel, True)) for panel in drawn.panels)  # type: ignore[attr-defined]
    assert [("start", "← base rate -500.0"), ("end", "base rate 9.000 →")] == re.findall(
        'class="far ([a-z]+)[^>]*>(.*?)</i>', text
    )


def test_a_note_has_one_number_wherever_it_is_said() -> None:
    notes = Footnotes(["12 talks. Intervals of 95 %.", "7 talks. Intervals of 95 %."])
    assert ("12 talks.", ["Intervals of 95 %."]) == notes.split("12 talks. Intervals of 95 %.")
    assert [1, 2] == notes.numbers(["Intervals of 95 %.", "Other"])
    assert [1] == notes.numbers(["Intervals of 95 %."])
    assert ["Intervals of 95 %.", "Other"] == notes.listed
