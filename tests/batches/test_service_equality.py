"""A run by batches gives the results that a live run gives on the same replies, and each knows the other's work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from batch_runs import predictions, run_by_batches, settings_at
from batch_server import BatchServer, Made, Said, varied
from factory import write_conversations

import attunebench
from attunebench.selftest.answers import first_ask
from attunebench.selftest.server import Answer, Asked, Status

JUDGES = ("judge-a", "judge-b")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", 2, seed=5, turns=2)


def at_first_unusable(asked: Asked) -> Said:
    """No answer in the first reply to every other call, and a cut one here and there: they are asked again."""
    is_first = first_ask(asked.prompt) == asked.prompt
    kind = len(asked.prompt) % 5
    if is_first and kind in (0, 1) and asked.body.get("max_tokens") == 4096:
        return Answer("I would rather not say." if kind else '{"dra', finish_reason="stop" if kind else "length")
    return varied(asked)


def refusing_schemas(asked: Asked) -> Said:
    if asked.schema:
        return Status(400, {"error": {"message": "response_format json_schema is not supported by this model"}})
    return varied(asked)


def in_odd_forms(asked: Asked) -> Said:
    """Thoughts, a call of a tool, a wrapper, an ending of another name, as long as is allowed, and too long."""
    said = varied(asked)
    text = said.text if isinstance(said, Answer) else ""
    limit = asked.body.get("max_tokens")
    return (
        Answer(f"[THINK]{{'overall_score': 1}} or {text} but no.[/THINK]{text}"),
        Answer(message={"content": None, "tool_calls": [{"function": {"name": "x", "arguments": text}}]}),
        Answer(json.dumps({"name": "x", "parameters": {}})[:-2] + f"{text}}}"),
        Answer("I am so sorry, that", finish_reason="SAFETY"),
        Answer("I am so sorry, that", extra={"usage": {"prompt_tokens": "9", "completion_tokens": f"{limit}.0"}}),
        Answer("word " * 250_000, finish_reason=None),
        said,
    )[len(asked.prompt) % 7]


@pytest.mark.parametrize("says", [at_first_unusable, refusing_schemas, in_odd_forms])
def test_results_are_those_of_a_live_run(data: Path, tmp_path: Path, says: Any) -> None:
    """In two modes, with two judges; with reasks; with a parameter that the model does not take."""
    with BatchServer(says=says) as server:
        wanted = {"judges": JUDGES, "modes": ("default", "verbose_omniscient")}
        run = run_by_batches(data, settings_at(server.url, tmp_path / "batches", **wanted))
        live = attunebench.run(data, settings_at(server.url, tmp_path / "live", **wanted, concurrency=4))
    assert predictions(tmp_path / "live") == predictions(tmp_path / "batches")
    assert 4 == len(predictions(tmp_path / "batches"))
    ours, theirs = run.summary, live
    for name in ("jobs", "written", "calls", "reasks", "answered_items", "expected_items", "votes_owed", "unreached"):
        assert getattr(theirs, name) == getattr(ours, name), name
    assert theirs.spending.model.replies == ours.spending.model.replies
    assert theirs.spending.wasted.replies == ours.spending.wasted.replies


def test_a_live_run_finds_everything_complete_and_so_does_another_one_by_batches(data: Path, tmp_path: Path) -> None:
    with BatchServer() as server:
        settings = settings_at(server.url, tmp_path / "results", judges=JUDGES)
        run_by_batches(data, settings)
        asked = server.asked
        again = run_by_batches(data, settings)
        live = attunebench.run(data, settings)
        assert asked == server.asked
        assert [] == server.fake.bodies
    assert (0, 2) == (again.summary.written, again.summary.complete_before)
    assert (0, 2) == (live.written, live.complete_before)


def test_judges_that_are_added_later_vote_by_batches(data: Path, tmp_path: Path) -> None:
    with BatchServer() as server:
        run_by_batches(data, settings_at(server.url, tmp_path / "results"))
        run = run_by_batches(data, settings_at(server.url, tmp_path / "results", judges=JUDGES))
        assert {"judge-a", "judge-b"} == {made.model for made in server.made[1:]}
        attunebench.run(data, settings_at(server.url, tmp_path / "live", judges=JUDGES))
    assert predictions(tmp_path / "live") == predictions(tmp_path / "results")
    assert 0 == run.summary.votes_owed


def test_judges_whose_batches_end_one_after_the_other_have_all_voted(data: Path, tmp_path: Path) -> None:
    def course(made: Made) -> list[str]:
        return [*(["in_progress"] * 3 if made.model == "judge-b" else []), "completed"]

    with BatchServer(course=course) as server:
        run_by_batches(data, settings_at(server.url, tmp_path / "r"))
        both = settings_at(server.url, tmp_path / "r", judges=("judge-a", "judge-b"))
        added = run_by_batches(data, both)
        assert (0, 2) == (added.summary.votes_owed, len(predictions(tmp_path / "r")))
        run_by_batches(data, settings_at(server.url, tmp_path / "whole", judges=("judge-a", "judge-b")))
    assert predictions(tmp_path / "whole") == predictions(tmp_path / "r")


def test_unanswered_calls_are_asked_once_more_on_demand(data: Path, tmp_path: Path) -> None:
    """What was final and incomplete is answered now; nothing else is sent."""
    with BatchServer(
        says=lambda asked: Answer("no") if asked.prompt.count("pairwise_selections") else varied(asked)
    ) as server:
        run_by_batches(data, settings_at(server.url, tmp_path / "results", max_reasks=0))
        server.says = varied
        run = run_by_batches(data, settings_at(server.url, tmp_path / "results", max_reasks=0, retry_unanswered=True))
        assert 2 == len(server.made)
        assert 4 == len(server.made[1].lines)
    assert 2 == run.summary.written
