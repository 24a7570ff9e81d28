"""What models send back, and how it must be read: one test per case of cases/replies.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.protocol.calls import Asked
from attunebench.protocol.read import read_reply

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases" / "replies.json").read_text(encoding="utf-8"))


def asked_in(case: dict[str, Any]) -> Asked:
    book = default_codebook()
    context = case["context"]
    return Asked(
        kind=case["kind"],
        questions={key: book.binary[key].observer_text for key in context.get("questions", ())},
        comparisons={str(i): ("Reply 1", "Reply 2") for i in range(context.get("comparisons", 0))},
        panas="delta" if "predicted_panas_delta" in case["expect"] else "absolute",
    )


def said(value: Any) -> Any:
    """`value` without what was not answered, so that null, a missing key and an empty map compare equal."""
    if isinstance(value, dict):
        kept = {key: said(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None and item != {}}
    return value


@pytest.mark.parametrize("case", CASES, ids=[case["desc"] for case in CASES])
def test_a_reply_counts_for_what_it_says(case: dict[str, Any]) -> None:
    answer = read_reply(asked_in(case), Reply(case["reply"]), default_codebook())
    assert said(case["expect"]) == said(answer.values)
    assert case["outcome"] == answer.outcome
