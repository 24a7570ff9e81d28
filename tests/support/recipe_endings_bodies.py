"""How runs end against servers whose answers come in unusual bodies: thoughts, wrappers, streams, odd heads, cuts."""

from __future__ import annotations

from recipe_endings import Ending

ENDINGS: tuple[Ending, ...] = (
    Ending("code-zero-message"),
    Ending("usage-ints"),
    Ending("reason-json-think-known"),
)
PENDING: tuple[str, ...] = (
    "cut-LENGTH", "cut-MAX_TOKENS", "cut-length", "cut-max_completion_tokens", "cut-max_output_tokens",
    "cut-null-at-limit", "cut-stop-at-limit", "error-of-nulls", "filter-PROHIBITED_CONTENT", "filter-RECITATION",
    "filter-SAFETY", "filter-content-filter", "filter-refusal", "filter-sensitive", "filter-text-PROHIBITED_CONTENT",
    "http-10-close", "http-both-lengths", "http-charset-wrong", "http-dup-server", "http-early-hints",
    "http-encoding-aws", "http-encoding-none", "http-encoding-utf8", "http-encoding-zstd", "http-lf-only",
    "http-no-reason", "http-space-header", "http-utf8-header", "msg-function-text", "msg-harmony-omits",
    "msg-think-omits", "msg-tool-call", "reason-json-gemma-channel", "reason-json-harmony",
    "reason-json-harmony-stripped", "reason-json-kimi-think", "reason-json-think-square", "reason-json-thought",
    "reason-text-gemma-channel", "reason-text-harmony", "reason-text-harmony-stripped", "reason-text-kimi-think",
    "reason-text-think-known", "reason-text-think-square", "reason-text-thought", "sse-chunks", "sse-json-then-done",
    "usage-floats", "usage-strings", "wrapped-data",
)  # fmt: skip
"""Recipes whose ending stands in no table yet."""
