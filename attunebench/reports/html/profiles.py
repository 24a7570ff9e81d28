"""A profile of each model: every metric with its interval and place among the others, and where it differs most.

Values are those of the scores' aggregates. Draws nothing, ranks nothing: a place is no finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, digits_of, in_mode, primary_mode, unit_of
from attunebench.analyses.table import Cell, Column, Drill
from attunebench.constants import BINARY_QUESTION_TEXT
from attunebench.judging import judges_named
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY, Metric
from attunebench.reports.html.charts import axis_over
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.tables import ShownCell, shown_cell
from attunebench.reports.model import Estimate
from attunebench.reports.model import Group as Scored
from attunebench.scores.table import Block, Group, ScoreTable
from attunebench.text import UNDEFINED, number

_QUESTIONS = 3
_BLOCKS: Mapping[Block, str] = {"binary_om": "did the reply", "binary_hp": "would the person have wanted it to"}


class Measure(NamedTuple):
    """A metric of a model. `others`: the other models' means, `own` its own, in percent of their common axis."""

    label: str
    meaning: str
    lower: bool
    by_mode: list[ShownCell]
    place: str
    own: float | None
    others: list[float]


class Strand(NamedTuple):
    """A question on which the model is right more or less often than the mean of the other models."""

    gap: float
    text: str
    side: str
    own: ShownCell
    others: str
    n: int

    @property
    def ahead(self) -> bool:
        return self.gap > 0


class Profile(NamedTuple):
    """All that the page tells of one model. `facts`: (what, words) on coverage and settings."""

    anchor: str
    label: str
    provider: str
    look: str
    kind: str
    modes: list[str]
    measures: dict[str, list[Measure]]
    strands: list[Strand]
    facts: list[tuple[str, str]]


_KINDS = {"model": "", "human": "person", "baseline": "built-in baseline", "oracle": "answers from the labels"}
_HEADS = {"pillar": "Overall", "turn": "Turn by turn", "conversation": "About the whole talk", "draft": "Own replies"}


def profiles(
    study: ScoreTable, scored: Sequence[Scored], settings: Settings, drills: Drills, looks: Mapping[str, str]
) -> list[Profile]:
    """A profile for each model of the study, models before people before baselines; `scored`: the report's groups."""
    primary = primary_mode(study)
    models: dict[tuple[str, str], list[Group]] = {}
    for group in study.groups:
        models.setdefault(group.model_key, []).append(group)
    by_key = {group.key: Scored(*group.key, n=0) for group in study.groups}
    by_key |= {group.key: group for group in scored}
    ranked = [by_key[group.key] for group in study.models(baselines=settings.baselines).groups if group.mode == primary]
    strands = _strands(in_mode(study, primary, settings), settings, drills)
    made = []
    for place, ((provider, _), groups) in enumerate(models.items()):
        first, own = groups[0], [by_key[group.key] for group in groups]
        profile = Profile(
            anchor=f"m-{place}",
            label=first.label,
            provider=provider,
            look=looks.get(first.label, ""),
            kind=_KINDS[first.kind],
            modes=[group.mode for group in groups],
            measures=_measures(own, ranked, drills),
            strands=strands.get(first.model_key, []),
            facts=[fact for group in own for fact in _facts(group, several=len(own) > 1)],
        )
        made.append(profile)
    return made


def _measures(own: Sequence[Scored], ranked: Sequence[Scored], drills: Drills) -> dict[str, list[Measure]]:
    """Heading → measures. A judged one stands among models that had the same judges."""
    sections: dict[str, list[Measure]] = {}
    for card in REGISTRY.values():
        judged = card.id in JUDGED
        if card.group in _HEADS and (card.group != "draft" or judged):
            beside = [group for group in ranked if not judged or group.judges == own[0].judges]
            measure = _measure(card, own, beside, drills)
            if any(shown.value != UNDEFINED for shown in measure.by_mode):
                names = dict.fromkeys(judge for group in own for judge in group.judges)
                by = f", judged by {', '.join(names) or 'nobody named'}" if judged else ""
                sections.setdefault(f"{_HEADS[card.group]}{by}", []).append(measure)
    return sections


