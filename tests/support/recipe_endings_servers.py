"""How runs end against servers that refuse: moderation, length, money, waits, roles, guesses."""

from __future__ import annotations

from recipe_endings import CALLS, Ending

OWN = 29
"""Calls of the conversation that recipes single out."""
OWN_ITEMS = 442


def refused(recipe: str) -> Ending:
    """Each call of one conversation is refused, after it was asked once more."""
    return Ending(recipe, requests=CALLS + OWN, counts={"refused": OWN}, missing=OWN_ITEMS, draft=None)


def too_long(recipe: str) -> Ending:
    """Each call of one conversation stays without an answer, after it was asked once more."""
    return Ending(recipe, requests=CALLS + OWN, missing=OWN_ITEMS, draft=None)


def lowered(recipe: str) -> Ending:
    """Each call of one conversation is asked once more with the room that is left for its answer."""
    return Ending(recipe, requests=CALLS + OWN, adapted={"max_tokens": "lowered to 1508"})


def no_money(recipe: str) -> Ending:
    """The first request ends the run."""
    return Ending(recipe, status=2, results=0, requests=1, reads=("no balance",))


def another_day(recipe: str, *reads: str) -> Ending:
    """The first request ends the run, which says when to come back."""
    return Ending(recipe, status=2, results=0, requests=1, reads=("Rerun the command", *reads), unread=("no balance",))


ENDINGS: tuple[Ending, ...] = (
    Ending("good"),
    refused("moderation-anthropic"),
    refused("moderation-dashscope"),
    refused("moderation-deepseek"),
    refused("moderation-xai"),
    too_long("context-gemini"),
    too_long("context-qwen"),
    too_long("context-xai"),
    lowered("context-anthropic"),
    lowered("context-tgi"),
    no_money("quota-anthropic-400"),
    no_money("quota-litellm-400"),
    no_money("quota-litellm-429"),
    no_money("quota-minimax-429"),
    no_money("quota-minimax-500"),
    no_money("quota-siliconflow-403"),
    no_money("quota-zai"),
    another_day("quota-retry-after-hours"),
    another_day("quota-gemini-day", "Google"),
    Ending("guess-once", requests=CALLS + 1),
    Ending("system-minimax", requests=CALLS + 1, adapted={"system": "folded into the user message"}),
    Ending("price-minus-one", reads=("Cost: unknown",)),
    # A stream is asked for, then the ladder of the output's constraint is gone down, and nothing helps.
    Ending("sse-required-400", status=2, results=0, requests=5, reads=("only stream mode is supported",)),
    Ending("http-202", status=2, results=0, requests=5, reads=("status 202",), options=("--concurrency", "16")),
)
PENDING: tuple[str, ...] = ()
"""Recipes whose ending stands in no table yet."""
