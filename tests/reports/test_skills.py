"""`--skill-against`: which baseline, which ceiling, over which conversations, and what a wrong name says."""

from __future__ import annotations

import pytest
from planted import Plan, Skill, planted_scores
from typer.testing import CliRunner

from attunebench.cli.main import app
from attunebench.errors import UsageError
from attunebench.reports import build_report, render
from attunebench.scores import write_scores

PERFECT = Skill(om=1, hp=1, pairwise=1, tag=1, false_tag=0, wide=1, branch_error=0, panas_error=0)
POOR = Skill(om=0.5, hp=0.5, pairwise=0.5)


@pytest.fixture(scope="module")
def scores():
    return planted_scores(
        {"good": Skill(), "baseline/oracle": PERFECT, "baseline/majority": POOR}, Plan(conversations=8)
    )


def values(scores, metric, group):
    entries = {e["conversationId"]: e for e in scores["conversations"] if e["em_model"] == group}
    return [entries[fact["conversationId"]]["metrics"][metric] for fact in scores["ground_truth"]]


def base_rate(scores, metric):
    return [entry["metrics"][metric] for entry in scores["references"][0]["conversations"]]


def section(scores, against, **options):
    report = build_report(scores, skill_against=against, **options)
    found = next(section for section in report.sections if section.title.startswith("Skill"))
    return found, {
        (row.id, group.model): cell for row in found.rows for group, cell in zip(report.groups, row.cells, strict=True)
    }


def ratio(score, baseline, ceiling):
    triples = [t for t in zip(score, baseline, ceiling, strict=True) if None not in t]
    s, b, c = (sum(part) for part in zip(*triples, strict=True))
    return (s - b) / (c - b)


def test_it_is_the_share_of_the_way_to_the_oracle(scores):
    _, cells = section(scores, "base-rate")
    for metric in ("composite", "pairwise_accuracy", "panas_baseline_adjusted"):
        parts = (values(scores, metric, "good"), base_rate(scores, metric), values(scores, metric, "oracle"))
        assert ratio(*parts) == pytest.approx(cells[f"{metric}_skill", "good"].value)
        assert 1 == pytest.approx(cells[f"{metric}_skill", "oracle"].value)


def test_a_built_in_baseline_is_at_zero_of_its_own_scale(scores):
    found, cells = section(scores, "majority")
    assert "Skill against the baseline majority" == found.title
    assert 0 == pytest.approx(cells["composite_skill", "majority"].value)
    assert cells["composite_skill", "majority"].low is None


def test_without_an_oracle_the_ceiling_is_the_best_possible_value():
    scores = planted_scores({"good": Skill()}, Plan(conversations=6))
    found, cells = section(scores, "base-rate")
    parts = (values(scores, "composite", "good"), base_rate(scores, "composite"), [100.0] * 6)
    assert ratio(*parts) == pytest.approx(cells["composite_skill", "good"].value)
    assert "maximum" in found.notes[0]


def test_where_lower_is_better_skill_still_grows_upwards(scores):
    _, cells = section(scores, "base-rate", metrics=["q3_fit_distance"])
    good, oracle = cells["q3_fit_distance_skill", "good"], cells["q3_fit_distance_skill", "oracle"]
    parts = (values(scores, "q3_fit_distance", "good"), base_rate(scores, "q3_fit_distance"), [0.0] * 8)
    assert (ratio(*parts), 1) == pytest.approx((good.value, oracle.value))
    assert good.low <= good.value <= good.high


def test_a_baseline_at_the_ceiling_leaves_skill_undefined(scores):
    _, cells = section(scores, "always-empty-tags", metrics=["neutral_false_alarm"])
    assert cells["neutral_false_alarm_skill", "good"].value is None


def test_a_reference_has_skill_only_against_what_it_can_have(scores):
    found, _ = section(scores, "always-empty-tags")
    assert ["emotion_tracking_skill", "emotion_f1_skill", "emotion_va_skill"] == [row.id for row in found.rows]


def test_a_wrong_name_is_answered_with_those_there_are(scores):
    with pytest.raises(UsageError, match=r"'chance'.*there is base-rate, always-empty-tags, majority"):
        build_report(scores, skill_against="chance")
    bare = {key: value for key, value in scores.items() if key != "references"}
    with pytest.raises(UsageError, match="there is majority"):
        build_report(bare, skill_against="base-rate")


def test_every_format_shows_it_and_says_it_alike_each_time(scores):
    for format in ("terminal", "markdown", "csv", "json"):
        text = render(scores, format=format, skill_against="base-rate", width=160)
        assert "Skill against base rate" in text
        assert text == render(scores, format=format, skill_against="base-rate", width=160)


def test_the_command_takes_it(scores, tmp_path):
    write_scores(tmp_path / "scores.json", scores)
    told = CliRunner().invoke(app, ["report", str(tmp_path / "scores.json"), "--skill-against", "majority"])
    assert 0 == told.exit_code, told.output
    assert "Skill against the baseline majority" in told.output
    page = ["report", str(tmp_path / "scores.json"), "--format", "html", "--skill-against", "majority"]
    assert isinstance(CliRunner().invoke(app, page).exception, UsageError)
