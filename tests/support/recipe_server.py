"""A chat server that answers by a recipe: a JSON file that says which request gets which reply.

    {"rules": [{"match": {…}, "times": N, "reply": {…}}, …], "models": the body of /models}

The first rule that matches and is not used up answers; every other request gets a good answer. A match names conditions
that must all hold, `{}` matches everything: `nth` (numbers of chat requests, from 0), `every`, `text` (in the prompt),
`kind` (of call, by the schema's name), `min_chars` and `max_chars` (of the messages), `has` (a key of the body),
`max_tokens_over` and `max_tokens_upto`. A reply has `json`, `text` (with `escape`: the answer in it is escaped as in a
JSON string), `hex`, or the `content` or whole `message` of a good envelope with `finish_reason` and `usage`;
`{{ANSWER}}` stands for a good answer. Beside it `status`, `headers`, `delay`, `close` (no reply at all), or `raw_head`
(the head of the response, `{{LEN}}` for the length) with `then_close`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attunebench.selftest.answers import answer_text
from attunebench.selftest.behaviours import Asked, Behaviour, Raw, Status
from attunebench.selftest.server import FakeServer

CASES = Path(__file__).parents[1] / "cases" / "reports"
RECIPES = CASES / "recipes"
DATA = CASES / "data"
"""Three small conversations; each recipe that singles one out names words of it."""
USAGE = {"prompt_tokens": 1000, "completion_tokens": 300, "total_tokens": 1300}


class RecipeServer(FakeServer):
    """Serves a recipe, given by its name in `RECIPES` or as it stands in the file. `chats` counts chat requests."""

    def __init__(self, recipe: str | Mapping[str, Any]) -> None:
        super().__init__(self._reply)
        self._recipe = read_recipe(recipe) if isinstance(recipe, str) else recipe
        self._used: Counter[int] = Counter()
        self.chats = 0

    def _behaviour(self, asked: Asked) -> Behaviour:
        if asked.path.endswith("/models"):
            return Status(200, self._recipe.get("models", {"data": [{"id": "m"}]}))
        return super()._behaviour(asked)

    def _reply(self, asked: Asked) -> Behaviour:
        number, self.chats = self.chats, self.chats + 1
        for place, rule in enumerate(self._recipe["rules"]):
            free = self._used[place] < rule.get("times", float("inf"))
            if free and all(_holds(name, wanted, number, asked) for name, wanted in rule.get("match", {}).items()):
                self._used[place] += 1
                return _behaviour(asked, rule["reply"])
        return _behaviour(asked, {"content": "{{ANSWER}}"})


@cache
def read_recipe(name: str) -> Any:
    """A recipe of the folder."""
    return json.loads((RECIPES / f"{name}.json").read_text(encoding="utf-8"))


def _holds(condition: str, wanted: Any, number: int, asked: Asked) -> bool:
    """Whether a condition of a match holds for chat request `number`."""
    text, body = json.dumps(asked.body.get("messages"), ensure_ascii=False), asked.body
    schema_name = ((body.get("response_format") or {}).get("json_schema") or {}).get("name", "")
    limit = body.get("max_tokens", body.get("max_completion_tokens", 0))
    holds: dict[str, Callable[[], bool]] = {
        "nth": lambda: number in wanted,
        "every": lambda: number % wanted == 0,
        "text": lambda: wanted in text,
        "kind": lambda: schema_name.endswith(f"_{wanted}"),
        "min_chars": lambda: len(text) >= wanted,
        "max_chars": lambda: len(text) <= wanted,
        "has": lambda: wanted in body,
        "max_tokens_over": lambda: limit > wanted,
        "max_tokens_upto": lambda: limit <= wanted,
    }
    return holds[condition]()


def _behaviour(asked: Asked, reply: Mapping[str, Any]) -> Behaviour:
    delay = reply.get("delay", 0.0)
    if reply.get("close"):
        return Raw(delay=delay)
    content = _content(asked, reply)
    if "raw_head" in reply:
        head = reply["raw_head"].replace("{{LEN}}", str(len(content))).encode("latin-1")
        return Raw(head + content, delay, goes_on=not reply.get("then_close"))
    headers = {"content-type": "application/json"}
    headers |= {name.lower(): value for name, value in reply.get("headers", {}).items()}
    return Status(reply.get("status", 200), content, headers, delay)


def _content(asked: Asked, reply: Mapping[str, Any]) -> bytes:
    answer = answer_text(asked)
    if "hex" in reply:
        return bytes.fromhex(reply["hex"])
    if "text" in reply:
        shown = json.dumps(answer)[1:-1] if reply.get("escape") else answer
        return str(reply["text"]).replace("{{ANSWER}}", shown).encode()
    return json.dumps(_filled(reply["json"] if "json" in reply else _envelope(asked, reply), answer)).encode()


def _envelope(asked: Asked, reply: Mapping[str, Any]) -> dict[str, Any]:
    message = reply.get("message", {"role": "assistant", "content": reply.get("content")})
    choice = {"index": 0, "finish_reason": reply.get("finish_reason", "stop"), "message": message}
    usage = reply.get("usage", USAGE)
    return {"id": "c1", "object": "chat.completion", "model": asked.model, "choices": [choice], "usage": usage}


def _filled(value: Any, answer: str) -> Any:
    if isinstance(value, str):
        return value.replace("{{ANSWER}}", answer)
    if isinstance(value, list):
        return [_filled(each, answer) for each in value]
    return {name: _filled(each, answer) for name, each in value.items()} if isinstance(value, dict) else value
