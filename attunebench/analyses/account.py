"""One model in one mode, looked up: its values and means, and how its results came about (coverage, calls, cost, time,
tokens, who answered, settings).

Means and intervals are those that `score` wrote. What no result states is undefined, never 0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, drill_to, settings_of, spread_columns
from attunebench.analyses.sampling import defined_mean, too_few
from attunebench.analyses.table import NOT_ESTIMABLE, ZERO_INFLATED, Cell, Table, Unit, column, counts, table, words
from attunebench.analyses.verdicts import listed
from attunebench.judging import judges_named
from attunebench.metrics.rates import rate
from attunebench.scores import ConversationEntry
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.intervals import zero_inflated
from attunebench.text import printable

UNSCORED = {
    "skipped": "skipped by the run",
    "duplicated": "with duplicate results, none of them scored",
    "missing": "without any result",
}
SHARES = {
    "items answered": ("answered", "expected"),
    "calls repaired": ("mended", "made"),
    "calls refused": ("refused", "made"),
    "calls cut at the token limit": ("truncated", "made"),
    "calls re-prompted": ("reasked", "made"),
}
_SERVED = {"model": "models_reported", "provider": "providers_reported", "answer format enforced by": "structured_used"}
_SETTINGS = ("attunebench_version", "prompt_set_sha256", "codebook_sha256", "panas_strategy")
_TOKENS = {
    "prompt": "prompt_tokens",
    "of them cached": "cached_tokens",
    "reply": "completion_tokens",
    "of them reasoning": "reasoning_tokens",
}


def name_text(name: Any, length: int = 100) -> str:
    """A name from a file, as far as it is shown."""
    return printable(str(name), length)


class Share(NamedTuple):
    """A part of a whole, summed over the `n` results that state both, and their ratio."""

    part: float
    whole: float
    n: int
    value: float | None


class Amount(NamedTuple):
    """The total over the `n` of `of` results that state it (None: none does), and each conversation's, NaN a gap."""

    total: float | None
    n: int
    of: int
    values: Floats

    @property
    def mean(self) -> float:
        """Over conversations; NaN where no result states it."""
        return float(defined_mean(self.values))

    @property
    def scope(self) -> str:
        """What the total is of, where it is not of all results."""
        return "not stated" if not self.n else "" if self.n == self.of else f"of {self.n} of {self.of}"


@dataclass(frozen=True)
class Account:
    """A group of the scores; `study` holds it alone, with the conversations that were scored for it.

    `entries`: all its results, epoch by epoch. `aggregate`: its line in the scores. `coverage`: what of the expected
    conversations was scored, and why not the rest. `observed`: how servers answered. Empty where the file has none.
    """

    study: ScoreTable
    group: Group
    settings: Settings
    entries: Sequence[ConversationEntry]
    aggregate: Mapping[str, Any]
    coverage: Mapping[str, Any]
    observed: Mapping[str, Any]

    @classmethod
    def of(cls, study: ScoreTable, group: Group, settings: Settings) -> Account:
        """The group with the conversations that it has."""
        scored = [conversation for conversation in study.ids if (group.key, conversation) in study.entries]
        study = study.with_groups([group]).with_conversations(scored)
        entries = [one for i in scored for one in study.entries[group.key, i]]
        aggregate, observed = study.aggregates.get(group.key, {}), settings_of(study, group).get("observed") or {}
        return cls(study, group, settings, entries, aggregate, aggregate.get("coverage") or {}, observed)

    @property
    def participants(self) -> int:
        """Whose conversations these are; one of an unknown participant counts as a participant."""
        return len(np.unique(self.study.clusters))

    def values(self, metric_id: str) -> Floats:
        """A value per conversation, epochs averaged; NaN where it is undefined."""
        return np.asarray(self.study.values(metric_id)[:, 0])

    def mean(self, metric_id: str) -> Cell:
        """Mean, interval and n as `score` wrote them; undefined where it wrote none."""
        estimate, values = self.aggregate.get("metrics", {}).get(metric_id, {}), self.values(metric_id)
        count, small = int((~np.isnan(values)).sum()), too_few(values[:, None], self.study.clusters, self.settings)[0]
        n, mean = estimate.get("n", count), estimate.get("mean")
        low, high = estimate.get("ci_low"), estimate.get("ci_high")
        if low == high:  # as older versions wrote an interval of one value
            low = high = None
        alike = n > 1 and mean is not None and low is None
        mark = NOT_ESTIMABLE if alike else ZERO_INFLATED if zero_inflated(values[:, None])[0] and not small else ""
        drill = drill_to(self.group, metric_id)
        return Cell(mean, low, high, n=n, small=bool(small and count), mark=mark, drill=drill)

    def share(self, name: str) -> Share:
        """One of `SHARES`, over calls: a conversation of many calls counts for more, as in the rates of `score`."""
        stated = [[(entry.get("calls") or {}).get(part) for part in SHARES[name]] for entry in self.entries]
        known = [(part, whole) for part, whole in stated if part is not None and whole is not None]
        part, whole = (sum(each) for each in zip(*known, strict=True)) if known else (0, 0)
        return Share(part, whole, len(known), rate(part, whole))

    def amount(self, *path: str) -> Amount:
        """What the results state at these keys. All epochs are in the total; a conversation's amount is their mean."""
        stated = [amount for amount in map(reader(*path), self.entries) if amount is not None]
        values = np.asarray(self.study.entry_values(reader(*path))[:, 0])
        return Amount(sum(stated) if stated else None, len(stated), len(self.entries), values)

    def served(self, what: str) -> list[tuple[str, int]]:
        """Name under which servers answered ("models_reported", …) and in how many results, most frequent first."""
        names = [(name_text(name, 200), count) for name, count in (self.observed.get(what) or {}).items()]
        return sorted(names, key=lambda name: (-name[1], name[0]))


