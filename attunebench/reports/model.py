"""What a report is before it is drawn: sections of metrics (rows) by groups (columns), and what is said beside them.

Knows no metric's name and no output format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attunebench.text import UNDEFINED

NO_INTERVAL = f"[{UNDEFINED}]"
PRIMARY_MODE = "default"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One value. `mean` None is undefined, `n` counts what it is over, a bound is None where there is no interval.

    `counts` (tp, tn, fp, fn) belong to pooled yes/no answers, whose n are judgements.
    """

    mean: float | None = None
    n: int = 0
    se: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    counts: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A place in a leaderboard with its doubt: the tier from 1 (None: too little for a claim), and the best and worst
    place in 95 % of the resamples."""

    tier: int | None
    best: int
    worst: int

    @property
    def text(self) -> str:
        """ "1 (1–3)", "2 (5)", or "– (1–2)" where there are no tiers."""
        places = str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"
        return f"{UNDEFINED if self.tier is None else self.tier} ({places})"


@dataclass(frozen=True, slots=True)
class Group:
    """Everything that was scored for one (provider, model, mode).

    `expected` is None where the scores do not say it. `unscored`: reason ("skipped", "duplicated", "missing") → ids.
    `sample`: (reached, seed) where what was scored is the beginning of a run's random order, else None.
    `answered` is in [0, 1] or None. `incomplete` counts the conversations whose Composite had to leave a term out.
    `settings`: the distinct settings with which its results were made (PANAS strategy, prompt set, codebook …).
    `conversations`: the ids that were scored. `models_reported`, `providers_reported` and `structured_used`: name → in
    how many results a server answered so; `adapted`: parameter → what became of it → in how many results. `standing`:
    its tier by Composite among the models of its mode.
    """

    provider: str
    model: str
    mode: str
    n: int
    participants: int | None = None
    expected: int | None = None
    unscored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sample: tuple[int, int] | None = None
    answered: float | None = None
    incomplete: int = 0
    judges: tuple[str, ...] = ()
    settings: tuple[Mapping[str, Any], ...] = ()
    conversations: frozenset[str] = frozenset()
    models_reported: Mapping[str, int] = field(default_factory=dict)
    providers_reported: Mapping[str, int] = field(default_factory=dict)
    structured_used: Mapping[str, int] = field(default_factory=dict)
    adapted: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    values: Mapping[str, Estimate] = field(default_factory=dict)
    pooled: Mapping[str, Any] = field(default_factory=dict)
    standing: Standing | None = None
    by_se: bool = False
    """Whether nothing but aggregates are known of it, so that its intervals are mean ± 1.96 SE."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.provider, self.model, self.mode

    @property
    def name(self) -> str:
        return f"{self.model} ({self.mode})"

    @property
    def marked(self) -> str:
        """The model's name, with a mark where its intervals are not those of the others."""
        return f"{self.model} (±SE)" if self.by_se else self.model


@dataclass(frozen=True, slots=True)
class Reference:
    """A score made from the labels alone, to hold groups against: it stands beside them and is in no ranking."""

    id: str
    label: str
    meaning: str
    n: int
    values: Mapping[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A metric and its cells, one for each group of the report in the same order.

    `digits` are those shown behind the point. `pooled`: the cells are over yes/no judgements of all conversations
    together; `rounds_down`: 1 is shown only where nothing is missing. `counting`: what is shown is their four counts.
    `n_shown` False: a row of counts beside it says the n. `kind`: label and id without the block of questions, where
    rows of several blocks mean the same; a legend says it once.
    """

    id: str
    label: str
    meaning: str
    status: str
    cells: tuple[Estimate, ...]
    digits: int = 3
    chance: float | None = None
    higher_is_better: bool | None = True
    pooled: bool = False
    rounds_down: bool = False
    counting: bool = False
    n_shown: bool = True
    kind: tuple[str, str] | None = None
    beside: tuple[Estimate, ...] = ()
    """A cell for each reference of the section."""

    @property
    def heading(self) -> str:
        """The label, and the direction where it is not the usual one."""
        return f"{self.label} (lower is better)" if self.higher_is_better is False else self.label

    @property
    def measured(self) -> bool:
        return any(cell.mean is not None for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Section:
    """One table with a heading and one line that says what it is. `leaderboard`: groups are ranked by its first row."""

    title: str
    explanation: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    leaderboard: bool = False
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All that is shown. `warnings` must be read before the numbers, `notes` may be read after them; `rules`: whose."""

    title: str
    summary: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    groups: tuple[Group, ...]
    sections: tuple[Section, ...]
    references: tuple[Reference, ...] = ()
    rules: str = "attunebench"
