"""What a run has spent so far, split by what it bought. Counts; decides nothing (`budget` does)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from attunebench.protocol.calls import Usage


@dataclass(slots=True)
class Share:
    """One part of the spending. `cost`: USD, the known part; `unpriced` counts the replies whose cost is unknown."""

    replies: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced: int = 0

    def add(self, usage: Usage, cost: float | None) -> None:
        """Count one reply."""
        self.replies += 1
        self.usage += usage
        if cost is None:
            self.unpriced += 1
        else:
            self.cost += cost

    def join(self, other: Share) -> None:
        """Count what another part of the run has counted."""
        self.replies += other.replies
        self.usage += other.usage
        self.cost += other.cost
        self.unpriced += other.unpriced

    @property
    def total(self) -> float | None:
        """USD, or None where a part is unknown: a sum with a gap would look like a price."""
        return None if self.unpriced or not self.replies else self.cost


@dataclass(slots=True)
class Spending:
    """The replies of this run by who gave them.

    `wasted` is the part of `model` and `judges` that was asked for again (cut at the limit, or items missing). `lost`
    counts requests without a usable reply that the provider may bill all the same. `replayed` counts replies taken from
    the journal: paid by an earlier run, in no share here.
    """

    model: Share = field(default_factory=Share)
    judges: Share = field(default_factory=Share)
    wasted: Share = field(default_factory=Share)
    lost: int = 0
    replayed: int = 0

    def become(self, parts: Iterable[Spending]) -> None:
        """Be the sum of these parts of a run."""
        total = Spending()
        for part in parts:
            for mine, theirs in (
                (total.model, part.model),
                (total.judges, part.judges),
                (total.wasted, part.wasted),
            ):
                mine.join(theirs)
            total.lost += part.lost
            total.replayed += part.replayed
        self.model, self.judges, self.wasted = total.model, total.judges, total.wasted
        self.lost, self.replayed = total.lost, total.replayed

    @property
    def cost(self) -> float | None:
        """USD of model and judges, or None where a part of it is unknown or nothing was asked."""
        asked = [share for share in (self.model, self.judges) if share.replies]
        return sum(share.cost for share in asked) if asked and not any(share.unpriced for share in asked) else None

    @property
    def usage(self) -> Usage:
        """Tokens of model and judges."""
        return self.model.usage + self.judges.usage
