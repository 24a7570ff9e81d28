"""What a report is before it is drawn: sections of metrics (rows) by groups (columns), and what is said beside them.

Owns how a number is rounded and an undefined one is written. Knows no metric's name and no output format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attunebench.metrics.rates import percent, rounded_down

UNDEFINED = "–"
NO_INTERVAL = f"[{UNDEFINED}]"
PRIMARY_MODE = "default"


@dataclass(frozen=True, slots=True)
class Cell:
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
    """A column of the report: everything that was scored for one (provider, model, mode).

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
    values: Mapping[str, Cell] = field(default_factory=dict)
    pooled: Mapping[str, Any] = field(default_factory=dict)
    standing: Standing | None = None
    by_se: bool = False
    """Whether nothing but aggregates are known of it, so that its intervals are mean ± 1.96 SE."""

    @property
    def name(self) -> str:
        return f"{self.model} ({self.mode})"

    @property
    def marked(self) -> str:
        """The model's name, with a mark where its intervals are not those of the others."""
        return f"{self.model} (±SE)" if self.by_se else self.model

    @property
    def scored_text(self) -> str:
        """ "180/200", or "180" where nobody knows how many were expected."""
        return str(self.n) if self.expected is None else f"{self.n}/{self.expected}"

    @property
    def answered_text(self) -> str:
        return UNDEFINED if self.answered is None else percent(self.answered)


@dataclass(frozen=True, slots=True)
class Reference:
    """A score made from the labels alone, to hold groups against: it stands beside them and is in no ranking."""

    id: str
    label: str
    meaning: str
    n: int
    values: Mapping[str, Cell] = field(default_factory=dict)


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
    cells: tuple[Cell, ...]
    digits: int = 3
    chance: float | None = None
    higher_is_better: bool | None = True
    pooled: bool = False
    rounds_down: bool = False
    counting: bool = False
    n_shown: bool = True
    kind: tuple[str, str] | None = None
    beside: tuple[Cell, ...] = ()
    """A cell for each reference of the section."""

    @property
    def heading(self) -> str:
        """The label, and the direction where it is not the usual one."""
        return f"{self.label} (lower is better)" if self.higher_is_better is False else self.label

    @property
    def measured(self) -> bool:
        return any(cell.mean is not None for cell in self.cells)

    def value_text(self, cell: Cell) -> str:
        """The value as people read it: "0.612", "–", or "300/50/30/32" (tp, tn, fp, fn) in a row of counts."""
        if self.counting and cell.counts is not None:
            return "/".join(str(count) for count in cell.counts.values())
        rounded = rounded_down(cell.mean, self.digits) if self.rounds_down and cell.mean is not None else cell.mean
        return number(rounded, self.digits)

    def interval_text(self, cell: Cell) -> str:
        """ "[0.581, 0.643]", "[–]" where the interval cannot be estimated, "" where the row has none."""
        if cell.mean is None or self.pooled:
            return ""
        if cell.ci_low is None or cell.ci_high is None:
            return NO_INTERVAL
        return f"[{number(cell.ci_low, self.digits)}, {number(cell.ci_high, self.digits)}]"

    @property
    def chance_text(self) -> str:
        return "" if self.chance is None else number(self.chance, self.digits)

    @property
    def legend(self) -> str:
        """The meaning, and the direction where it is not the usual one."""
        return f"{self.meaning} Lower is better." if self.higher_is_better is False else self.meaning


@dataclass(frozen=True, slots=True)
class Section:
    """One table with a heading and one line that says what it is. `leaderboard`: groups are ranked by its first row."""

    title: str
    explanation: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    leaderboard: bool = False
    references: tuple[Reference, ...] = ()

    @property
    def legend(self) -> list[tuple[str, str, str]]:
        """Label, id and meaning of its rows; rows of one kind are explained together."""
        return list(dict.fromkeys((*(row.kind or (row.label, row.id)), row.legend) for row in self.rows))


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


def number(value: float | None, digits: int) -> str:
    """Rounded for display; undefined is a dash, and a negative zero loses its sign."""
    if value is None:
        return UNDEFINED
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def plural(count: int, noun: str) -> str:
    """ "1 model", "11 models"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
