"""What is said of a plan whose calls the journal knows under other hashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from entries import an_entry, keep
from factory import write_conversations

from attunebench import load_conversations, plan_calls
from attunebench.journal import Hasher, Journal
from attunebench.protocol.calls import Call, Message
from attunebench.runner.fingerprint import CacheReport

TARGET: dict[str, Any] = {"provider": "local", "base_url": "u", "model": "m", "parameters": {"temperature": 0.0}}


@pytest.fixture
def calls(tmp_path: Path) -> Sequence[Call]:
    """Nine calls of a conversation of two turns, and the votes of one judge."""
    return list(plan_calls(load_conversations(write_conversations(tmp_path / "data", 1, seed=1, turns=2)), judges=1))


@pytest.fixture
def told(tmp_path: Path, calls: Sequence[Call]) -> Callable[..., CacheReport]:
    """`told(calls, **target)`: what is new in them after the plain calls were kept."""
    hasher = Hasher(**TARGET)
    keep(
        tmp_path,
        *(
            an_entry(
                request_hash=hashed.request,
                call_id=call.id,
                prompt_sha256=hashed.prompt,
                schema_sha256=hashed.schema,
                parameters=hasher.parameters,
                base_url="u",
            )
            for call in calls
            for hashed in [hasher(call, call.messages, 0)]
        ),
    )

    def look(planned: Sequence[Call], folder: Path = tmp_path, **target: Any) -> CacheReport:
        with Journal.read(folder) as journal:
            report = CacheReport(journal, {0: Hasher(**{**TARGET, **target})})
            report.unknown(planned)
        return report

    return look


def reworded(call: Call, *kinds: str) -> Call:
    return replace(call, messages=(*call.messages, Message("user", "And?"))) if call.kind in kinds else call


def test_a_plan_that_is_known_is_counted_without_its_votes_and_nothing_is_said(
    told: Callable[..., CacheReport], calls: Sequence[Call]
) -> None:
    report = told(calls)
    assert sum(call.judge is None for call in calls) == report.journalled
    assert [] == report.sentences()


EACH = (("2 calls are", "review"), ("1 call is", "post"))


def test_a_prompt_that_changed_is_named(told: Callable[..., CacheReport], calls: Sequence[Call]) -> None:
    report = told([reworded(call, "review") for call in calls])
    assert ["2 calls are new because the review prompt changed."] == report.sentences()
    report = told([reworded(call, "review", "post") for call in calls])
    named = [f"{calls} new because the {kind} prompt changed." for calls, kind in EACH]
    assert named == report.sentences()


def test_an_answer_schema_that_changed_is_named(told: Callable[..., CacheReport], calls: Sequence[Call]) -> None:
    changed = [replace(call, schema={"type": "object"}) if call.kind == "post" else call for call in calls]
    assert ["1 call is new because the post answer schema changed."] == told(changed).sentences()


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ({"parameters": {"temperature": 0.7}}, "temperature (0.0 before, 0.7 now)"),
        ({"parameters": {"temperature": None}}, "temperature (0.0 before, none now)"),
        ({"base_url": "v"}, "the address (u before, v now)"),
        ({"provider": "openai"}, "the provider (local before, openai now)"),
    ],
)
def test_a_setting_that_changed_is_named_with_both_values(
    told: Callable[..., CacheReport], calls: Sequence[Call], target: dict[str, Any], named: str
) -> None:
    report = told(calls, **target)
    own = sum(call.judge is None for call in calls)
    assert [f"{own} calls are new because {named} changed."] == report.sentences()
    assert 0 == report.journalled


def test_nothing_is_said_of_another_model_another_conversation_or_a_fresh_journal(
    told: Callable[..., CacheReport], calls: Sequence[Call], tmp_path: Path
) -> None:
    (tmp_path / "fresh").mkdir()
    assert [] == told(calls, model="other").sentences()
    assert [] == told([replace(call, id=f"x{call.id}") for call in calls]).sentences()
    assert [] == told(calls, folder=tmp_path / "fresh").sentences()
