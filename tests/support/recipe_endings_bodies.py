"""How runs end against servers whose answers come in unusual bodies: thoughts, wrappers, streams, odd heads, cuts."""

from __future__ import annotations

from recipe_endings import CALLS, Ending

SORRY = "I am sorry. What would help most?"
DRAFTS = 19
"""Turns of the three conversations, each with a draft."""
ITEMS = 1294
"""Items of the three conversations."""

_READ_AS_GOOD = (
    "code-zero-message", "error-of-nulls", "sse-chunks", "sse-json-then-done", "wrapped-data", "msg-function-text",
    "msg-tool-call", "usage-ints", "usage-floats", "usage-strings", "reason-json-gemma-channel", "reason-json-harmony",
    "reason-json-harmony-stripped", "reason-json-kimi-think", "reason-json-think-known", "reason-json-think-square",
    "reason-json-thought", "http-10-close", "http-both-lengths", "http-dup-server", "http-early-hints",
    "http-encoding-aws", "http-encoding-none", "http-encoding-utf8", "http-lf-only", "http-no-reason",
    "http-utf8-header",
)  # fmt: skip
_CUT = (
    "LENGTH",
    "MAX_TOKENS",
    "length",
    "max_completion_tokens",
    "max_output_tokens",
    "null-at-limit",
    "stop-at-limit",
)
_FILTERED = (
    "PROHIBITED_CONTENT", "RECITATION", "SAFETY", "content-filter", "refusal", "sensitive", "text-PROHIBITED_CONTENT",
)  # fmt: skip
_THOUGHTS = ("gemma-channel", "harmony", "harmony-stripped", "kimi-think", "think-known", "think-square", "thought")
ENDINGS: tuple[Ending, ...] = (
    *(Ending(recipe) for recipe in _READ_AS_GOOD),
    *(Ending(f"cut-{how}", requests=2 * CALLS, counts={"reasked": CALLS}) for how in _CUT),
    *(Ending(f"filter-{how}", counts={"refused": CALLS}, missing=ITEMS, draft=None) for how in _FILTERED),
    *(
        Ending(f"reason-text-{how}", requests=3 * CALLS - 2 * DRAFTS, counts={"reasked": CALLS - DRAFTS},
               missing=ITEMS - DRAFTS, draft=SORRY)
        for how in _THOUGHTS
    ),
    *(
        Ending(recipe, requests=3 * CALLS, counts={"reasked": CALLS}, missing=ITEMS - DRAFTS, draft=None)
        for recipe in ("msg-harmony-omits", "msg-think-omits")
    ),
    Ending("http-charset-wrong", requests=3 * CALLS - 2 * DRAFTS, counts={"reasked": CALLS - DRAFTS},
           missing=ITEMS - DRAFTS, draft="Je suis désolé 心 🙂"),
    # What the client does not take for HTTP, or cannot unpack, is the line's trouble; five such bodies end the run.
    *(
        Ending(recipe, status=2, results=0, requests=5)
        for recipe in ("http-encoding-zstd", "http-space-header")
    ),
)  # fmt: skip
PENDING: tuple[str, ...] = ()
"""Recipes whose ending stands in no table yet: what the client does not take is the client's to mend."""
