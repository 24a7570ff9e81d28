"""What the models and judges of the snapshot's studies say: planted skill, and trouble of every kind.

A reply depends on the model's name, the messages and the token limit alone, so order and concurrency do not matter. Of
the package this imports the test server's plain values and nothing of the engine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from planted import Plan, Skill, answered, planted_conversations

from attunebench.selftest.answers import first_ask
from attunebench.selftest.behaviours import Answer, Asked, Status

JUDGES = ("judge-a", "judge-b")
LIMIT = 4096
"""Tokens of a first ask; a reply that was cut is asked for once more with more of them."""
REJECTED = 422
"""The status of requests that the server always rejects."""
BODY_FIELDS = ("reasoning", "emotion_reasoning", "binary_reasoning")
QUALITIES = (
    "Calm down.",
    "These things happen.",
    "You should make a list.",
    "I see what you mean.",
    "That sounds hard.",
    "That sounds hard, and it makes sense that you feel it.",
    "That sounds hard; I am here, tell me more when you are ready.",
)
"""Openings of drafts from 1 to 7, by which judges rate them."""
TROUBLES = (
    "refused in a field",
    "refused in words",
    "partial once",
    "partial always",
    "fenced",
    "ill-formed",
    "cut once",
    "cut always",
    "filtered",
    "blocked",
    "silent",
    "thinking",
    "wrong values",
)
TEXT_TROUBLES = ("refused in words", "partial always", "fenced", "ill-formed", "silent", "thinking", "wrong values")
"""Those that are in the text alone, for a framework that hands over nothing else."""


@dataclass(frozen=True)
class Speaker:
    """An evaluated model: skill by mode (or one for all), the share of its calls with trouble, and its kinds."""

    skill: Skill | Mapping[str, Skill]
    trouble: float = 0.1
    kinds: tuple[str, ...] = TROUBLES


@dataclass(frozen=True)
class Study:
    """A study: conversations with labels, and the models that answer.

    `fails` is (model, index of a conversation): the server rejects that conversation's last request always.
    """

    plan: Plan
    models: Mapping[str, Speaker]
    modes: tuple[str, ...]
    fails: tuple[str, int]
    judge_trouble: float = 0.06
    _planted: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    @cached_property
    def conversations(self) -> list[dict[str, Any]]:
        return planted_conversations(self.plan)

    def planted(self, model: str, mode: str, index: int) -> dict[str, Any]:
        """The result that this model would have if all its replies were read."""
        if (model, mode) not in self._planted:
            skill = self.models[model].skill
            skill = skill[mode] if isinstance(skill, Mapping) else skill
            self._planted[model, mode] = [
                answered(conversation, place, skill, seed=self.plan.seed, name=f"{model}/{mode}")
                for place, conversation in enumerate(self.conversations)
            ]
        return self._planted[model, mode][index]

    def write(self, folder: Path) -> Path:
        """The conversations as files; returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for number, conversation in enumerate(self.conversations, 1):
            text = json.dumps(conversation, ensure_ascii=False, indent=1)
            (folder / f"conversation_{number}.json").write_text(text, encoding="utf-8")
        return folder

    def says(self, asked: Asked) -> Answer | Status:
        """The script of a `FakeServer` or `BatchServer`."""
        body = asked.body
        limit = int(body.get("max_tokens") or body.get("max_completion_tokens") or LIMIT)
        return self.reply(body["model"], tuple(str(message["content"]) for message in body["messages"]), limit)

    def reply(self, model: str, texts: tuple[str, ...], limit: int = LIMIT) -> Answer | Status:
        """What this model says to a chat of these texts."""
        prompt = "\n\n".join(texts)
        first = first_ask(prompt)
        content = self._judged(model, first) if model in JUDGES else self._answered(model, first)
        if content is None:
            return Status(REJECTED, {"error": {"message": "Unprocessable input 17.", "code": "unprocessable"}})
        digest = sha256(f"{model}\n{first}".encode()).digest()
        share = self.judge_trouble if model in JUDGES else self.models[model].trouble
        kinds = TROUBLES if model in JUDGES else self.models[model].kinds
        trouble = kinds[digest[2] % len(kinds)] if int.from_bytes(digest[:2], "big") < share * 2**16 else ""
        said = _troubled(trouble, content, reask=first != prompt, limit=limit)
        return _with_usage(said, prompt) if isinstance(said, Answer) else said

    def _answered(self, model: str, prompt: str) -> dict[str, Any] | None:
        """The content of an evaluated model's whole answer; None where the server always fails."""
        index, number = self._place(prompt)
        step = prompt[prompt.rfind("\nTASK: ") :]
        wanted = set(re.findall(r'"(\w+)":', step))
        mode = "verbose" * ("reasoning" in wanted) + "_omniscient" * ("BACKGROUND ON THE HP" in prompt)
        planted = self.planted(model, self._mode(mode), index)
        content: dict[str, Any] = {key: f"What message {number} shows." for key in BODY_FIELDS if key in wanted}
        if "conversation_wide" in wanted:
            return None if (model, index) == self.fails else content | _looking_back(planted)
        turn = planted["turns"][number - 1]
        if "drafted_response" in wanted:
            digest = sha256(f"{model} {index} {number} {mode}".encode()).digest()
            skill = self.models[model].skill
            planted_skill = skill[self._mode(mode)] if isinstance(skill, Mapping) else skill
            quality = min(7, max(1, round(1 + 6 * (planted_skill.judge or 0.5)) + digest[0] % 3 - 1))
            sentences = turn["em_drafted_response"].split(". ")
            return content | {"drafted_response": f"{QUALITIES[quality - 1]} {sentences[digest[1] % len(sentences)]}."}
        if "pairwise_selections" in wanted:
            return content | {"pairwise_selections": turn["em_pairwise_selections"]}
        suffix = "" if "emotion_tags" in wanted else "_hp"
        tags = {"emotion_tags": turn["em_emotion_tags"]} if "emotion_tags" in wanted else {}
        names = ("binary_om_assessment", "binary_human_prediction")
        return content | tags | {name: turn[f"em_{name}{suffix}"] for name in names if name in wanted}

    def _judged(self, judge: str, prompt: str) -> dict[str, Any]:
        """A judge's whole vote: by the draft's opening, each judge with a bias and a spread of its own."""
        index, number = self._place(prompt)
        draft = prompt[prompt.rfind("\nThe draft:\n") :]
        quality = max((place for place, words in enumerate(QUALITIES, 1) if words in draft), default=4)
        digest = sha256(f"{judge}\n{draft}".encode()).digest()
        bias = JUDGES.index(judge)
        names = ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")
        vote: dict[str, Any] = {
            name: min(7, max(1, quality - bias + digest[place] % 3 - 1)) for place, name in enumerate(names)
        }
        wishes = {
            judgement["questionId"]: judgement["preferredBehavior"]
            for judgement in self.conversations[index]["turns"][number - 1]["annotations"]["binaryJudgements"]
            if judgement["preferredBehavior"] in ("yes", "no")
        }
        other = {"yes": "no", "no": "yes"}
        answers = {
            question: wish if digest[4 + place % 28] % 8 <= quality else other[wish]
            for place, (question, wish) in enumerate(wishes.items())
        }
        return vote | {"draft_binary_assessment": answers} if "draft_binary_assessment" in prompt else vote

    def _place(self, prompt: str) -> tuple[int, int]:
        """Index of the conversation and number of its last turn in a prompt, by the marks of the generator."""
        seed, number = re.findall(r"That was message (\d+)-(\d+)\.", prompt)[-1]
        return int(seed) - 1000 * self.plan.seed, int(number)

    def _mode(self, found: str) -> str:
        return found.removeprefix("_") or "default"


