"""What a model said through Inspect → a reply in the shape that the reader takes, and the other way round for prompts.

Reads an output by its attributes and needs no Inspect. Owns the question whose words those are: a model's own refusal,
silence or cut is its answer; where a provider's words stand in the model's place, they are no answer.
"""

from __future__ import annotations

import re
from typing import Any

from attunebench.backends.base import Reply
from attunebench.backends.faults import Fault, Rule, rule_for
from attunebench.backends.negotiation import NOTES
from attunebench.errors import ItemError, TransientError
from attunebench.protocol.calls import Usage
from attunebench.text import encodable, printable

_FINISHES = {"max_tokens": "length", "unknown": None}
_NO_SCHEMA = frozenset(("baseline", "mockllm", "hf", "none", "transformer_lens", "nnterp"))
"""Providers of Inspect that pass a schema over in silence: to send one would only be to say so."""
_REJECTING = frozenset((400, 404, 422, 500, 501))
_FORMAT = re.compile(r"response_format|json_schema|structured output|output_config|output_format|grammar|guided", re.I)


def takes_schema(provider: str) -> bool:
    """Whether Inspect's provider does anything with an answer's schema."""
    return provider not in _NO_SCHEMA


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
    """The reply in a ModelOutput.

    Raises TransientError where there is no choice in it, ItemError where the provider says that this prompt is too long
    for the model.
    """
    if output.empty:
        raise TransientError("The provider answered without a choice.")
    said, stop = output.message.text, output.stop_reason
    usage = output.usage
    if stop == "model_length" and not (usage and usage.output_tokens):
        raise ItemError(f"Too long for the model: {printable(said, 300)}")
    refused = stop == "content_filter" or output.error is not None or _declined(output.message.content)
    return Reply(
        text=encodable(said) if said else None,
        finish_reason="length" if stop == "model_length" else _FINISHES.get(stop, stop),
        refusal=encodable(output.error or said or "content_filter") if refused else None,
        reasoning=_reasoning(output.message.content),
        usage=_usage(usage),
        cost=usage.total_cost if usage else None,
        model=printable(output.model, 300) if output.model else None,
        latency=output.time,
        structured=structured,
        notes=dict([NOTES["schema"]]) if schema_refused else {},
    )


def _declined(content: Any) -> bool:
    """Whether words of the message are a refusal by the provider's own field, which leaves the stop reason as it is."""
    return not isinstance(content, str) and any(part.type == "text" and part.refusal for part in content)


def _reasoning(content: Any) -> str | None:
    if isinstance(content, str):
        return None
    parts = [part for part in content if part.type == "reasoning"]
    texts = [part.summary or "" if part.redacted else part.reasoning for part in parts]
    return encodable("\n".join(filter(None, texts))) or None


def _usage(usage: Any) -> Usage:
    """Inspect counts cached tokens apart from the others; here they are among a prompt's tokens."""
    if usage is None:
        return Usage()
    read, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
    return Usage(
        prompt_tokens=usage.input_tokens + (read or 0) + (written or 0),
        cached_tokens=read,
        completion_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )
