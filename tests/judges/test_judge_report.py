"""Votes that are planted in results: scores by who judges, the order of models, agreement, families."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from factory import make_conversation, write_conversations
from reading import load_results
from result_factory import noisy_result, oracle_result, write_result
from sklearn.metrics import cohen_kappa_score

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Analysis, Table
from attunebench.conversations import load_conversations
from attunebench.judges import Ballots, judge_report, read_ballots
from attunebench.judges.agreement import answers_of, own_family
from attunebench.reports.analyses import FORMATS, render
from attunebench.scorer import score_conversation

N, T = 6, 3
QUICK = Settings(resamples=200, small=2)
RATED = ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")
Vote = Callable[[str, str, int, int], float]
"""(judge, model, conversation, turn) → the rating of every dimension."""


def write(
    folder: Path, models: list[str], judges: list[str], vote: Vote, says: Vote | None = None, provider: str = "p"
) -> Path:
    """Results of these models whose drafts these judges rate; the first questions are answered yes where `says` > 0."""
    for number in range(N):
        conversation = make_conversation(number, T)
        for model in models:
            result = oracle_result(conversation, model=model, provider=provider)
            result["judge_models"] = judges
            for turn in result["turns"]:
                place = turn["turnNumber"]
                questions = list(turn["em_draft_binary_assessment_by_model"]["judge-1"])
                turn["em_draft_judge_scores_by_model"] = {
                    judge: dict.fromkeys(RATED, vote(judge, model, number, place)) for judge in judges
                }
                turn["em_draft_binary_assessment_by_model"] = {
                    judge: {
                        question: "yes" if says is None or says(judge, model, number, i) > 0 else "no"
                        for i, question in enumerate(questions)
                    }
                    for judge in judges
                }
            write_result(folder, result)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", N, turns=T)


def ballots(folder: Path, data: Path) -> Ballots:
    return read_ballots(folder, load_conversations(data))


def table(analyses: tuple[Analysis, ...], name: str) -> Table:
    return next(table for analysis in analyses for table in analysis.tables if name == table.id)


def rows(table: Table) -> list[dict[str, Any]]:
    return [{column.id: cell for column, cell in zip(table.columns, row, strict=True)} for row in table.rows]


def test_with_all_judges_it_is_what_the_scorer_says(data: Path, tmp_path: Path) -> None:
    """Also where votes, drafts and blocks are missing, garbled or of one unnamed judge."""
    for number in range(N):
        for model in range(12):
            write_result(tmp_path / "r", noisy_result(make_conversation(number, T), model, model=f"m{model}"))
    loaded = load_conversations(data)
    found = read_ballots(tmp_path / "r", loaded)
    by_id = {conversation.conversation_id: conversation for conversation in loaded}
    scored = {
        (result.conversation_id, result.em_model): score_conversation(by_id[result.conversation_id], result)["metrics"]
        for result in load_results(tmp_path / "r").results
    }
    for metric in ("draft_judge", "draft_binary_alignment"):
        values = found.values(metric, found.judges)
        for row, name in enumerate(found.ids):
            for column, (_, model, _) in enumerate(found.groups):
                expected = scored[name, model][metric]
                assert pytest.approx(np.nan if expected is None else expected, nan_ok=True) == values[row, column]


def test_each_judge_alone_those_before_and_all_stand_beside_each_other(data: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "r", ["m"], ["a", "b", "c"], lambda judge, *_: {"a": 1, "b": 4, "c": 7}[judge])
    found = rows(table(judge_report(ballots(folder, data), added=["c"], settings=QUICK), "scores"))
    values = {row["judged_by"].value: row["draft_judge"].value for row in found}
    assert {"a": 0.0, "b": 0.5, "c": 1.0, "before: a and b": 0.25, "all: a, b and c": 0.5} == values
    moved = {row["judged_by"].value: row["draft_judge_moved"].value for row in found}
    assert {"a": -0.25, "b": 0.25, "c": 0.75, "before: a and b": None, "all: a, b and c": 0.25} == moved
    assert {N} == {row["conversations"].value for row in found}


def test_where_votes_were_replaced_before_is_how_they_were(data: Path, tmp_path: Path) -> None:
    old = ballots(write(tmp_path / "r", ["m"], ["a"], lambda *_: 1), data)
    new = ballots(write(tmp_path / "r", ["m"], ["a"], lambda *_: 4), data)
    found = rows(table(judge_report(new, added=["a"], before=old, settings=QUICK), "scores"))
    assert [("a", 0.5, 0.5), ("before: a", 0.0, None)] == [
        (row["judged_by"].value, row["draft_judge"].value, row["draft_judge_moved"].value) for row in found
    ]


def test_a_difference_has_the_interval_of_its_conversations(data: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "r", ["m"], ["a", "b"], lambda judge, _, number, __: 4 + number % 2 * (judge == "b"))
    moved = rows(table(judge_report(ballots(folder, data), added=["b"], settings=QUICK), "scores"))[-1]
    assert "all: a and b" == moved["judged_by"].value
    cell = moved["draft_judge_moved"]
    assert pytest.approx(0.25 / 6) == cell.value
    assert 0 <= cell.low < cell.value < cell.high <= 0.5 / 6 + 1e-9


def test_the_order_of_models_is_compared_with_that_by_the_judges_before(data: Path, tmp_path: Path) -> None:
    def vote(judge: str, model: str, *_: int) -> float:
        return {"x": 2, "y": 4, "z": 6}[model] if judge == "old" else {"x": 6, "y": 1, "z": 2}[model]

    folder = write(tmp_path / "r", ["x", "y", "z"], ["old", "new"], vote)
    analyses = judge_report(ballots(folder, data), added=["new"], settings=QUICK)
    found = [row for row in rows(table(analyses, "order")) if row["metric"].value == "Draft judge"]
    said = [(r["judged_by"].value, r["order"].value, r["turned"].value, r["clearly"].value) for r in found]
    assert [
        ("new", "x > z > y", 2, 2),
        ("before: old", "z > y > x", None, None),
        ("all: old and new", "x = z > y", 1, 1),
    ] == said


def test_equal_means_are_no_order(data: Path, tmp_path: Path) -> None:
    analyses = judge_report(ballots(write(tmp_path / "r", ["x", "y"], ["a", "b"], lambda *_: 4), data), settings=QUICK)
    assert {"x = y"} == {row["order"].value for row in rows(table(analyses, "order"))}


def test_agreement_on_yes_and_no_is_that_of_the_answers(data: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    drawn = {key: rng.random() < 0.7 for key in np.ndindex(2, N, 40)}
    folder = write(
        tmp_path / "r",
        ["m", "n"],
        ["a", "b"],
        lambda *_: 4,
        says=lambda judge, _, number, i: int(drawn["ab".index(judge), number, i]),
    )
    found = ballots(folder, data)
    [row] = rows(table(judge_report(found, settings=QUICK), "answers"))
    (answers,) = answers_of(found).values
    assert (len(answers), N) == (row["answers"].value, row["conversations"].value)
    assert pytest.approx(cohen_kappa_score(answers[:, 0], answers[:, 1])) == row["kappa"].value
    assert pytest.approx((answers[:, 0] == answers[:, 1]).mean()) == row["same"].value
    assert pytest.approx(answers[:, 0].mean()) == row["yes_one"].value
    assert all(row[name].low < row[name].value < row[name].high for name in ("same", "kappa", "ac1"))


def test_a_judge_that_is_a_point_stricter_orders_drafts_alike_and_differs_by_one(data: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "r", ["m"], ["a", "b"], lambda judge, _, number, turn: number % 3 + turn + (judge == "a"))
    analyses = judge_report(ballots(folder, data), settings=QUICK)
    [row] = rows(table(analyses, "marks"))
    assert (N * T, 1.0, 1.0) == (row["drafts"].value, row["spearman"].value, row["difference"].value)
    alpha = {row["kind"].value: row for row in rows(table(analyses, "alpha"))}
    assert ["yes/no questions", "ratings", *(name.replace("_", " ") for name in RATED)] == list(alpha)
    assert 0 < alpha["ratings"]["alpha"].value < 1
    assert (2, 4 * N * T) == (alpha["ratings"]["judges"].value, alpha["ratings"]["units"].value)


def test_a_judge_that_gives_its_own_vendor_more_shows(data: Path, tmp_path: Path) -> None:
    def vote(judge: str, model: str, *_: int) -> float:
        return 6 if judge == "acme/big" and model == "acme/small" else 4

    folder = write(tmp_path / "r", ["small", "other"], ["acme/big", "umbra/judge"], lambda *_: 4)
    assert "family" not in {t.id for a in judge_report(ballots(folder, data), settings=QUICK) for t in a.tables}
    for path in folder.glob("*.json"):
        path.unlink()
    for number in range(N):
        for model in ("acme/small", "umbra/mini"):
            result = oracle_result(make_conversation(number, T), model=model)
            result["judge_models"] = ["acme/big", "none/judge"]
            for turn in result["turns"]:
                turn["em_draft_judge_scores_by_model"] = {
                    judge: dict.fromkeys(RATED, vote(judge, model)) for judge in result["judge_models"]
                }
            write_result(folder, result, f"{number}-{model.replace('/', '-')}.json")
    [row] = rows(table(judge_report(ballots(folder, data), settings=QUICK), "family"))
    assert ("acme/big", "acme/small", 2.0, 0.0) == tuple(
        row[name].value for name in ("judge", "models", "own", "other")
    )


@pytest.mark.parametrize(
    ("judge", "model", "same"),
    [
        ("gpt-5", "openai/gpt-5", True),
        ("openai/gpt-5-mini", "openai/o9", True),
        ("gpt-5-2030-01-01", "gpt-5", True),
        ("gpt-5", "gpt-5-mini", False),
        ("judge", "model", False),
    ],
)
def test_families_are_told_by_names_that_say_so_and_never_guessed(judge: str, model: str, same: bool) -> None:
    assert same == own_family(judge, model) == own_family(model, judge)


def test_one_judge_or_none_is_said_and_makes_no_table_of_agreement(data: Path, tmp_path: Path) -> None:
    one = judge_report(ballots(write(tmp_path / "one", ["m"], ["a"], lambda *_: 4), data), settings=QUICK)
    assert one[0].tables
    assert one[1].missing
    assert not one[1].tables
    none = judge_report(ballots(write(tmp_path / "none", ["m"], [], lambda *_: 4), data), settings=QUICK)
    assert all(analysis.missing and not analysis.tables for analysis in none)


@pytest.mark.parametrize("blocks", [("scores",), ("scores", "binary_assessment")])
@pytest.mark.parametrize("numbers", [(N - 1,), range(N)])
def test_conversations_without_votes_change_no_coefficient(
    data: Path, tmp_path: Path, blocks: tuple[str, ...], numbers: Iterable[int]
) -> None:
    folder = write(tmp_path / "r", ["m"], ["a", "b"], lambda judge, _, number, turn: number % 3 + turn + (judge == "a"))
    ids = {make_conversation(number, T)["conversationId"] for number in numbers}
    for path in folder.glob("*.json"):
        result = json.loads(path.read_text())
        for turn in result["turns"] if result["conversationId"] in ids else ():
            turn |= {f"em_draft_{'judge_' if block == 'scores' else ''}{block}_by_model": {} for block in blocks}
        path.write_text(json.dumps(result))
    analyses, left = judge_report(ballots(folder, data), settings=QUICK), N - len(ids)
    if not left and len(blocks) > 1:
        assert all(analysis.missing for analysis in analyses)
        return
    [row] = rows(table(analyses, "marks"))
    assert (left * T, left, 1.0 if left else None) == tuple(
        row[name].value for name in ("drafts", "conversations", "difference")
    )


def test_judges_of_different_drafts_share_nothing_and_nothing_is_claimed(data: Path, tmp_path: Path) -> None:
    write(tmp_path / "r", ["m"], ["a"], lambda *_: 4)
    write(tmp_path / "r", ["n"], ["b"], lambda *_: 5)
    analyses = judge_report(ballots(tmp_path / "r", data), added=["b"], settings=QUICK)
    [answers] = rows(table(analyses, "answers"))
    [marks] = rows(table(analyses, "marks"))
    assert (0, 0, None, None) == (
        answers["answers"].value,
        marks["drafts"].value,
        answers["ac1"].value,
        marks["spearman"].value,
    )
    assert {0} == {row["conversations"].value for row in rows(table(analyses, "order"))}


def test_results_that_are_there_twice_or_of_no_known_conversation_do_not_count(data: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "r", ["m"], ["a"], lambda *_: 4)
    paths = sorted(folder.glob("*.json"))
    (folder / "again.json").write_bytes(paths[0].read_bytes())
    lost = json.loads(paths[1].read_text())
    paths[1].write_text(json.dumps({**lost, "conversationId": "gone"}))
    assert N - 2 == len({draft.result for draft in ballots(folder, data).drafts})


@pytest.mark.parametrize("by_participant", [False, True])
def test_two_reports_of_the_same_votes_are_the_same_to_the_byte(
    data: Path, tmp_path: Path, by_participant: bool
) -> None:
    folder = write(tmp_path / "r", ["x", "y"], ["a", "b"], lambda judge, _, n, t: 1 + (ord(judge) + n * t) % 7)
    settings = Settings(resamples=200, by_participant=by_participant)
    for format in FORMATS:
        first, second = (render(judge_report(ballots(folder, data), settings=settings), format) for _ in range(2))
        assert first == second
        assert "nan" not in first.lower()
