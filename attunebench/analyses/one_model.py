"""One model in one mode, looked up: its values, means and entries, and sums of what its results state.

Means and intervals are those that `score` wrote. What no result states is undefined, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, drill_to
from attunebench.analyses.table import NOT_ESTIMABLE, ZERO_INFLATED, Cell
from attunebench.scores import ConversationEntry
from attunebench.scores.checks import group_key
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.intervals import zero_inflated
from attunebench.text import printable

LONGEST = 100
"""Characters of a name that are shown."""
SPREAD = ("sd", "lowest", "quarter", "median", "three_quarters", "highest")

Read = Callable[[ConversationEntry], "float | None"]


class Share(NamedTuple):
    """A part of a whole, summed over the `n` results that state both."""

    part: float
    whole: float
    n: int

    @property
    def value(self) -> float | None:
        return self.part / self.whole if self.whole else None


class Amount(NamedTuple):
    """The total over the `n` of `of` results that state it (None: none does), and its spread over conversations."""

    total: float | None
    n: int
    of: int
    mean: float | None
    spread: tuple[float | None, ...]


@dataclass(frozen=True)
class OneModel:
    """A group of the scores; `study` holds it alone, with the conversations that were scored for it."""

    study: ScoreTable
    group: Group
    settings: Settings
    _values: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, study: ScoreTable, group: Group, settings: Settings) -> OneModel:
        """The group with the conversations that it has."""
        alone = study.with_groups([group])
        scored = [conversation for conversation in alone.ids if (group.key, conversation) in alone.entries]
        return cls(alone.with_conversations(scored), group, settings)

    @property
    def mode(self) -> str:
        return printable(self.group.mode, LONGEST)

    @property
    def aggregate(self) -> Mapping[str, Any]:
        """The group's line in the scores; empty where the file has none."""
        return self.study.aggregates.get(self.group.key, {})

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Of the scores file that holds the group."""
        return self.study.metadata[self.group.source]

    @property
    def stated(self) -> Mapping[str, Any]:
        """What the metadata say of how the group's results were made; empty where they say nothing."""
        listed = self.metadata.get("settings") or ()
        return next((entry for entry in listed if group_key(entry) == self.group.key), {})

    @property
    def coverage(self) -> Mapping[str, Any]:
        """What of the expected conversations was scored, and why not the rest; empty where nobody knows."""
        return self.aggregate.get("coverage") or {}

    @property
    def participants(self) -> int:
        """Whose conversations these are; one of an unknown participant counts as a participant."""
        return len(np.unique(self.study.clusters))

    def values(self, metric_id: str) -> Floats:
        """A value per conversation, epochs averaged; NaN where it is undefined."""
        if metric_id not in self._values:
            self._values[metric_id] = np.asarray(self.study.values(metric_id)[:, 0])
        return self._values[metric_id]

    def entries(self) -> Iterator[ConversationEntry]:
        """All results, epoch by epoch."""
        for conversation in self.study.ids:
            yield from self.study.entries.get((self.group.key, conversation), ())

    def mean(self, metric_id: str) -> Cell:
        """Mean, interval and n as `score` wrote them; undefined where it wrote none."""
        estimate = self.aggregate.get("metrics", {}).get(metric_id, {})
        values = self.values(metric_id)
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

    def share(self, part: str, whole: str) -> Share:
        """Sums over calls, so that a conversation of many calls counts for more: as `score` makes its rates."""
        counts = [
            ((entry.get("calls") or {}).get(part), (entry.get("calls") or {}).get(whole)) for entry in self.entries()
        ]
        stated = [(above, below) for above, below in counts if above is not None and below is not None]
        return Share(sum(above for above, _ in stated), sum(below for _, below in stated), len(stated))

    def amount(self, read: Read) -> Amount:
        """All epochs are in the total; a conversation's amount is the mean of its epochs."""
        amounts = [read(entry) for entry in self.entries()]
        stated = [amount for amount in amounts if amount is not None]
        values = np.asarray(self.study.entry_values(read)[:, 0])
        mean = float(np.nanmean(values)) if stated else None
        return Amount(sum(stated) if stated else None, len(stated), len(amounts), mean, spread_of(values))

    def served(self, what: str) -> list[tuple[str, int]]:
        """Name under which servers answered ("models_reported", …) and in how many results, most frequent first."""
        observed = (self.stated.get("observed") or {}).get(what) or {}
        names = [(printable(name, 2 * LONGEST), count) for name, count in observed.items()]
        return sorted(names, key=lambda name: (-name[1], name[0]))

    def name_of(self, conversation: str, *, ending: bool = True) -> str | None:
        """The name of a conversation's file, with or without its ending; None where the scores do not keep it."""
        truth = self.study.ground_truth.get(conversation)
        if truth is None:
            return None
        return printable(truth["source_file"] if ending else truth["source_file"].removesuffix(".json"), LONGEST)


def spread_of(values: Floats) -> tuple[float | None, ...]:
    """`SPREAD` of the defined values; None where there is none."""
    defined = values[~np.isnan(values)]
    if not defined.size:
        return (None,) * 6
    sd = float(defined.std(ddof=1)) if defined.size > 1 else None
    return (sd, *(float(q) for q in np.quantile(defined, (0.0, 0.25, 0.5, 0.75, 1.0))))