def reader(*path: str) -> Callable[[ConversationEntry], float | None]:
    """Reads what a result states at these keys."""

    def read(entry: Any) -> Any:
        for key in path:
            entry = (entry or {}).get(key)
        return entry

    return read


# How the results came about


def account_tables(one: Account) -> Iterable[Table]:
    """How calls ended; cost, time and tokens; coverage; how the results were made. A table may be without a row."""
    yield _calls(one)
    yield _amounts(one, "cost", "usd", {"US dollars": ("api_cost",)})
    yield _amounts(one, "time", "seconds", {"seconds": ("duration_seconds",)})
    yield _amounts(one, "tokens", "count", {name: ("usage", kind) for name, kind in _TOKENS.items()})
    yield coverage_table(one)
    yield _provenance(one)


def _calls(one: Account) -> Table:
    shares = {name: one.share(name) for name in SHARES}
    found = shares.items() if any(share.n for share in shares.values()) else ()
    return table(
        "calls",
        "Answers and calls",
        words("what"),
        counts("n", (), "results", "Results that record both counts."),
        column("share", unit="share", meaning="Total divided by total."),
        counts("count"),
        counts("of", (), "", "Number of expected items or of calls."),
        rows=[(name, n, value, part if n else None, whole if n else None) for name, (part, whole, n, value) in found],
        caption="Without judge calls. An unanswered item counts as wrong, but measures formatting, not empathy.",
    )


def _amounts(one: Account, id: str, unit: Unit, paths: Mapping[str, tuple[str, ...]]) -> Table:
    amounts, digits = [one.amount(*path) for path in paths.values()], 0 if unit == "count" else None
    partial = any(0 < amount.n < amount.of for amount in amounts)
    totals = [Cell(amount.total, mark="" if amount.n else amount.scope) for amount in amounts]
    spread = spread_columns([amount.values for amount in amounts], unit, digits)
    return table(
        id,
        id.capitalize(),
        words("what", paths),
        counts("n", [amount.n for amount in amounts], "reported", "Results that report it."),
        counts("of", [amount.of for amount in amounts], "of results"),
        column("total", totals, "", unit, "Over the results that record it.", digits=digits),
        column("mean", [amount.mean for amount in amounts], "", unit, "Per conversation.", digits=digits),
        *(of for of in spread if of.column.id in ("median", "lowest", "highest")),
        caption="Without judges; total over all results that report it, the rest per conversation.",
        notes=("The total is a part of what was spent: not all results state theirs.",) if partial else (),
    )


def coverage_table(one: Account) -> Table:
    """What was scored of what was expected, by why not; and what the Composite lacks."""
    lists = {reason: one.coverage.get(reason) or () for reason in UNSCORED}
    incomplete = [one.aggregate.get("composite_incomplete")]
    return table(
        "coverage",
        "Coverage",
        counts("expected", [one.coverage.get("expected")], "", "Conversations with labels."),
        counts("scored", [len(one.study.ids)]),
        *(counts(why, [len(lists[why])], "", f"Conversations {meaning}.") for why, meaning in UNSCORED.items()),
        counts("participants", [one.participants]),
        counts("composite_incomplete", incomplete, "Composite incomplete", "A term of the Composite is undefined."),
        notes=tuple(
            f"{why.capitalize()}: {listed(name_text(i, 200) for i in ids)}." for why, ids in lists.items() if ids
        ),
    )


def _provenance(one: Account) -> Table:
    """Who answered and in which format, which parameters were not taken as asked, and the settings, by results."""
    rows = [(label, count, name) for label, what in _SERVED.items() for name, count in one.served(what)]
    for parameter, hows in (one.observed.get("adapted") or {}).items():
        rows += [("parameter not accepted", n, name_text(f"{parameter}: {how}", 200)) for how, n in hows.items()]
    results: Counter[tuple[str, str]] = Counter()
    for variant in settings_of(one.study, one.group).get("variants") or ():
        values: dict[str, Any] = {key: variant[key] for key in _SETTINGS if variant.get(key) is not None}
        values |= variant.get("parameters") or {}
        values["judges"] = ", ".join(judges_named(variant)) or "none"
        for name, value in values.items():
            spelled = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
            shown = name_text(spelled, 12 if str(name).endswith("sha256") else 200)
            key = (name_text(name, 200), "server default" if value is None else shown)
            results[key] += variant.get("n_results", 1)
    return table(
        "provenance",
        "How the results were made",
        words("what"),
        counts("results"),
        words("value"),
        rows=[*rows, *((name, count, value) for (name, value), count in results.items())],
        caption="Numbers of results, as servers reported and as the run was set. A format is enforced by a schema, by "
        "JSON mode (object), or by the prompt alone (text); a result in which several names answered counts for each.",
    )
