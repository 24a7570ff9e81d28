"""Answers request files as engines do, in the shapes that they document; nothing is sent.

The replies are those of the local test server for the same request bodies, unless something else is given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attunebench.selftest.answers import completion
from attunebench.selftest.behaviours import Answer, Asked

Request = Mapping[str, Any]
Replying = Callable[[Request], Any]
"""What an engine says to a request: the body of a completion, or a line's parts as `failed` makes them."""


def requests_in(*paths: Path) -> list[dict[str, Any]]:
    """The requests of these files, in order."""
    return [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def reply(request: Request, answer: Answer | None = None) -> dict[str, Any]:
    """The body of the completion that the local server gives."""
    content = json.dumps(request["body"], ensure_ascii=False, separators=(",", ":")).encode()
    return completion(Asked(0, "POST", request["url"], {}, content), answer or Answer())


def openai_line(request: Request, body: Any = None, *, status: int = 200, error: Any = None) -> dict[str, Any]:
    """A line of OpenAI's output or error file; a `body` or an `error` of its own, else a good reply."""
    body = reply(request) if body is None and error is None else body
    response = None if body is None else {"status_code": status, "request_id": "req-1", "body": body}
    return {"id": "batch_req_1", "custom_id": request["custom_id"], "response": response, "error": error}


def vllm_line(request: Request, body: Any = None, *, status: int = 200, error: Any = None) -> dict[str, Any]:
    """A line of vLLM's `run-batch` (its BatchRequestOutput): errors stand beside a response without a body."""
    body = reply(request) if body is None and error is None else body
    response = {"status_code": status, "request_id": "vllm-batch-1", "body": body}
    return {"id": "vllm-1", "custom_id": request["custom_id"], "response": response, "error": error}


def ray_row(request: Request, text: str | None = None, *, error: str = "", **columns: Any) -> dict[str, Any]:
    """A row of Ray Data LLM's vLLM engine with all columns carried over, as `write_json` writes it: the request's own
    columns, the engine's outputs, and no reason why a reply ended."""
    completed = reply(request)
    text = completed["choices"][0]["message"]["content"] if text is None else text
    usage = completed["usage"]
    return {
        **request,
        "messages": request["body"]["messages"],
        "prompt": "<|im_start|>…",
        "prompt_token_ids": [1, 2, 3],
        "num_input_tokens": 0 if error else usage["prompt_tokens"],
        "generated_tokens": [] if error else [4, 5],
        "generated_text": "" if error else text,
        "num_generated_tokens": 0 if error else usage["completion_tokens"],
        "embeddings": None,
        "metrics": None,
        "request_id": -1 if error else 7,
        "batch_uuid": "3f0e",
        "time_taken_llm": 0.5,
        "params": "SamplingParams(n=1)",
        "__inference_error__": error,
        **columns,
    }


def write_lines(path: Path, lines: Iterable[Any]) -> Path:
    """A file of these as JSON lines; bytes stand as they are."""
    with path.open("wb") as file:
        for line in lines:
            file.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
    return path
