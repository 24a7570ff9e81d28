"""How one model's results came about: what was scored of what, who answered, what was asked for and what was taken."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from attunebench.analyses import common
from attunebench.analyses.model import Cell, Column, Table, text
from attunebench.analyses.stats.one import One
from attunebench.judging import judges_named
from attunebench.text import printable

_REASONS = {
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
_LONGEST = 200
_SHORT_HASH = 12


def coverage_table(one: One) -> Table:
    """What was scored of what was expected, by why not; and what the Composite lacks."""
    coverage = one.aggregate.get("coverage") or {}
    counts = {why: len(coverage.get(why) or ()) for why in _REASONS}
    row = (
        Cell(coverage.get("expected")),
        Cell(len(one.study.ids)),
        *(Cell(count) for count in counts.values()),
        Cell(one.participants if one.study.ids else 0),
        Cell(one.aggregate.get("composite_incomplete")),
    )
    return Table(
        "coverage",
        "Coverage",
        (
            Column("expected", "expected", "count", "Conversations of the ground truth."),
            Column("scored", "scored", "count"),
            *(Column(why, why, "count", f"Conversations {words}.") for why, words in _REASONS.items()),
            Column("participants", "participants", "count"),
            Column("composite_incomplete", "Composite incomplete", "count", "A term of it is undefined there."),
        ),
        (row,),
        notes=tuple(
            f"{why.capitalize()}: {common.listed([printable(i, _LONGEST) for i in listed])}."
            for why in _REASONS
            if (listed := coverage.get(why))
        ),
    )


def unscored(one: One) -> str:
    """ "scored 55 of 60: 3 skipped, 2 missing"; "" where all is scored or nobody knows how much there was."""
    coverage = one.aggregate.get("coverage") or {}
    expected, scored = coverage.get("expected"), len(one.study.ids)
    if expected is None or scored >= expected:
        return ""
    why = reasons(one)
    return f"scored {scored} of {expected}" + (f": {why}" if why else "")


def reasons(one: One) -> str:
    """ "3 skipped, 2 missing": why conversations are not scored; "" where the scores do not say."""
    coverage = one.aggregate.get("coverage") or {}
    return ", ".join(f"{len(listed)} {reason}" for reason in _REASONS if (listed := coverage.get(reason)))


def served(one: One, what: str) -> list[tuple[str, int]]:
    """The names under which servers answered ("models_reported", …), in how many results; the most frequent first."""
    counts = (one.stated.get("observed") or {}).get(what) or {}
    found = ((printable(name, _LONGEST), count) for name, count in counts.items())
    return sorted(found, key=lambda item: (-item[1], item[0]))


def served_table(one: One) -> Table | None:
    """Who answered, how answers were held to their format, and which parameters were not taken as asked."""
    rows = [(text(label), Cell(n), text(name)) for what, label in _SERVED.items() for name, n in served(one, what)]
    adapted: Mapping[str, Mapping[str, int]] = (one.stated.get("observed") or {}).get("adapted") or {}
    for parameter, hows in adapted.items():
        for how, count in hows.items():
            name = printable(f"{parameter}: {how}", _LONGEST)
            rows.append((text("parameter not taken as asked"), Cell(count), text(name)))
    if not rows:
        return None
    return Table(
        "served",
        "Who answered",
        (
            Column("what", "what", "text"),
            Column("results", "results", "count"),
            Column("name", "as the server said", "text"),
        ),
        tuple(rows),
        caption="In how many results. A format is held by a schema, by JSON mode (object), or by the prompt alone "
        "(text); a result in which several names answered counts for each of them.",
    )


def settings_table(one: One) -> Table | None:
    """With which settings the results were made, and how many with each."""
    counts: Counter[tuple[str, str]] = Counter()
    for variant in one.stated.get("variants") or ():
        for setting in _settings_of(variant):
            counts[setting] += variant.get("n_results", 1)
    if not counts:
        return None
    rows = tuple((text(name), Cell(count), text(value)) for (name, value), count in counts.items())
    return Table(
        "settings",
        "How the results were made",
        (
            Column("setting", "setting", "text"),
            Column("results", "results", "count"),
            Column("value", "value", "text"),
        ),
        rows,
    )


def _settings_of(variant: Mapping[str, Any]) -> list[tuple[str, str]]:
    found: dict[str, Any] = {key: variant[key] for key in _SETTINGS if variant.get(key) is not None}
    found |= {str(name): value for name, value in (variant.get("parameters") or {}).items()}
    found["judges"] = ", ".join(judges_named(variant)) or "none"
    return [(printable(name, _LONGEST), _spelled(name, value)) for name, value in found.items()]


def _spelled(name: str, value: Any) -> str:
    if value is None:
        return "the server's own"
    spelled = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return printable(spelled, _SHORT_HASH if name.endswith("sha256") else _LONGEST)