def _measure(card: Metric, own: Sequence[Scored], ranked: Sequence[Scored], drills: Drills) -> Measure:
    column = Column(card.id, card.label, unit_of(card.id), digits=digits_of(card.id))
    by_mode = []
    for group in own:
        found = group.values.get(card.id, Estimate())
        drill = Drill(group.key, card.id) if found.mean is not None else None
        cell = Cell(found.mean, found.ci_low, found.ci_high, n=found.n or None, drill=drill)
        by_mode.append(shown_cell(cell, column, None, drills))
    means = {group.key: group.values[card.id].mean for group in ranked if card.id in group.values}
    known = {key: mean for key, mean in means.items() if mean is not None}
    value, axis = known.get(own[0].key), axis_over(list(known.values())) if known else None
    lower, place = card.higher_is_better is False, ""
    if value is not None and len(known) > 1:
        # Equal means share the better place.
        ahead = sum(mean < value if lower else mean > value for mean in known.values())
        place = f"{ahead + 1} of {len(known)}"
    others = [axis.at(mean) for key, mean in known.items() if axis and key != own[0].key]
    own_at = axis.at(value) if axis and value is not None else None
    return Measure(card.label, card.meaning, lower, by_mode, place, own_at, others)


def _strands(models: ScoreTable, settings: Settings, drills: Drills) -> dict[tuple[str, str], list[Strand]]:
    """Model → the questions on which it is farthest above, and below, the mean of the other models.

    Only questions that were compared in at least `settings.small` conversations.
    """
    if len(models.groups) < 2 or not models.questions:
        return {}
    strands: dict[tuple[str, str], list[Strand]] = {group.model_key: [] for group in models.groups}
    rows, share = models.clusters_of_turns(), Column("share", "", "share")
    for block, side in _BLOCKS.items():
        right = models.right(block)
        complete = np.asarray(~np.isnan(right).any(axis=2))
        for place, question in enumerate(models.questions):
            kept = complete[:, place]
            if len(np.unique(rows[kept])) < settings.small:
                continue
            shares = right[kept, place].mean(axis=0)
            for own, group in zip(shares.tolist(), models.groups, strict=True):
                others = (shares.sum() - own) / (len(shares) - 1)
                drill = Drill(group=group.key, question=question, block=block)
                shown = shown_cell(Cell(own, drill=drill), share, None, drills)
                text = BINARY_QUESTION_TEXT.get(question, question)
                strand = Strand(own - others, text, side, shown, number(others), int(kept.sum()))
                strands[group.model_key].append(strand)
    return {key: _farthest(found) for key, found in strands.items()}


def _farthest(strands: Sequence[Strand]) -> list[Strand]:
    ordered = sorted(strands, key=lambda strand: -strand.gap)
    above = [strand for strand in ordered[:_QUESTIONS] if strand.gap > 0]
    return above + [strand for strand in reversed(ordered[-_QUESTIONS:]) if strand.gap < 0]


def _facts(group: Scored, *, several: bool) -> Iterable[tuple[str, str]]:
    """Coverage, answers, and how the results were made, as far as the scores say."""
    suffix = f" ({group.mode})" if several else ""
    expected = UNDEFINED if group.expected is None else group.expected
    yield f"Conversations{suffix}", f"{group.n} scored of {expected}"
    for variant in group.settings:
        yield f"Settings{suffix}", _variant(variant)


def _variant(variant: Mapping[str, Any]) -> str:
    parts = [f"{variant.get('n_results', '–')} results"]
    for key, value in sorted(variant.items()):
        if key == "parameters" and isinstance(value, Mapping):
            parts += [f"{name} {value[name]}" for name in sorted(value) if value[name] not in (None, [], {}, "")]
        elif key == "judge_models":
            parts.append(f"judges {', '.join(judges_named(variant)) or 'none'}")
        elif key not in ("n_results", "judge_scales") and value not in (None, [], {}, ""):
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            parts.append(f"{key} {text[:12] if key.endswith('sha256') else text}")
    return " · ".join(parts)
