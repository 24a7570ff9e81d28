"""One model in one mode, looked up: its values and means, and how its results came about (coverage, who answered,
settings, calls, money, time and tokens).

Means and intervals are those that `score` wrote. What no result states is undefined, never 0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, drill_to
from attunebench.analyses.table import NOT_ESTIMABLE, ZERO_INFLATED, Cell, Table, Unit, column, counts, table, words
from attunebench.analyses.verdicts import listed
from attunebench.judging import judges_named
from attunebench.metrics.rates import rate
from attunebench.scores import ConversationEntry
from attunebench.scores.checks import group_key
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.intervals import zero_inflated
from attunebench.text import printable

SPREAD = ("sd", "lowest", "quarter", "median", "three_quarters", "highest")
UNSCORED = {
    "skipped": "skipped by a run",
    "duplicated": "with several results, of which none is scored",
    "missing": "without any result",
}
SHARES = {
    "items answered": ("answered", "expected"),
    "calls repaired": ("mended", "made"),
    "calls refused": ("refused", "made"),
    "calls cut at the token limit": ("truncated", "made"),
    "calls re-prompted": ("reasked", "made"),
}
_SERVED = {"model": "models_reported", "provider": "providers_reported", "answer format held by": "structured_used"}
_SETTINGS = ("attunebench_version", "prompt_set_sha256", "codebook_sha256", "panas_strategy")
_TOKENS = {
    "prompt": "prompt_tokens",
    "of them cached": "cached_tokens",
    "reply": "completion_tokens",
    "of them reasoning": "reasoning_tokens",
}
_LONGEST = 100
"""Characters of a name that are shown."""


def name_text(name: Any, length: int = _LONGEST) -> str:
    """A name from a file, as far as it is shown."""
    return printable(str(name), length)


class Share(NamedTuple):
    """A part of a whole, summed over the `n` results that state both, and their ratio."""

    part: float
    whole: float
    n: int
    value: float | None


class Amount(NamedTuple):
    """The total over the `n` of `of` results that state it (None: none does), and its mean and spread over
    conversations."""

    total: float | None
    n: int
    of: int
    mean: float | None
    spread: Mapping[str, float | None]

    @property
    def scope(self) -> str:
        """What the total is of, where it is not of all results."""
        return "not stated" if not self.n else "" if self.n == self.of else f"of {self.n} of {self.of}"


@dataclass(frozen=True)
class Account:
    """A group of the scores; `study` holds it alone, with the conversations that were scored for it."""

    study: ScoreTable
    group: Group
    settings: Settings

    @classmethod
    def of(cls, study: ScoreTable, group: Group, settings: Settings) -> Account:
        """The group with the conversations that it has."""
        scored = [conversation for conversation in study.ids if (group.key, conversation) in study.entries]
        return cls(study.with_groups([group]).with_conversations(scored), group, settings)

    @cached_property
    def entries(self) -> list[ConversationEntry]:
        """All results, epoch by epoch."""
        return [one for i in self.study.ids for one in self.study.entries.get((self.group.key, i), ())]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Of the scores file that holds the group."""
        return self.study.metadata[self.group.source]

    @cached_property
    def stated(self) -> Mapping[str, Any]:
        """What the metadata say of how the group's results were made; empty where they say nothing."""
        return next((e for e in self.metadata.get("settings") or () if group_key(e) == self.group.key), {})

    @property
    def aggregate(self) -> Mapping[str, Any]:
        """The group's line in the scores; empty where the file has none."""
        return self.study.aggregates.get(self.group.key, {})

    @property
    def coverage(self) -> Mapping[str, Any]:
        """What of the expected conversations was scored, and why not the rest; empty where nobody knows."""
        return self.aggregate.get("coverage") or {}

    @property
    def unscored(self) -> str:
        """ "3 skipped, 1 missing"; empty where nothing is known to be lacking."""
        return ", ".join(f"{len(ids)} {reason}" for reason in UNSCORED if (ids := self.coverage.get(reason)))

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
        defined = ~np.isnan(values)
        count, people = int(defined.sum()), len(np.unique(self.study.clusters[defined]))
        small = count > 0 and (count < self.settings.small or people < 2)
        n, mean = estimate.get("n", count), estimate.get("mean")
        low, high = estimate.get("ci_low"), estimate.get("ci_high")
        if low == high:  # as older versions wrote an interval of one value
            low = high = None
        mark = ZERO_INFLATED if not small and zero_inflated(values[:, None])[0] else ""
        if n > 1 and mean is not None and low is None:
            mark = NOT_ESTIMABLE
        return Cell(mean, low, high, n=n, small=small, mark=mark, drill=drill_to(self.group, metric_id))

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
        mean = float(np.nanmean(values)) if stated else None
        return Amount(sum(stated) if stated else None, len(stated), len(self.entries), mean, spread_of(values))

    def served(self, what: str) -> list[tuple[str, int]]:
        """Name under which servers answered ("models_reported", …) and in how many results, most frequent first."""
        observed = (self.stated.get("observed") or {}).get(what) or {}
        names = [(name_text(name, 2 * _LONGEST), count) for name, count in observed.items()]
        return sorted(names, key=lambda name: (-name[1], name[0]))