def _looking_back(planted: Mapping[str, Any]) -> dict[str, Any]:
    post = planted["post_conversation"]
    return {
        "predicted_post_panas": {"items": post["predicted_post_panas"]["items"]},
        "conversation_wide": post["predicted_conversation_wide"],
    }


def _troubled(trouble: str, content: dict[str, Any], *, reask: bool, limit: int) -> Answer | Status:
    """The answer with this trouble."""
    text = json.dumps(content, ensure_ascii=False)
    answers: dict[str, Callable[[], Answer | Status]] = {
        "": lambda: Answer(text),
        "refused in a field": lambda: Answer("", message={"refusal": "I would rather not.", "content": None}),
        "refused in words": lambda: Answer("I'm sorry, but I can't help with that."),
        "partial once": lambda: Answer(text if reask else json.dumps(_half(content), ensure_ascii=False)),
        "partial always": lambda: Answer(json.dumps(_half(content), ensure_ascii=False)),
        "fenced": lambda: Answer(f"Here it is:\n```json\n{text}\n```"),
        "ill-formed": lambda: Answer(text.replace('": ', '" : ').rstrip("}") + ",}"),
        "cut once": lambda: _cut(text) if limit <= LIMIT else Answer(text),
        "cut always": lambda: _cut(text),
        "filtered": lambda: Answer("", finish_reason="content_filter"),
        "blocked": lambda: Status(
            400, {"error": {"message": "The content filter has blocked this prompt.", "code": "content_filter"}}
        ),
        "silent": lambda: Answer(""),
        "thinking": lambda: Answer(f"<think>Perhaps {{}}?</think>{text}"),
        "wrong values": lambda: Answer(json.dumps(_wrong(content), ensure_ascii=False)),
    }
    return answers[trouble]()


