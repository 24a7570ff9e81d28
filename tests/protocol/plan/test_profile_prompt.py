"""The prompt that asks for a profile: nothing but the talk reaches it, and it changes no prompt of the benchmark."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from factory import make_conversation
from talks import parsed

from attunebench.conversations.traits import CANNOT_TELL, TRAITS, Trait, traits_of
from attunebench.prompts import prompt_set_sha256, render, template_names
from attunebench.protocol.calls import PREDICTED_PROFILE, Call
from attunebench.protocol.plan import PROFILE_TEMPLATES, plan_profile

RAW = make_conversation(11, 2)
MESSAGES = ("userMessage", "llmResponse")


def call(raw: dict[str, Any]) -> Call:
    conversation = parsed(raw)
    return plan_profile(conversation, traits_of([conversation]))


BEFORE = call(RAW)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(child, (*path, key))
    else:
        yield path


def with_another_value(path: tuple[str | int, ...]) -> dict[str, Any]:
    raw = copy.deepcopy(RAW)
    parent: Any = raw
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = "sentinel" if isinstance(parent[path[-1]], str) else None
    return raw


@pytest.mark.parametrize(
    "block", ["participant_profile", "metadata", "prePanas", "postPanas", "conversationWideQuestions"]
)
def test_a_conversation_without_it_is_asked_the_same(block: str) -> None:
    raw = {key: value for key, value in RAW.items() if key != block}
    assert BEFORE.messages == call(raw).messages
    assert BEFORE.schema == call(raw).schema


@pytest.mark.parametrize(
    "path",
    [path for path in leaves(RAW) if path[0] in ("participant_profile", "metadata")],
    ids=lambda path: ".".join(map(str, path)),
)
def test_no_value_of_a_profile_or_of_metadata_reaches_the_prompt(path: tuple[str | int, ...]) -> None:
    after = call(with_another_value(path))
    assert (BEFORE.messages, BEFORE.schema) == (after.messages, after.schema)


def test_no_label_of_a_turn_reaches_the_prompt() -> None:
    raw = copy.deepcopy(RAW)
    for turn in raw["turns"]:
        turn["moodShiftTags"] = []
        turn["annotations"] = {"binaryJudgements": [], "pairwiseComparisons": [], "alternateResponses": {}}
    assert BEFORE.messages == call(raw).messages


def test_the_form_of_the_data_s_asrs_does_not_show() -> None:
    raw = copy.deepcopy(RAW)
    raw["participant_profile"]["computed_scores"]["asrs_6"] = 20
    assert BEFORE.messages == call(raw).messages


@pytest.mark.parametrize("key", MESSAGES)
def test_every_message_is_shown(key: str) -> None:
    prompt = BEFORE.messages[1].content
    assert all(turn[key] in prompt for turn in RAW["turns"])


@pytest.mark.parametrize("trait", TRAITS, ids=lambda trait: trait.id)
def test_the_task_names_every_trait_and_all_its_answers(trait: Trait) -> None:
    task = render("profile_prediction/task")
    (line,) = (line for line in task.splitlines() if trait.id in line.partition(":")[0] and '"<' not in line)
    assert f'"{trait.id}": ' in task
    assert [] == [option for option in trait.options if f'"{option}"' not in line]
    if not trait.options:
        assert f"from {trait.low}" in line
        assert f"to {trait.high}" in line


def test_the_schema_allows_every_answer_and_to_decline() -> None:
    answers = BEFORE.schema["properties"][PREDICTED_PROFILE]["properties"]
    assert [trait.id for trait in TRAITS] == list(answers)
    for trait in TRAITS:
        one = answers[trait.id].get("items", answers[trait.id])
        numbers = [str(number) for number in range(trait.low, trait.high + 1)] if not trait.options else []
        assert {*trait.options, *numbers, CANNOT_TELL} == set(one["enum"])


def test_the_digest_of_the_benchmark_s_prompts_is_what_it_was() -> None:
    """Another digest makes the results that people have count as made with other prompts: change it only on purpose."""
    assert "0828d4c07ce1601b01f59917f4fe03ead7b39020bacc731e147cddb409d6e6c5" == prompt_set_sha256()
    assert [] == [name for name in template_names() if "/" in name]


def test_the_prompt_of_the_quality_scale_is_what_it_was() -> None:
    """The digest of all prompts does not hold it: another wording of it would make votes of two kinds look alike."""
    assert "cbc563213ea90bea3c61d78d1cfbba74b3a5252d65c0eef1d4ae08d4cfc8c0ef" == prompt_set_sha256(("judging/quality",))


def test_the_prompts_of_profiles_have_a_digest_of_their_own() -> None:
    assert prompt_set_sha256(PROFILE_TEMPLATES) != prompt_set_sha256()