def reader(*path: str) -> Callable[[ConversationEntry], float | None]:
    """Reads what a result states at these keys."""

    def read(entry: Any) -> Any:
        for key in path:
            entry = (entry or {}).get(key)
        return entry

    return read


def spread_of(values: Floats) -> dict[str, float | None]:
    """`SPREAD` of the defined values: standard deviation (n − 1) and quantiles."""
    defined = values[~np.isnan(values)]
    if not defined.size:
        return dict.fromkeys(SPREAD)
    sd = float(defined.std(ddof=1)) if defined.size > 1 else None
    return dict(zip(SPREAD, (sd, *np.quantile(defined, (0.0, 0.25, 0.5, 0.75, 1.0)).tolist()), strict=True))


# How the results came about


def account_tables(one: Account) -> Iterable[Table]:
    """How calls ended; cost, time and tokens; coverage; who answered; settings. A table may be without a row."""
    yield _calls(one)
    yield _amounts(one, "cost", "usd", {"US dollars": ("api_cost",)})
    yield _amounts(one, "time", "seconds", {"seconds": ("duration_seconds",)})
    yield _amounts(one, "tokens", "count", {name: ("usage", kind) for name, kind in _TOKENS.items()})
    yield coverage_table(one)
    yield _served(one)
    yield _settings(one)


def _calls(one: Account) -> Table:
    shares = [(name, one.share(name)) for name in SHARES]
    return table(
        "calls",
        "Answers and calls",
        words("what"),
        counts("n", (), "results", "Results that state both counts."),
        column("share", unit="share", meaning="Sum over sum."),
        counts("count"),
        counts("of", (), "", "Items expected, or calls made."),
        rows=[
            (name, found.n, found.value, *(found[:2] if found.n else (None, None)))
            for name, found in shares
            if any(other.n for _, other in shares)
        ],
        caption="Judges are not among them. An unanswered item counts as wrong, and says little of empathy.",
    )


def _amounts(one: Account, id: str, unit: Unit, paths: Mapping[str, tuple[str, ...]]) -> Table:
    amounts = [one.amount(*path) for path in paths.values()]
    digits = 0 if unit == "count" else None
    partial = any(0 < amount.n < amount.of for amount in amounts)
    totals = [Cell(amount.total, mark="" if amount.n else amount.scope) for amount in amounts]
    per = {name: [amount.spread[name] for amount in amounts] for name in ("median", "lowest", "highest")}
    return table(
        id,
        id.capitalize(),
        words("what", paths),
        counts("n", [amount.n for amount in amounts], "stated", "Results that state it."),
        counts("of", [amount.of for amount in amounts], "of results"),
        column("total", totals, "", unit, "Over the results that state it.", digits=digits),
        *(
            column(name, values, "", unit, "Per conversation.", digits=digits)
            for name, values in {"mean": [amount.mean for amount in amounts], **per}.items()
        ),
        caption="Without judges; total over all results that state it, the rest per conversation.",
        notes=("The total is a part of what was spent: not all results state theirs.",) if partial else (),
    )


def coverage_table(one: Account) -> Table:
    """What was scored of what was expected, by why not; and what the Composite lacks."""
    lists = {reason: one.coverage.get(reason) or () for reason in UNSCORED}
    incomplete = [one.aggregate.get("composite_incomplete")]
    return table(
        "coverage",
        "Coverage",
        counts("expected", [one.coverage.get("expected")], "", "Conversations of the ground truth."),
        counts("scored", [len(one.study.ids)]),
        *(counts(why, [len(lists[why])], "", f"Conversations {meaning}.") for why, meaning in UNSCORED.items()),
        counts("participants", [one.participants]),
        counts("composite_incomplete", incomplete, "Composite incomplete", "A term of it is undefined there."),
        notes=tuple(
            f"{why.capitalize()}: {listed([name_text(i, 2 * _LONGEST) for i in ids])}."
            for why, ids in lists.items()
            if ids
        ),
    )


def _served(one: Account) -> Table:
    """Who answered, how answers were held to their format, and which parameters were not taken as asked."""
    rows = [(label, count, name) for label, what in _SERVED.items() for name, count in one.served(what)]
    adapted: Mapping[str, Mapping[str, int]] = (one.stated.get("observed") or {}).get("adapted") or {}
    rows += [
        ("parameter not taken as asked", count, name_text(f"{parameter}: {how}", 2 * _LONGEST))
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


def _settings(one: Account) -> Table:
    """With which settings the results were made, and how many with each."""
    results: Counter[tuple[str, str]] = Counter()
    for variant in one.stated.get("variants") or ():
        values: dict[str, Any] = {key: variant[key] for key in _SETTINGS if variant.get(key) is not None}
        values |= {str(name): value for name, value in (variant.get("parameters") or {}).items()}
        values["judges"] = ", ".join(judges_named(variant)) or "none"
        for name, value in values.items():
            spelled = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
            shown = name_text(spelled, 12 if name.endswith("sha256") else 2 * _LONGEST)
            key = (name_text(name, 2 * _LONGEST), "the server's own" if value is None else shown)
            results[key] += variant.get("n_results", 1)
    return table(
        "settings",
        "How the results were made",
        words("setting"),
        counts("results"),
        words("value"),
        rows=[(name, count, value) for (name, value), count in results.items()],
    )
