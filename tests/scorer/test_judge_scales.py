"""Votes on two scales are never averaged, in no result and in no group; what is left out is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation, write_conversations
from result_factory import oracle_result

from attunebench import api
from attunebench.analyses import Settings, Subject, analyse
from attunebench.comparison import compare
from attunebench.errors import DataError
from attunebench.judges import judge_report, read_ballots
from attunebench.judging import JudgeScale
from attunebench.metrics.draft import JUDGED
from attunebench.protocol.calls import RATINGS
from attunebench.reports import FORMATS, build_report, render
from attunebench.reports.html import render_html
from attunebench.results.schema import SCALE_BY_JUDGE, SCORES_BY_JUDGE
from attunebench.scores import Scores
from attunebench.scores.loading import score_table

MARKS = {"one": 7, "two": 1}
Votes = dict[str, JudgeScale | None]
"""judge → the scale that its votes name"""


def written(folder: Path, *results: Votes, model: str = "oracle") -> Path:
    """Results of one model, each with the votes of these judges: `one` gives 7 throughout, `two` gives 1."""
    folder.mkdir(exist_ok=True)
    for place, votes in enumerate(results):
        result = oracle_result(make_conversation(place)) | {"em_model": model, "judge_models": list(votes)}
        for turn in result["turns"]:
            turn[SCORES_BY_JUDGE] = {judge: dict.fromkeys(RATINGS, MARKS[judge]) for judge in votes}
            turn["em_draft_judge_scores"] = next(iter(turn[SCORES_BY_JUDGE].values()), {})
            turn["em_draft_binary_assessment_by_model"] = {}
            turn[SCALE_BY_JUDGE] = {judge: scale for judge, scale in votes.items() if scale}
        (folder / f"{model}-{place}.json").write_text(json.dumps(result))
    return folder


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    folder = tmp_path / "truth"
    folder.mkdir()
    for seed in range(2):
        (folder / f"conversation_{seed}.json").write_text(json.dumps(make_conversation(seed)))
    return folder


def scored(results: Path, truth: Path, **options: Any) -> Scores:
    return api.score(results, truth, resamples=50, **options)


def means(scores: Scores, metric: str = "draft_judge") -> list[float | None]:
    return [group["metrics"][metric]["mean"] for group in scores["aggregates"]]


def test_votes_without_a_scale_are_relative(tmp_path: Path, truth: Path) -> None:
    scores = scored(written(tmp_path / "r", {"one": None}, {"one": "relative"}), truth)
    assert [1.0] == means(scores)
    assert [{"one": "relative"}] == [group["judges"] for group in scores["aggregates"]]
    assert [] == scores["metadata"]["votes_left_out"]


@pytest.mark.parametrize(
    ("results", "wanted", "mean", "judges"),
    [
        ([{"one": "quality", "two": None}] * 2, None, 1.0, {"one": "quality"}),
        ([{"one": "quality", "two": None}] * 2, "relative", 0.0, {"two": "relative"}),
        ([{"one": "quality"}, {"two": "relative"}], None, 1.0, {"one": "quality"}),
        ([{"one": "quality"}, {"two": "relative"}], "relative", 0.0, {"two": "relative"}),
        ([{"one": "quality"}, {"one": None, "two": None}], None, 1.0, {"one": "quality"}),
    ],
)
def test_votes_on_one_scale_count_and_the_others_are_left_out(
    tmp_path: Path, truth: Path, results: list[Votes], wanted: JudgeScale | None, mean: float, judges: dict[str, str]
) -> None:
    scores = scored(written(tmp_path / "r", *results), truth, judge_scale=wanted)
    assert [mean] == means(scores) == means(scores, "draft_judge_helpfulness")
    assert [judges] == [group["judges"] for group in scores["aggregates"]]
    assert 1 == len(scores["metadata"]["votes_left_out"])
    values = {entry["metrics"]["draft_judge"] for entry in scores["conversations"]}
    assert values <= {mean, None}


@pytest.mark.parametrize("results", [[{"one": "quality"}, {"two": "relative"}], [{"one": "quality", "two": None}] * 2])
def test_the_released_rules_do_not_average_two_scales_either(tmp_path: Path, truth: Path, results: list[Votes]) -> None:
    folder = written(tmp_path / "r", *results)
    assert [1.0] == means(scored(folder, truth, rules="released"))
    assert {"one"} == set(scored(folder, truth, rules="released")["aggregates"][0]["judges"])


def test_a_file_of_scores_says_the_same_as_scores_in_memory(tmp_path: Path, truth: Path) -> None:
    results = written(tmp_path / "r", {"one": "quality"}, {"two": "relative"})
    api.score_to_file(results, truth, tmp_path / "scores.json", resamples=50)
    in_file, in_memory = json.loads((tmp_path / "scores.json").read_text()), scored(results, truth)
    assert json.loads(json.dumps(in_memory["conversations"])) == in_file["conversations"]
    assert json.loads(json.dumps(in_memory["aggregates"])) == in_file["aggregates"]


def test_models_on_two_scales_stand_apart_and_are_not_compared(tmp_path: Path, truth: Path) -> None:
    written(tmp_path / "r", {"one": "quality"}, {"one": "quality"}, model="a")
    scores = scored(written(tmp_path / "r", {"one": None}, {"one": None}, model="b"), truth)
    judged = next(s for s in build_report(scores).sections if {row.id for row in s.rows} <= JUDGED)
    assert all(f"one ({scale} scale)" in judged.notes[0] for scale in ("quality", "relative"))
    with pytest.raises(DataError, match="draft_judge"):
        compare(score_table(scores), Settings(metrics=("draft_judge",)))


@pytest.mark.parametrize("name", ["leaders", "discrimination", "independence", "distributions"])
def test_analyses_over_models_leave_out_what_was_judged_on_two_scales(tmp_path: Path, truth: Path, name: str) -> None:
    written(tmp_path / "r", {"one": "quality"}, {"one": "quality"}, model="a")
    written(tmp_path / "r", {"one": "quality"}, {"one": "quality"}, model="c")
    scores = scored(written(tmp_path / "r", {"one": None}, {"one": None}, model="b"), truth)
    analysis = analyse(name, Subject(score_table(scores), Settings(resamples=50, baselines=True)))
    assert any("draft_judge" in warning for warning in analysis.warnings)
    words = {str(cell.value) for table in analysis.tables for row in table.rows for cell in row}
    assert not {"Draft judge", "quality"} & words


@pytest.mark.parametrize("form", FORMATS)
def test_every_report_names_judge_and_scale(tmp_path: Path, truth: Path, form: Any) -> None:
    scores = scored(written(tmp_path / "r", {"one": "quality"}, {"one": "quality"}), truth)
    assert "one (quality scale)" in " ".join(render(scores, format=form).split())


def test_the_page_has_the_judged_scores_with_judge_and_scale(tmp_path: Path, truth: Path) -> None:
    scores = scored(written(tmp_path / "r", {"one": "quality"}, {"one": "quality"}), truth)
    page = render_html(scores, analyses=())
    assert "one (quality scale)" in page
    assert "quality scale" not in render_html(scored(written(tmp_path / "bare", {}, {}), truth), analyses=())


def test_judges_are_reported_apart_by_scale(tmp_path: Path) -> None:
    truth = write_conversations(tmp_path / "data", 2, seed=0)
    conversations = list(api.load_conversations(truth))
    folder = tmp_path / "r"
    folder.mkdir()
    for place, conversation in enumerate(conversations):
        raw = json.loads((truth / conversation.source_file).read_text())
        result = oracle_result(raw) | {"judge_models": ["one", "two"]}
        for turn in result["turns"]:
            turn[SCORES_BY_JUDGE] = {judge: dict.fromkeys(RATINGS, mark) for judge, mark in MARKS.items()}
            turn["em_draft_binary_assessment_by_model"] = {}
            turn["em_draft_binary_assessment"] = {}
            turn[SCALE_BY_JUDGE] = {"one": "quality"}
        (folder / f"{place}.json").write_text(json.dumps(result))
    ballots = read_ballots(folder, conversations)
    assert ("quality", "relative") == ballots.scales
    assert [("one",), ("two",)] == [ballots.on(scale).judges for scale in ballots.scales]
    found = judge_report(ballots)
    assert len(found) == len({analysis.name for analysis in found}) == 4
    labels = {str(row[2].value) for analysis in found for table in analysis.tables for row in table.rows}
    assert {"one", "two"} == labels
