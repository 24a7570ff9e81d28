"""One group of a study over the conversations that were scored for it: its values, means and entries.

Means and intervals are those that `score` wrote, so that looking a model up gives the numbers of its report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import NOT_ESTIMABLE, Cell, Settings
from attunebench.scores import ConversationEntry
from attunebench.scores.checks import group_key
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.intervals import zero_inflated


@dataclass(frozen=True)
class One:
    """A group; `study` holds it alone, with its conversations in the order of the scores."""

    study: ScoreTable
    group: Group
    settings: Settings
    _values: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, study: ScoreTable, group: Group, settings: Settings) -> One:
        """The group with the conversations that it has."""
        alone = study.with_groups([group])
        scored = [conversation for conversation in alone.ids if (group.key, conversation) in alone.entries]
        return cls(alone.with_conversations(scored), group, settings)

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
    def participants(self) -> int:
        """Whose conversations these are; one of an unknown participant counts as a participant."""
        return len(np.unique(self.study.clusters))

    def values(self, metric_id: str) -> Floats:
        """A value per conversation, epochs averaged; NaN where it is undefined."""
        if metric_id not in self._values:
            self._values[metric_id] = np.asarray(self.study.values(metric_id)[:, 0])
        return self._values[metric_id]

    def per_conversation(self, read: Callable[[ConversationEntry], float | None]) -> Floats:
        """As `values`, of anything that an entry holds."""
        return np.asarray(self.study.entry_values(read)[:, 0])

    def entries(self) -> Iterator[ConversationEntry]:
        """All results, epoch by epoch."""
        for conversation in self.study.ids:
            yield from self.entries_of(conversation)

    def entries_of(self, conversation_id: str) -> tuple[ConversationEntry, ...]:
        """The results of a conversation."""
        return self.study.entries.get((self.group.key, conversation_id), ())

    def mean(self, metric_id: str) -> Cell:
        """Mean, interval and n as `score` wrote them; undefined where it wrote none."""
        estimate = self.aggregate.get("metrics", {}).get(metric_id, {})
        values = self.values(metric_id)
        defined = ~np.isnan(values)
        people = len(np.unique(self.study.clusters[defined]))
        small = bool(defined.any()) and (int(defined.sum()) < self.settings.small or people < 2)
        alike = not small and bool(zero_inflated(values[:, None])[0])
        mark, n = common.ZERO_INFLATED if alike else "", estimate.get("n", int(defined.sum()))
        low, high = estimate.get("ci_low"), estimate.get("ci_high")
        if low == high:  # as older versions wrote an interval of one value
            low = high = None
        if n > 1 and estimate.get("mean") is not None and low is None:
            mark = NOT_ESTIMABLE
        return Cell(
            estimate.get("mean"),
            low,
            high,
            n=n,
            small=small,
            mark=mark,
            drill=common.drill_to(self.group, metric_id),
        )
