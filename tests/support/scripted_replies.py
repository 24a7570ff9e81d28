"""Replies that are the same whoever asks: by the prompt's texts, for other engines and for a server that `run` asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attunebench
from attunebench import ModelSettings, RunSettings
from attunebench.backends.base import Request
from attunebench.backends.baselines import BASELINES
from attunebench.codebook import default_codebook
from attunebench.conversations.loading import demo_folder
from attunebench.protocol.calls import Call, Mode, PanasStrategy
from attunebench.protocol.plan import plan_conversation
from attunebench.scorer.groups import Cluster
from attunebench.scores import AggregateEntry
from attunebench.selftest.behaviours import Answer, Asked, Behaviour
from attunebench.selftest.server import FakeServer

Prompt = tuple[str, ...]
Replies = Mapping[Prompt, "str | None"]

DAMAGES: tuple[Callable[[str], str | None], ...] = (
    lambda text: text,
    lambda text: text,
    lambda text: text,
    lambda text: text[: len(text) // 2],
    lambda text: f"<think>{{}}</think>\n```json\n{text}\n```",
    lambda _: "",
    lambda text: text.replace('"', "'"),
    lambda text: f"[THINK]Perhaps {text}? No.[/THINK]{text}",
    lambda text: (
        f"<|channel|>analysis<|message|>{text}<|end|><|start|>assistant<|channel|>final<|message|>{text}<|end|>"
    ),
    lambda text: f'{{"name": "x", "arguments": {text}}}',
    lambda _: "I would rather not say.",
    lambda _: None,
    lambda text: text + " " * 100_000 + "{",
)
"""What becomes of a good reply: mostly nothing."""


def prompt_of(messages: list[dict[str, str]]) -> Prompt:
    """The key of a chat."""
    return tuple(message["content"] for message in messages)


@cache
def baseline_replies(
    baseline: str, mode: Mode = "default", *, strategy: PanasStrategy = "absolute", damaged: bool = False
) -> Replies:
    """What a built-in baseline says to every call of the bundled conversations; `damaged`: as real models say it."""
    replies: dict[Prompt, str | None] = {}
    for conversation in attunebench.load_conversations(demo_folder()):
        for call in plan_conversation(conversation, mode, default_codebook(), panas_strategy=strategy):
            request = Request(call, call.messages, 4096, 0.0, None, 60.0, conversation=conversation)
            text: str | None = json.dumps(BASELINES[baseline](request).answer())
            if damaged:
                text = DAMAGES[len(replies) % len(DAMAGES)](str(text))
            replies[key_of(call)] = text
    return MappingProxyType(replies)


def key_of(call: Call) -> Prompt:
    """The key of a call's first ask."""
    return tuple(message.content for message in call.messages)


def serving(replies: Replies) -> Callable[[Asked], Behaviour]:
    """A script for `FakeServer` that gives these replies."""

    def script(asked: Asked) -> Behaviour:
        text = replies[prompt_of(asked.body["messages"])]
        return Answer(text="", message={"content": text})

    return script


def own_scores(
    replies: Replies, folder: Path, mode: Mode = "default", cluster: Cluster | None = None, **settings: Any
) -> AggregateEntry:
    """What `run` against a server with these replies and `score` make of them, without a reask."""
    with FakeServer(serving(replies)) as server:
        model = ModelSettings(provider="local", model="scripted", base_url=server.url)
        run = RunSettings(em=model, modes=(mode,), output=folder, max_reasks=0, structured="text", **settings)
        summary = attunebench.run(demo_folder(), run)
    assert not summary.skipped
    return attunebench.score(folder, demo_folder(), cluster=cluster)["aggregates"][0]
