"""How runs end against servers that refuse: moderation, length, money, waits, roles, guesses."""

from __future__ import annotations

from recipe_endings import Ending

ENDINGS: tuple[Ending, ...] = (Ending("good"),)
PENDING: tuple[str, ...] = (
    "context-anthropic", "context-gemini", "context-qwen", "context-tgi", "context-xai", "guess-once", "http-202",
    "moderation-anthropic", "moderation-dashscope", "moderation-deepseek", "moderation-xai", "price-minus-one",
    "quota-anthropic-400", "quota-gemini-day", "quota-litellm-400", "quota-litellm-429", "quota-minimax-429",
    "quota-minimax-500", "quota-retry-after-hours", "quota-siliconflow-403", "quota-zai", "sse-required-400",
    "system-minimax",
)  # fmt: skip
"""Recipes whose ending stands in no table yet."""
