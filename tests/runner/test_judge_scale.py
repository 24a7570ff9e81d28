"""The scale of judges' votes: what a folder holds decides where nobody does, and another scale is never slipped in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from keys import KEY
from lines import Told
from pydantic import SecretStr

import attunebench
from attunebench.errors import DataError
from attunebench.runner import ModelSettings, RunSettings, RunSummary
from attunebench.runner.pricing import estimate_run
from attunebench.runner.rejudge import estimate_rejudge, rejudge_settings
from attunebench.selftest.server import FakeServer

CONVERSATIONS, TURNS = 2, 3
ALL = CONVERSATIONS * TURNS
Run = Callable[..., RunSummary]
SCALES = "em_draft_judge_scale_by_model"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted(folder.glob("[!_.]*.json"))]


def scales(folder: Path, judge: str = "judge") -> Counter[str | None]:
    """The scales that the votes of a judge name."""
    return Counter(
        turn.get(SCALES, {}).get(judge)
        for result in read(folder)
        for turn in result["turns"]
        if judge in turn["em_draft_judge_scores_by_model"]
    )


def as_before_there_were_scales(folder: Path) -> None:
    for path in folder.glob("[!_.]*.json"):
        result = json.loads(path.read_bytes())
        for turn in result["turns"]:
            turn.pop(SCALES)
        path.write_text(json.dumps(result))


def asked(server: FakeServer) -> Counter[str]:
    return Counter(body["model"] for body in server.bodies)


def rejudged(data: Path, server: FakeServer, folder: Path, *judges: str, **values: Any) -> RunSummary:
    where = [
        ModelSettings(provider="local", model=name, base_url=server.url, api_key=SecretStr(KEY)) for name in judges
    ]
    return attunebench.rejudge(data, rejudge_settings(folder, where, **{"max_tries": 3, **values})).run


@pytest.fixture
def rerun(run: Run, server: FakeServer) -> Run:
    """`run` again, after a run whose judge rates on the older scale."""
    run(judges=("judge",), judge_scale="relative")
    server.asked.clear()
    return run


def test_votes_name_their_scale_which_is_quality_where_nothing_is_said(run: Run, folder: Path) -> None:
    run(judges=("judge",))
    assert {"quality": ALL} == scales(folder)


def test_a_finished_folder_without_scales_keeps_its_own_and_asks_for_nothing(
    rerun: Run, server: FakeServer, folder: Path
) -> None:
    as_before_there_were_scales(folder)
    server.asked.clear()
    told = Told()
    assert CONVERSATIONS == rerun(judges=("judge",), observer=told).complete_before
    assert [] == server.bodies
    assert 1 == sum("relative scale" in sentence for sentence in told.warnings)


def test_votes_that_only_the_journal_holds_keep_the_scale_and_are_not_bought_again(
    rerun: Run, server: FakeServer, folder: Path
) -> None:
    for path in folder.glob("[!_.]*.json"):
        path.unlink()
    server.asked.clear()
    rerun(judges=("judge",))
    assert [] == server.bodies
    assert {"relative": ALL} == scales(folder)


def test_a_judge_that_is_added_rates_on_the_scale_of_those_that_are_there(
    rerun: Run, server: FakeServer, folder: Path
) -> None:
    rerun(judges=("judge", "second"))
    assert {"second": ALL} == asked(server)
    assert {"relative": ALL} == scales(folder, "second")


def test_another_scale_stops_before_anything_is_sent_and_says_what_it_would_cost(
    rerun: Run, server: FakeServer, folder: Path
) -> None:
    before = read(folder)
    server.asked.clear()
    with pytest.raises(DataError, match=rf"judge scale .*{ALL} judge.*\$.*--replace"):
        rerun(judges=("judge",), judge_scale="quality", judge_price_in=2.0, judge_price_out=8.0)
    assert [] == server.asked
    assert before == read(folder)


def test_votes_on_another_scale_are_replaced_by_votes_alone(run: Run, server: FakeServer, folder: Path) -> None:
    run(judges=("judge", "second"), judge_scale="relative")
    server.asked.clear()
    run(judges=("judge",), judge_scale="quality", replace=True)
    assert {"judge": ALL} == asked(server)
    assert {"quality": ALL} == scales(folder)
    assert {"relative": ALL} == scales(folder, "second")
    server.asked.clear()
    assert CONVERSATIONS == run(judges=("judge",)).complete_before
    assert CONVERSATIONS == run(judges=("second",)).complete_before
    assert [] == server.bodies


def test_judging_again_on_another_scale_needs_to_be_told_to_replace(
    rerun: Run, server: FakeServer, data: Path, folder: Path
) -> None:
    rejudged(data, server, folder, "judge")
    with pytest.raises(DataError, match="--replace"):
        rejudged(data, server, folder, "judge", judge_scale="quality")
    assert [] == server.bodies
    rejudged(data, server, folder, "judge", judge_scale="quality", replace=True)
    assert {"judge": ALL} == asked(server)
    assert {"quality": ALL} == scales(folder)
    server.asked.clear()
    assert CONVERSATIONS == rerun(judges=("judge",)).complete_before
    assert [] == server.bodies


def test_a_new_judge_may_rate_on_another_scale_beside_those_that_are_there(
    rerun: Run, server: FakeServer, data: Path, folder: Path
) -> None:
    rejudged(data, server, folder, "second", judge_scale="quality")
    assert {"relative": ALL} == scales(folder)
    assert {"quality": ALL} == scales(folder, "second")


def test_estimates_go_by_the_scale_of_the_folder(rerun: Run, server: FakeServer, data: Path, folder: Path) -> None:
    conversations = attunebench.load_conversations(data).conversations
    codebook = attunebench.codebook.default_codebook()
    em, judge = (ModelSettings(provider="local", model=name, base_url=server.url) for name in ("fake-model", "judge"))
    live = estimate_run(conversations, RunSettings(em=em, judges=(judge,), output=folder), codebook)
    again = estimate_rejudge(conversations, rejudge_settings(folder, [judge]), codebook)
    for estimate in (live, again):
        assert (0, CONVERSATIONS, 1) == (estimate.calls, estimate.complete, len(estimate.notes))


def test_replies_are_read_again_on_the_scale_on_which_they_were_asked(rerun: Run, data: Path, folder: Path) -> None:
    as_before_there_were_scales(folder)
    rerun(judges=("judge", "second"))
    before = read(folder)
    summary = attunebench.reparse(folder, data)
    assert (CONVERSATIONS, {}) == (summary.unchanged, summary.left)
    assert before == read(folder)


def test_a_judge_is_added_after_a_text_was_corrected_that_the_model_never_saw(
    run: Run, data: Path, folder: Path
) -> None:
    """The result cannot be scored any more, but its drafts can be judged."""
    path = data / "conversation_1.json"
    talk = json.loads(path.read_bytes())
    talk["turns"][0]["annotations"] |= {"pairwiseComparisons": [], "selectedPairwiseQuestions": []}
    path.write_text(json.dumps(talk))
    run()
    talk["turns"][0]["annotations"]["alternateResponses"]["humanEdited"] = "Another reference."
    path.write_text(json.dumps(talk))
    assert {} == run(judges=("judge",)).skipped
    assert {"quality": ALL} == scales(folder)
    assert [True, False] == [bool(result["scores"]) for result in sorted(read(folder), key=_is_changed)]


def _is_changed(result: dict[str, Any]) -> bool:
    return bool(result["source_file"] == "conversation_1.json")
