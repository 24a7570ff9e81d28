"""Every answer schema stays within what strict structured outputs have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from talks import talk

from attunebench.codebook import default_codebook
from attunebench.protocol.calls import BLIND, PanasStrategy
from attunebench.protocol.modes import MODES
from attunebench.protocol.plan import plan_conversation

CODEBOOK = default_codebook()


def nodes(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for child in schema.get("properties", {}).values():
        yield from nodes(child)
    if "items" in schema:
        yield from nodes(schema["items"])


@pytest.mark.parametrize("strategy", ["absolute", "blind", "delta", "blind_delta"])
def test_objects_are_closed_and_all_their_keys_required(strategy: PanasStrategy) -> None:
    for mode in MODES[:2] if strategy in BLIND else MODES:
        for call in plan_conversation(talk(), mode, CODEBOOK, judges=1, panas_strategy=strategy):
            for node in nodes(call.schema):
                if node["type"] == "object":
                    assert {"type", "properties", "required", "additionalProperties"} == set(node)
                    assert node["additionalProperties"] is False
                    assert list(node["properties"]) == node["required"] != []
                else:
                    assert set(node) <= {"type", "enum", "items"}
                    assert node["type"] in ("string", "integer", "array")


def test_reasoning_comes_first_where_it_is_asked_for() -> None:
    for call in plan_conversation(talk(), "verbose", CODEBOOK, judges=1):
        assert (call.kind != "judge") == ("reasoning" == call.schema["required"][0]), call.id
    for call in plan_conversation(talk(), "default", CODEBOOK, judges=1):
        assert not any("reasoning" in key for key in call.schema["required"])


def test_the_prompt_and_the_schema_name_the_same_keys() -> None:
    for call in plan_conversation(talk(), "verbose", CODEBOOK, judges=1):
        form = call.messages[1].content.split("Format (JSON):")[-1]
        at = [form.index(f'"{key}"') for key in call.schema["required"]]
        assert sorted(at) == at, call.id


def test_calls_of_one_shape_share_their_schema() -> None:
    one, two = (call for call in plan_conversation(talk(1, 2), "default", CODEBOOK) if call.kind == "draft")
    assert one.schema is two.schema
