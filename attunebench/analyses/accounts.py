"""How one model's results came about: what was scored of what, who answered, calls, money, time and tokens."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from attunebench.analyses.one_model import LONGEST, SPREAD, Amount, OneModel, Read
from attunebench.analyses.table import Cell, Table, Unit, column, counts, table, words
from attunebench.analyses.verdicts import listed
from attunebench.judging import judges_named
from attunebench.text import printable

UNSCORED = {
    "skipped": "skipped by a run",
    "duplicated": "with several results, of which none is scored",
    "missing": "without any result",
}
_SERVED = {
    "models_reported": "model",
    "providers_reported": "provider",
    "structured_used": "answer format held by",
}
_SETTINGS = ("attunebench_version", "prompt_set_sha256", "codebook_sha256", "panas_strategy")
SHARES = {
    "items answered": ("answered", "expected"),
    "calls repaired": ("mended", "made"),
    "calls refused": ("refused", "made"),
    "calls cut at the token limit": ("truncated", "made"),
    "calls re-prompted": ("reasked", "made"),
}
_TOKENS = {
    "prompt": "prompt_tokens",
    "of them cached": "cached_tokens",
    "reply": "completion_tokens",
    "of them reasoning": "reasoning_tokens",
}
NOT_STATED = "not stated"


def api_cost(entry: Mapping[str, Any]) -> float | None:
    return entry.get("api_cost")


def duration(entry: Mapping[str, Any]) -> float | None:
    return entry.get("duration_seconds")


def call_tables(one: OneModel) -> list[Table]:
    """How calls ended; cost, time and tokens."""
    shares = {name: one.share(*parts) for name, parts in SHARES.items()}
    shown = shares if any(share.n for share in shares.values()) else {}
    calls = table(
        "calls",
        "Answers and calls",
        words("what", shown),
        counts("n", [share.n for share in shown.values()], "results", "Results that state both counts."),
        column("share", [share.value for share in shown.values()], "", "share", "Sum over sum."),
        counts("count", [share.part if share.n else None for share in shown.values()]),
        counts(
            "of", [share.whole if share.n else None for share in shown.values()], "", "Items expected, or calls made."
        ),
        caption="Judges are not among them. An unanswered item counts as wrong, and says little of empathy.",
    )
    tokens: dict[str, Read] = {
        name: lambda entry, kind=kind: (entry.get("usage") or {}).get(kind)  # type: ignore[misc]
        for name, kind in _TOKENS.items()
    }
    return [
        calls,
        _amount(one, "cost", "Cost", "usd", {"US dollars": api_cost}),
        _amount(one, "time", "Time", "seconds", {"seconds": duration}),
        _amount(one, "tokens", "Tokens", "count", tokens),
    ]


def _amount(one: OneModel, id: str, title: str, unit: Unit, readers: Mapping[str, Read]) -> Table:
    amounts = [one.amount(read) for read in readers.values()]
    digits = 0 if unit == "count" else None
    each = {
        "mean": [amount.mean for amount in amounts],
        **{name: [a.spread[SPREAD.index(name)] for a in amounts] for name in ("median", "lowest", "highest")},
    }
    totals = [Cell(amount.total, mark=NOT_STATED if amount.total is None else "") for amount in amounts]
    partial = any(0 < amount.n < amount.of for amount in amounts)
    return table(
        id,
        title,
        words("what", readers),
        counts("n", [amount.n for amount in amounts], "stated", "Results that state it."),
        counts("of", [amount.of for amount in amounts], "of results"),
        column("total", totals, "", unit, "Over the results that state it.", digits=digits),
        *(column(name, values, "", unit, "Per conversation.", digits=digits) for name, values in each.items()),
        caption="Without judges; total over all results that state it, the rest per conversation.",
        notes=("The total is a part of what was spent: not all results state theirs.",) if partial else (),
    )


def part_of(amount: Amount) -> str:
    if amount.n == 0:
        return NOT_STATED
    return "" if amount.n == amount.of else f"of {amount.n} of {amount.of}"


def coverage_table(one: OneModel) -> Table:
    """What was scored of what was expected, by why not; and what the Composite lacks."""
    lists = {reason: one.coverage.get(reason) or () for reason in UNSCORED}
    return table(
        "coverage",
        "Coverage",
        counts("expected", [one.coverage.get("expected")], "", "Conversations of the ground truth."),
        counts("scored", [len(one.study.ids)]),
        *(counts(why, [len(lists[why])], "", f"Conversations {meaning}.") for why, meaning in UNSCORED.items()),
        counts("participants", [one.participants if one.study.ids else 0]),
        counts(
            "composite_incomplete",
            [one.aggregate.get("composite_incomplete")],
            "Composite incomplete",
            "A term of it is undefined there.",
        ),
        notes=tuple(
            f"{why.capitalize()}: {listed([printable(i, 2 * LONGEST) for i in ids])}."
            for why, ids in lists.items()
            if ids
        ),
    )


def served_table(one: OneModel) -> Table:
    """Who answered, how answers were held to their format, and which parameters were not taken as asked."""
    rows = [(label, count, name) for what, label in _SERVED.items() for name, count in one.served(what)]
    adapted: Mapping[str, Mapping[str, int]] = (one.stated.get("observed") or {}).get("adapted") or {}
    rows += [
        ("parameter not taken as asked", count, printable(f"{parameter}: {how}", 2 * LONGEST))
        for parameter, hows in adapted.items()
        for how, count in hows.items()
    ]
    return table(
        "served",
        "Who answered",
        words("what"),
        counts("results"),
        words("name", label="as the server said"),
        rows=rows,
        caption="In how many results. A format is held by a schema, by JSON mode (object), or by the prompt alone "
        "(text); a result in which several names answered counts for each of them.",
    )


def settings_table(one: OneModel) -> Table:
    """With which settings the results were made, and how many with each."""
    results: Counter[tuple[str, str]] = Counter()
    for variant in one.stated.get("variants") or ():
        values: dict[str, Any] = {key: variant[key] for key in _SETTINGS if variant.get(key) is not None}
        values |= {str(name): value for name, value in (variant.get("parameters") or {}).items()}
        values["judges"] = ", ".join(judges_named(variant)) or "none"
        for name, value in values.items():
            results[printable(name, 2 * LONGEST), _spelled(name, value)] += variant.get("n_results", 1)
    return table(
        "settings",
        "How the results were made",
        words("setting", [name for name, _ in results]),
        counts("results", results.values()),
        words("value", [value for _, value in results]),
    )


def _spelled(name: str, value: Any) -> str:
    if value is None:
        return "the server's own"
    spelled = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return printable(spelled, 12 if name.endswith("sha256") else 2 * LONGEST)
