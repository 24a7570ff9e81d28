"""A file that holds no scores is known for what it is, by every command that takes scores: a sentence, no traceback."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation
from result_factory import oracle_result
from typer.main import get_command

from attunebench.cli.main import app

FURTHER = {"analyze": ("leaders",), "subset-report": ("-d", "."), "figures": ("--only", "leaderboard")}
"""What a command needs beside its scores to get as far as reading them."""


def _nested(depth: int) -> Any:
    value: Any = 0.5
    for level in range(depth):
        value = {f"level{level}": [value, value]} if level < 12 else {"x": value}
    return value


OTHERS: dict[str, tuple[Any, str]] = {
    "nested-by-model": (
        {"gpt": {"default": {"composite": 61.2}}, "claude": {"default": {"composite": 63.0}}},
        "name the",
    ),
    "list": ([{"model": "a", "score": 0.5}], "a list"),
    "lm-eval": (
        {"results": {"arc": {"acc,none": 0.5}}, "configs": {"arc": {}}, "versions": {"arc": 1}, "n-shot": {"arc": 0}},
        "lm-evaluation-harness",
    ),
    "inspect": (
        {
            "version": 2,
            "status": "success",
            "eval": {"task": "t"},
            "plan": {},
            "results": {"scores": []},
            "samples": [],
        },
        "Inspect AI",
    ),
    "helm": ({"adapter_spec": {"model": "a"}, "request_states": []}, "HELM"),
    "helm-stats": ([{"name": {"name": "exact_match"}, "count": 3, "sum": 2.0, "mean": 0.66}], "a list"),
    "result": (oracle_result(make_conversation(1, turns=3)), "the result of one conversation"),
    "conversation": (make_conversation(1, turns=3), "a conversation"),
    "empty-object": ({}, "empty"),
    "empty-list": ([], "empty"),
    "number": (3.5, "name the"),
    "null": (None, "name the"),
    "analysis": ({"schema_version": 1, "analyses": []}, "another command"),
    "report": ({"schema_version": 1, "groups": [], "sections": []}, "another command"),
    "wide": ({f"model{i}": {"scores": list(range(50))} for i in range(2000)}, "name the"),
    "deep": (_nested(20), "name the"),
    "foreign-aggregates": (
        {"schema_version": "1.0", "metadata": {}, "conversations": [], "aggregates": [{"mean": 1}]},
        "attune-bench score",
    ),
    "without-anything": (
        {"schema_version": "1.1", "metadata": {}, "conversations": [], "aggregates": []},
        "attune-bench score",
    ),
    "aggregates-by-name": (
        {"schema_version": "1.1", "metadata": {}, "conversations": [], "aggregates": {"a": 1}},
        "name the",
    ),
    "strings": (
        {"schema_version": "1.1", "metadata": {}, "conversations": ["a"], "aggregates": ["b"]},
        "attune-bench score",
    ),
}


@cache
def commands() -> list[str]:
    """Every command with an option --scores."""
    group: Any = get_command(app)
    found = {name: group.get_command(None, name).params for name in group.list_commands(None)}
    return [name for name, options in found.items() if any("--scores" in option.opts for option in options)]


def test_the_commands_that_take_scores_are_found() -> None:
    assert {"report", "compare", "analyze", "figures", "stats"} <= set(commands())


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("command", commands())
def test_what_is_no_scores_file_is_named_and_a_way_out_with_it(cli: Any, command: str, name: str) -> None:
    content, expected = OTHERS[name]
    Path("other.json").write_text(json.dumps(content), encoding="utf-8")
    ended = cli(command, *FURTHER.get(command, ()), "-s", "other.json")
    assert (2, "") == (ended.status, ended.out)
    assert expected in ended.err
    assert "bug" not in ended.err
    assert len(ended.err) < 400
