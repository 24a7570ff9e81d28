"""What is known of a judge stands beside its numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attunebench.errors import DataError
from attunebench.metrics.draft import JUDGED
from attunebench.reports import build_report, draw
from attunebench.reports.layout import as_analysis
from attunebench.scores.audits import MARK, JudgeAudit, arena_notices, read_audit, standing_of, with_audits

LABEL = "judge-1 (relative scale)"


def _audit(**changes: Any) -> dict[str, Any]:
    found = {
        "judge": "judge-1",
        "task": "rating",
        "scale": "relative",
        "agreement": 0.58,
        "low": 0.55,
        "high": 0.61,
        "n": 1140,
        "conversations": 100,
        "rule": "longest reply",
        "rule_agreement": 0.57,
        "passed": False,
        "prompt_sha256": "a",
        "prompt_set_sha256": "b",
        "attunebench_version": "1",
    }
    return found | changes


def _standing(*entries: dict[str, Any], prompts: tuple[str, ...] = ()) -> tuple[dict[str, str], dict[str, str]]:
    return standing_of([LABEL], map(JudgeAudit.model_validate, entries), prompts)


def _with(scores: dict[str, Any], *entries: dict[str, Any]) -> dict[str, Any]:
    return {**scores, "metadata": {**scores["metadata"], "judge_audits": list(entries)}}


def test_a_judge_that_passed_the_rating_task_is_validated() -> None:
    passed, failed = _standing(_audit(passed=True))
    assert list(passed) == [LABEL]
    assert not failed


@pytest.mark.parametrize(
    "entries",
    [
        (),
        (_audit(),),
        (_audit(passed=True), _audit()),
        (_audit(passed=True, task="pairwise", scale=None),),
        (_audit(passed=True, scale="quality"),),
        (_audit(passed=True, judge="judge-2"),),
    ],
    ids=["no audit", "failed", "failed once", "pairwise alone", "another scale", "another judge"],
)
def test_any_other_judge_is_not(entries: tuple[dict[str, Any], ...]) -> None:
    passed, failed = _standing(*entries)
    assert not passed
    assert list(failed) == [LABEL]


def test_an_audit_of_another_prompt_validates_nothing() -> None:
    assert _standing(_audit(passed=True), prompts=("b",))[0]
    assert not _standing(_audit(passed=True), prompts=("c",))[0]


def test_the_mark_names_agreement_interval_and_the_best_simple_rule() -> None:
    text = JudgeAudit.model_validate(_audit()).text
    assert [part in text for part in ("0.58 [0.55, 0.61]", "longest", "0.57")] == [True] * 3


@pytest.mark.parametrize(("entry", "marked"), [(_audit(), True), (_audit(passed=True), False)])
@pytest.mark.parametrize("format", ["terminal", "markdown"])
def test_judged_numbers_alone_are_marked(make_scores: Any, entry: dict[str, Any], marked: bool, format: Any) -> None:
    scores = _with(make_scores(("a", "default", 0.6), ("b", "default", 0.5)), entry)
    cells = [
        (column.id, row[place].mark)
        for one in as_analysis(build_report(scores)).tables
        for row in one.rows[: len(one.rows) - one.apart]
        for place, column in enumerate(one.columns)
    ]
    assert {MARK in mark for id, mark in cells if id in JUDGED} == {marked}
    assert not any(MARK in mark for id, mark in cells if id not in JUDGED)
    text = draw(build_report(scores), format, width=200)
    assert (MARK in text) is marked
    assert "0.58" in text


def test_programs_read_that_a_number_is_not_validated(make_scores: Any) -> None:
    document = json.loads(draw(build_report(make_scores(), metrics=["draft_judge"]), "json"))
    assert document["analyses"][0]["tables"][0]["rows"][0]["draft_judge"]["mark"] == "not validated"


def test_a_judge_that_is_not_named_is_not_validated(make_scores: Any) -> None:
    scores = make_scores()
    scores["metadata"] = {"attunebench_version": "0"}
    assert MARK in draw(build_report(scores), "terminal", width=200)


def test_audits_are_found_beside_the_results_and_beside_the_scores(tmp_path: Path) -> None:
    for place, task in (("study", "rating"), ("scored", "pairwise")):
        folder = tmp_path / place / "judge-audit" / task
        folder.mkdir(parents=True)
        (folder / "audit.json").write_text(json.dumps({"schema_version": 1, "judges": [_audit(task=task)]}))
    file = tmp_path / "scored" / "scores.json"
    file.write_text("{}")
    scores = with_audits({"metadata": {"results": str(tmp_path / "study" / "results")}}, str(file))
    assert len(scores["metadata"]["judge_audits"]) == 2


def test_scores_without_an_audit_stay_as_they_are(tmp_path: Path) -> None:
    scores = {"metadata": {"results": str(tmp_path / "results")}}
    assert with_audits(scores, "scores") is scores


@pytest.mark.parametrize(
    "text", ["[]", "{}", "broken", '{"schema_version": 2, "judges": []}', '{"schema_version": 1, "judges": [1]}']
)
def test_an_audit_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "audit.json").write_text(text)
    with pytest.raises(DataError):
        read_audit(tmp_path / "audit.json")


def _arena(tmp_path: Path, **changes: Any) -> Path:
    folder = tmp_path / "judge-audit" / "pairwise"
    folder.mkdir(parents=True)
    entry = _audit(task="pairwise", scale=None, passed=True, **changes)
    (folder / "audit.json").write_text(json.dumps({"schema_version": 1, "judges": [entry]}))
    return tmp_path / "arena"


def test_an_arena_says_which_of_its_judges_are_validated(tmp_path: Path) -> None:
    failed, passed = arena_notices(["judge-1", "judge-2"], {}, _arena(tmp_path))
    assert ("judge-2" in failed, "judge-1" in failed) == (True, False)
    assert ("judge-2" in passed, "judge-1" in passed) == (False, True)


def test_an_arena_is_silent_about_built_in_rules(tmp_path: Path) -> None:
    made = {"verdicts": {name: {"provider": "baseline"} for name in ("longest", "lexicon")}}
    assert arena_notices(["longest", "lexicon"], made, _arena(tmp_path)) == ()


def test_a_judge_of_an_arena_that_was_asked_otherwise_is_not_validated(tmp_path: Path) -> None:
    arena = _arena(tmp_path)
    prompts = [{"verdicts": {"judge-1": {"prompt_set_sha256": sha}}} for sha in ("a", "z")]
    same, other = (arena_notices(["judge-1"], made, arena) for made in prompts)
    assert same != other
    assert "another prompt" in other[0]


def test_the_arena_of_an_audit_knows_its_own(tmp_path: Path) -> None:
    _arena(tmp_path)
    [said] = arena_notices(["judge-1"], {}, tmp_path / "judge-audit" / "pairwise")
    assert "0.58" in said
