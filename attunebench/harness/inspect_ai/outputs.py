"""What a model said through Inspect → a reply in the shape that the reader takes; whose fault a provider's error is.

Reads outputs and errors by their attributes and needs no Inspect. Owns the question whose words those are: a model's
own refusal, silence or cut is its answer; where a provider's words stand in the model's place, they are no answer.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from attunebench.backends.base import Reply
from attunebench.backends.faults import Fault, Rule, rule_for
from attunebench.backends.negotiation import NOTES
from attunebench.backends.wire import read_completion
from attunebench.errors import ItemError, TransientError
from attunebench.text import printable

NO_SCHEMA = frozenset(("baseline", "mockllm", "hf", "none", "transformer_lens", "nnterp"))
"""Providers of Inspect that pass a schema over in silence: to send one would only be to say so."""
_REJECTING = frozenset((400, 404, 422, 500, 501))
_FORMAT = re.compile(r"response_format|json_schema|structured output|output_config|output_format|grammar|guided", re.I)


def rejects_schema(error: BaseException) -> bool:
    """Whether a provider's error is about the schema that was sent along."""
    status = getattr(error, "status_code", None)
    return (status is None or status in _REJECTING) and _FORMAT.search(str(error)) is not None


def rule_behind(error: BaseException) -> Rule:
    """Whose fault a provider's error is, by the same table as in a run."""
    status, code = getattr(error, "status_code", None), getattr(error, "code", None)
    return rule_for(
        Fault(
            status=status if isinstance(status, int) else code if isinstance(code, int) else 0,
            message=str(error),
            code=code if isinstance(code, str) else "",
            answered=True,
            known=True,
        )
    )


def read_output(output: Any, *, structured: str, schema_refused: bool = False) -> Reply:
    """The reply in a ModelOutput, read as the chat completion that says the same.

    Raises TransientError where there is no choice in it, ItemError where the provider says that this prompt is too long
    for the model.
    """
    if output.empty:
        raise TransientError("The provider answered without a choice.")
    said, stop, usage = output.message.text, output.stop_reason, output.usage
    if stop == "model_length" and not (usage and usage.output_tokens):
        raise ItemError(f"Too long for the model: {printable(said, 300)}")
    parts = [] if isinstance(output.message.content, str) else output.message.content
    thoughts = [part.summary if part.redacted else part.reasoning for part in parts if part.type == "reasoning"]
    # A refusal may stand in a field of the provider's own, which leaves the stop reason as it is.
    declined = stop == "content_filter" or output.error or any(part.type == "text" and part.refusal for part in parts)
    message = {
        "content": said or None,
        "refusal": (output.error or said or "content_filter") if declined else None,
        "reasoning": "\n".join(filter(None, thoughts)),
    }
    counts: dict[str, Any] = {}
    if usage is not None:
        # Inspect counts cached tokens apart from the others; here they are among a prompt's tokens.
        read, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
        counts = {
            "prompt_tokens": usage.input_tokens + (read or 0) + (written or 0),
            "cached_tokens": read,
            "completion_tokens": usage.output_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "cost": usage.total_cost,
        }
    choice = {"message": message, "finish_reason": None if stop == "unknown" else stop}
    reply = read_completion({"model": output.model, "choices": [choice], "usage": counts})
    assert reply is not None
    notes = dict([NOTES["schema"]]) if schema_refused else {}
    return replace(reply, latency=output.time, structured=structured, notes=notes)
