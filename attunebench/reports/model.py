"""What a report is before it is drawn: sections of metrics (rows) by groups (columns), and what is said beside them.

Groups and references are read from validated scores (spec 5.3). Knows no output format.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Cell, number_of
from attunebench.constants import MODES
from attunebench.judging import judges_named
from attunebench.metrics.registry import Metric, below_chance, no_reference
from attunebench.published import BY_SE
from attunebench.scores import BASE_RATE
from attunebench.scores.audits import audits_in, prompts_of, standing_of
from attunebench.scores.checks import group_key
from attunebench.text import UNDEFINED

if TYPE_CHECKING:
    from attunebench.comparison import Ranking

NO_INTERVAL = f"[{UNDEFINED}]"
PRIMARY_MODE = "default"
_WIDE_RANGE = 10
_FINE = ("ratio", "standard deviations")
"""Units without a range of their own, whose values are small."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A rank in a leaderboard with its doubt: the tier from 1 (None: too little for a claim), and the best and worst
    rank in 95 % of the resamples."""

    tier: int | None
    best: int | None
    worst: int | None

    @property
    def text(self) -> str:
        """ "1 (1–3)", "2 (5)", or "– (1–2)" where there are no tiers."""
        ranks = str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"
        return f"{UNDEFINED if self.tier is None else self.tier} ({ranks})"


@dataclass(frozen=True, slots=True)
class Group:
    """Everything that was scored for one (provider, model, mode).

    `expected` is None where the scores do not say it. `unscored`: reason ("skipped", "duplicated", "missing") → ids.
    `sample`: (reached, seed) where what was scored is the beginning of a run's random order, else None.
    `answered` is in [0, 1] or None. `incomplete` counts the conversations whose Composite had to leave a term out.
    `settings`: the distinct settings with which its results were made (PANAS strategy, prompt set, codebook …).
    `conversations`: the ids that were scored. `observed`: what servers answered, in how many results. `standing`: its
    tier by Composite among the models of its mode. `by_se`: nothing but aggregates are known of it, so that its
    intervals are mean ± 1.96 SE. `validated`, `unvalidated`: judges with scale → what their audit against participants
    says; of a judge that is not named, the key is "".
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
    observed: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Cell] = field(default_factory=dict)
    pooled: Mapping[str, Any] = field(default_factory=dict)
    standing: Standing | None = None
    by_se: bool = False
    validated: Mapping[str, str] = field(default_factory=dict)
    unvalidated: Mapping[str, str] = field(default_factory=dict)

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
    values: Mapping[str, Cell] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A metric's card and its cells, one for each group of the report in the same order.

    `pooled`: the cells are over yes/no judgements of all conversations together. `n_shown` False: a row of counts
    beside it says the n. `kind`: label and id without the block of questions, where rows of several blocks mean the
    same; a legend says it once. `beside` has a cell for each reference of the section.
    """

    card: Metric
    cells: tuple[Cell, ...]
    pooled: bool = False
    n_shown: bool = True
    kind: tuple[str, str] | None = None
    beside: tuple[Cell, ...] = ()

    @property
    def id(self) -> str:
        return self.card.id

    @property
    def digits(self) -> int:
        """Behind the point: one where the range is wide (the Composite's 0–100), else three."""
        wide = self.card.high - self.card.low > _WIDE_RANGE and self.card.unit not in _FINE
        return 1 if wide else 3

    @property
    def heading(self) -> str:
        """The label, and the direction where it is not the usual one."""
        return f"{self.card.label} (lower is better)" if self.card.higher_is_better is False else self.card.label

    @property
    def measured(self) -> bool:
        return any(cell.value is not None for cell in self.cells)


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
    rankings: tuple[Ranking, ...] = ()
    """Of the models of each mode, where they were ranked."""

    @property
    def leaderboard(self) -> Section | None:
        """The section of the Composite; None where other metrics were asked for."""
        return next((section for section in self.sections if section.leaderboard), None)

    @property
    def base_rate(self) -> Mapping[str, Cell]:
        """The values of the reference made from the labels alone."""
        return next((one.values for one in self.references if one.id == BASE_RATE), {})


def read_groups(scores: Mapping[str, Any]) -> tuple[Group, ...]:
    """The groups, the primary mode first and within a mode by falling Composite, undefined ones last."""
    settings = {group_key(entry): entry for entry in scores["metadata"].get("settings") or ()}
    ids: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for entry in scores["conversations"]:
        ids[group_key(entry)].add(entry["conversationId"])
    groups = []
    for entry in scores["aggregates"]:
        key = group_key(entry)
        groups.append(_group(entry, settings.get(key, {}), frozenset(ids[key]), scores["metadata"]))
    return tuple(sorted(groups, key=_rank))


def _group(
    entry: Mapping[str, Any], made: Mapping[str, Any], conversations: frozenset[str], metadata: Mapping[str, Any]
) -> Group:
    coverage, variants = entry.get("coverage") or {}, made.get("variants") or ()
    named = dict.fromkeys(judge for variant in variants for judge in judges_named(variant))
    values = {metric: _cell(value) for metric, value in entry["metrics"].items()}
    sample = coverage.get("sample")
    judges = tuple(named) or strings(metadata.get("judges"))
    validated, unvalidated = standing_of(judges, audits_in(metadata), prompts_of(variants))
    return Group(
        *group_key(entry),
        n=entry.get("n_conversations") or coverage.get("scored") or 0,
        participants=entry.get("n_participants"),
        expected=coverage.get("expected"),
        unscored={why: tuple(ids) for why in ("skipped", "duplicated", "missing") if (ids := coverage.get(why))},
        sample=(sample["reached"], sample["seed"]) if sample else None,
        answered=number_of(values["answered_rate"]) if "answered_rate" in values else None,
        incomplete=entry.get("composite_incomplete", 0),
        judges=judges,
        settings=tuple(variants),
        conversations=conversations,
        values=values,
        by_se=any(value.get("ci_method") == BY_SE for value in entry["metrics"].values()),
        pooled={block: counts for block, counts in entry.get("pooled", {}).items() if counts},
        observed=made.get("observed") or {},
        validated=validated,
        unvalidated=unvalidated or ({} if judges else {"": ""}),
    )


def _rank(group: Group) -> tuple[int, str, float, str, str]:
    mode = MODES.index(group.mode) if group.mode in MODES else len(MODES)
    composite = number_of(group.values["composite"]) if "composite" in group.values else None
    return mode, group.mode, math.inf if composite is None else -composite, group.model, group.provider


def read_references(scores: Mapping[str, Any]) -> tuple[Reference, ...]:
    """The references in the order of the scores, as far as they stand; none where an older version made them."""
    references = []
    for entry in scores.get("references") or ():
        values = {metric: _cell(value) for metric, value in entry["metrics"].items()}
        low = [metric for metric, cell in values.items() if below_chance(metric, number_of(cell))]
        meaning = " ".join(filter(None, (entry["meaning"], no_reference(low))))
        values |= dict.fromkeys(low, Cell(None))
        references.append(Reference(entry["id"], entry["label"], meaning, entry.get("n_conversations", 0), values))
    return tuple(references)


def _cell(value: Mapping[str, Any]) -> Cell:
    low, high = value.get("ci_low"), value.get("ci_high")
    if low == high:
        low = high = None  # of one value, as older versions wrote it: it could not be estimated
    return Cell(value.get("mean"), low, high, value.get("n", 0))


def settings_of(metadata: Mapping[str, Any]) -> Settings:
    """Settings with the seed, resamples and unit of resampling by which the scores were made, as far as they say."""
    made = metadata.get("intervals") or {}
    known = {name: made[name] for name in ("seed", "resamples") if name in made}
    return Settings(**known, by_participant=made.get("unit") == "participant")


def strings(value: object) -> tuple[str, ...]:
    """The texts of a list that the schema does not declare; a single text is a list of one."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
