"""Thoughts never count, whatever marks them: each family of marks, around objects and around a bare draft."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.protocol.calls import Answer, Asked
from attunebench.protocol.read.thoughts import MARKS, spoken, without_thoughts

Reader = Callable[..., Answer]
TWO = Asked("pairwise", comparisons={"0": ("Reply 2", "Reply 1"), "1": ("Reply 1", "Reply 3")})
THOUGHTS = 'Perhaps {"0": "A", "1": "A", "drafted_response": "first idea"}? No, think again.'
ANSWER = '{"0": "B", "1": "B"}'
DRAFT = "I am sorry. What would help most?"

WAYS: dict[str, str] = {
    "think": "<think>{thoughts}</think>{answer}",
    "spaces and attributes": '< Think budget="3" >{thoughts}</ THINK >{answer}',
    "thinking": "<thinking>\n{thoughts}\n</thinking>\n\n{answer}",
    "thought": "<thought>{thoughts}</thought>{answer}",
    "reasoning": "<reasoning>{thoughts}</reasoning>{answer}",
    "reflection": "<reflection>{thoughts}</reflection>{answer}",
    "analysis": "<analysis>{thoughts}</analysis>{answer}",
    "scratchpad": "<scratchpad>{thoughts}</scratchpad>{answer}",
    "Anthropic": "<thinking>{thoughts}</thinking>{answer}",
    "Seed": "<seed:think>{thoughts}</seed:think>{answer}",
    "LongCat": "<longcat_think>{thoughts}</longcat_think>{answer}",
    "Mistral": "[THINK]{thoughts}[/THINK]{answer}",
    "small square brackets": "[thinking]{thoughts}[/thinking]{answer}",
    "Kimi": "◁think▷{thoughts}◁/think▷{answer}",
    "Gemma": "<|channel>thought\n{thoughts}<channel|>{answer}",
    "harmony": "<|channel|>analysis<|message|>{thoughts}<|end|><|start|>assistant<|channel|>final"
    "<|message|>{answer}<|return|>",
    "harmony, constrained": "<|channel|>analysis<|message|>{thoughts}<|end|><|start|>assistant<|channel|>final "
    "<|constrain|>json<|message|>{answer}<|return|>",
    "harmony with commentary": "<|start|>assistant<|channel|>analysis<|message|>So.<|end|><|start|>assistant<|channel|>"
    "commentary to=functions.x <|constrain|>json<|message|>{thoughts}<|call|><|start|>assistant<|channel|>final"
    "<|message|>{answer}",
    "harmony without a final channel": "<|channel|>analysis<|message|>{thoughts}<|end|>{answer}",
    "harmony without tokens": "analysis{thoughts}assistantfinal{answer}",
    "harmony without tokens, commentary": "analysis{thoughts}assistantcommentary{thoughts}assistantfinal{answer}",
    "harmony without tokens, twice": "analysis{thoughts}assistantanalysis{thoughts}assistantfinal{answer}",
    "Cohere": "<|START_THINKING|>{thoughts}<|END_THINKING|><|START_RESPONSE|>{answer}<|END_RESPONSE|>",
    "Cohere without tokens": "START_THINKING{thoughts}END_THINKINGSTART_RESPONSE{answer}END_RESPONSE",
    "tokens that end in end": "<|thinking_start|>{thoughts}<|thinking_end|>{answer}",
    "a fence": "```thinking\n{thoughts}\n```\n{answer}",
    "Chinese tags": "<思考>{thoughts}</思考>{answer}",
    "Chinese headings": "思考过程\uff1a\n{thoughts}\n\n最终答案\uff1a\n{answer}",
    "Sky": "<|begin_of_thought|>{thoughts}<|end_of_thought|>\n\n<|begin_of_solution|>\n{answer}\n<|end_of_solution|>",
    "Solar": "<|think|>{thoughts}<|end|><|begin|>assistant<|content|>{answer}",
    "Apertus": "<|inner_prefix|>{thoughts}<|inner_suffix|>{answer}",
    "Granite": "Here is my thought process:\n{thoughts}\n\nHere is my response:\n{answer}",
    "Granite tags": "<think>{thoughts}</think>\n<response>{answer}</response>",
    "answer tags": "<think>{thoughts}</think><answer>{answer}</answer> I hope this helps.",
    "answer tags alone": "{thoughts} <answer>{answer}</answer>",
    "GLM": "<think>{thoughts}</think><|begin_of_box|>{answer}<|end_of_box|>",
    "roles": "<|im_start|>think\n{thoughts}\n<|im_start|>answer\n{answer}<|im_end|>",
    "folded": '<details type="reasoning" done="true">\n<summary>Thought for 3 s</summary>\n{thoughts}\n</details>\n'
    "{answer}",
    "Ollama": "Thinking...\n{thoughts}\n...done thinking.\n\n{answer}",
    "escaped": "&lt;think&gt;{thoughts}&lt;/think&gt;{answer}",
    "headings": "## Thinking\n\n{thoughts}\n\n## Final Response\n\n{answer}",
    "bold headings": "**Analysis:** {thoughts}\n**Final answer:** {answer}",
    "a lone closing tag": "{thoughts}</think>{answer}",
    "a lone closing token": "{thoughts}<|END_THINKING|>{answer}",
    "twice": "<think>{thoughts}</think><think>{thoughts}</think>{answer}",
    "one family in another": "<thinking>{thoughts}<reflection>{thoughts}</reflection>{thoughts}</thinking>{answer}",
    "one in itself": "<think>a <think>b</think> {thoughts}</think>{answer}",
    "the name of a mark in thoughts": "<think>I write <answer> later. {thoughts}</think>{answer}",
    "the wrong closing tag": "<think>{thoughts}</thinking>{answer}",
    "an empty tag": "<think/>{answer}",
    "the model's end": "<think>{thoughts}</think>{answer}<|im_end|>\n<|im_start|>user\n{thoughts}",
}


@pytest.mark.parametrize("way", WAYS)
def test_only_what_follows_thoughts_is_the_answer(way: str, read: Reader) -> None:
    answer = read(TWO, WAYS[way].replace("{thoughts}", THOUGHTS).replace("{answer}", ANSWER))
    assert (answer.values, answer.outcome) == ({"pairwise_selections": {"0": "B", "1": "B"}}, "answered")


@pytest.mark.parametrize("way", WAYS)
def test_what_the_answer_leaves_out_is_not_taken_from_thoughts(way: str, read: Reader) -> None:
    answer = read(TWO, WAYS[way].replace("{thoughts}", THOUGHTS).replace("{answer}", '{"1": "B"}'))
    assert answer.values == {"pairwise_selections": {"1": "B"}}


@pytest.mark.parametrize("way", WAYS)
def test_a_bare_draft_is_what_follows_thoughts(way: str, read: Reader) -> None:
    text = WAYS[way].replace("{thoughts}", "Is this person sad?").replace("{answer}", DRAFT)
    assert read("draft", text).values == {"drafted_response": DRAFT}


@pytest.mark.parametrize("way", [way for way in WAYS if way.startswith(("think", "Kimi", "Mistral", "Seed", "Gemma"))])
def test_thoughts_in_the_value_of_a_draft_are_set_aside(way: str, read: Reader) -> None:
    text = WAYS[way].replace("{thoughts}", "Is this person sad?").replace("{answer}", DRAFT)
    assert read("draft", json.dumps({"drafted_response": text})).values == {"drafted_response": DRAFT}


UNCLOSED = ("<think>", "[THINK]", "◁think▷", "<|channel>thought\n", "<|channel|>analysis<|message|>", "analysis",
            "<|START_THINKING|>", "<seed:think>", "<thinking>a <reflection>b</reflection>")  # fmt: skip


@pytest.mark.parametrize("opening", UNCLOSED)
@pytest.mark.parametrize("kind", ["draft", "pairwise"])
def test_thoughts_that_never_close_mean_a_reply_that_was_cut(opening: str, kind: str, read: Reader) -> None:
    answer = read(TWO if kind == "pairwise" else kind, opening + THOUGHTS)
    assert answer.outcome == "truncated"
    assert answer.missing


UNKNOWN = (
    "<musing>Is this person sad?</musing>I am sorry.",
    "[[PONDER]]Is this person sad?[[/PONDER]]I am sorry.",
    "<|ponder|>Is this person sad?<|/ponder|>I am sorry.",
    "Is this person sad?<|done_pondering|>I am sorry.",
    "Is this person sad?</musing>I am sorry.",
    "<musing>Is this person sad? I am sorry.</musing>",
    "Here is my thought process:\nIs this person sad? I am sorry.",
    "thought\nIs this person sad?I am sorry.",
    "**Reasoning:** Is this person sad?\n\nI am sorry.",
    "◁ponder▷Is this person sad?◁/ponder▷I am sorry.",
)


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_bare_draft_with_marks_that_nobody_knows_is_not_readable(text: str, read: Reader) -> None:
    assert read("draft", text).outcome == "unreadable"


@pytest.mark.parametrize(
    "text",
    [
        "<3 I am with you.",
        "<p>I am sorry.</p><p>Rest.</p>",
        "I would try [reflection] daily.",
        "I <em>see</em> you. Thinking: it helps some.",
        "Analysis paralysis is real.",
        "Here's my answer: rest.",
        "Here's my thought: rest.",
        "Thinking... I hear you.",
        "I thought: <you> matter.",
        "1. Breathe [slowly]. 2. Rest.",
        "Thinking about it ... I hear you. <details>x</details>",
        "My assistant final exam is near, you say?",
    ],
)
def test_what_only_looks_like_a_mark_is_part_of_a_draft(text: str, read: Reader) -> None:
    assert read("draft", text).values == {"drafted_response": text}


def test_a_part_in_tags_that_nobody_knows_before_an_object_is_no_answer(read: Reader) -> None:
    for first in (
        f"<musing>{THOUGHTS}</musing>",
        f"[[PONDER]]{THOUGHTS}[[/PONDER]]\nSo: ",
        f"<|mull|>{THOUGHTS}<|/mull|>",
    ):
        assert read(TWO, first + '{"1": "B"}').values == {"pairwise_selections": {"1": "B"}}


def test_an_object_in_tags_of_its_own_is_the_answer(read: Reader) -> None:
    for text in (
        f"Here is my reasoning: so.\n{ANSWER}",
        f"Analysis: so.\n{ANSWER}",
        f"<json>{ANSWER}</json>",
        f"<tool_call>{ANSWER}</tool_call>",
        f"{ANSWER} The <draft> is good.",
    ):
        assert read(TWO, text).outcome == "answered"


@pytest.mark.parametrize("between", ["No, wait: ", "\n```json\n", "##ponder-end##"])
def test_an_answer_before_a_later_complete_one_does_not_count(between: str, read: Reader) -> None:
    assert read(TWO, THOUGHTS + between + ANSWER).values == {"pairwise_selections": {"0": "B", "1": "B"}}
    later = read(TWO, THOUGHTS + between + '{"1": "B"}')
    assert "1" not in later.values["pairwise_selections"] or later.values["pairwise_selections"]["1"] == "B"


def test_every_row_of_the_table_is_tried_above() -> None:
    opening = {name: marks["open"] for name, marks in MARKS.items() if "open" in marks}
    assert set(opening) == {name for name, opens in opening.items() for way in WAYS.values() if _opens(opens, way)}


def _opens(pattern: str, way: str) -> bool:
    return re.search(pattern, way.replace("{thoughts}", THOUGHTS), re.IGNORECASE) is not None


PIECES = ["<think>", "</think>", "<|channel|>", "final", "<|message|>", "analysis", "<answer>", "</answer>", "[THINK]",
          "{", '{"a": 1}', "<|end|>", "text ", "\n", "Here is my response:", "◁think▷", "<|", "|>", "</"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_nothing_is_invented_and_nothing_raises(text: str) -> None:
    for left in (without_thoughts(text), spoken(text)):
        rest = iter(text.replace("\n", ""))
        assert left is None or all(char in rest for char in left.replace("\n", ""))


def test_many_marks_are_read_in_one_pass(read: Reader) -> None:
    for unit in ("<think>", "</think>", "<", "[", "here ", "<|channel|>", "assistant", "< "):
        assert read(TWO, unit * (60_000 // len(unit))).missing