def _cut(text: str) -> Answer:
    return Answer(text[: len(text) * 2 // 3], finish_reason="length")


def _half(content: Any) -> Any:
    """Every second entry of the innermost objects, and no more than half of the fields."""
    if isinstance(content, dict) and content and not any(isinstance(value, dict) for value in content.values()):
        return dict(list(content.items())[: max(1, len(content) // 2)])
    return {key: _half(value) for key, value in content.items()} if isinstance(content, dict) else content


def _wrong(content: Any) -> Any:
    """Ratings out of range, and answers that are none."""
    if isinstance(content, dict):
        return {key: _wrong(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_wrong(value) for value in content]
    return 9 if content == 5 else "maybe" if content == "yes" else content


def _with_usage(said: Answer, prompt: str) -> Answer:
    """Tokens by the texts alone, so that they do not depend on how a client writes a body."""
    completed = 1 + len(said.text or "") // 4
    usage = {
        "prompt_tokens": len(prompt) // 4,
        "completion_tokens": completed,
        "total_tokens": len(prompt) // 4 + completed,
    }
    return Answer(said.text, finish_reason=said.finish_reason, message=said.message, extra={"usage": usage})


def _shape(conversation: dict[str, Any], index: int) -> dict[str, Any]:
    """Conversations of two to four turns."""
    conversation["turns"] = conversation["turns"][: 2 + index % 3]
    return conversation


SMALL = Study(
    Plan(conversations=8, people=6, seed=7, shape=_shape),
    {
        "fake-model": Speaker(Skill(judge=0.6), trouble=0.3),
        "text-model": Speaker(Skill(judge=0.6), trouble=0.3, kinds=TEXT_TROUBLES),
    },
    modes=("default", "verbose_omniscient"),
    fails=("fake-model", 5),
    judge_trouble=0.15,
)
_STRONG = Skill(om=0.9, hp=0.85, pairwise=0.8, tag=0.75, wide=0.7, panas_error=0.7, branch_error=0.7, judge=0.8)
_MIDDLING = Skill(om=0.8, hp=0.7, pairwise=0.6, tag=0.6, wide=0.5, judge=0.6)
_WEAK = Skill(om=0.6, hp=0.55, pairwise=0.4, tag=0.35, false_tag=0.6, wide=0.3, panas_error=1.6, judge=0.3)
LARGE = Study(
    Plan(conversations=60, people=45, seed=11, shape=_shape),
    {
        "model-strong": Speaker(_STRONG, trouble=0.04),
        "model-middling": Speaker({"default": _MIDDLING, "verbose_omniscient": _STRONG}, trouble=0.08),
        "model-weak": Speaker(_WEAK, trouble=0.15),
    },
    modes=("default", "verbose_omniscient"),
    fails=("model-weak", 2),
)
