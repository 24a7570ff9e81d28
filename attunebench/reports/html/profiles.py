"""A profile of each model: every metric with its interval and place among the others, and where it differs most.

Values are those of the scores' aggregates. Draws nothing, ranks nothing that is not told apart: a place is a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Cell, Column, Drill, Settings
from attunebench.constants import BINARY_QUESTION_TEXT
from attunebench.judging import judges_named
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY, Metric
from attunebench.reports.analyses.words import Words, words_of
from attunebench.reports.html.charts import axis_over
from attunebench.reports.html.drills import Drills
from attunebench.scores.table import Block, Group, ScoreTable

_QUESTIONS = 3
_BLOCKS: Mapping[Block, str] = {"binary_om": "did the reply", "binary_hp": "would the person have wanted it to"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric of a model. `others`: the other models' means, `own` its own, in percent of their common axis."""

    label: str
    meaning: str
    lower: bool
    by_mode: tuple[tuple[Words, str, int | None], ...]
    place: str
    own: float | None
    others: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Strand:
    """A question on which the model is right more or less often than the mean of the other models."""

    text: str
    side: str
    own: str
    others: str
    n: int
    drill: int | None
    ahead: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """All that the page tells of one model. `facts`: (what, words) on coverage and settings."""

    anchor: str
    label: str
    provider: str
    look: str
    kind: str
    modes: tuple[str, ...]
    measures: tuple[tuple[str, tuple[Measure, ...]], ...]
    strands: tuple[Strand, ...]
    facts: tuple[tuple[str, str], ...]


_HEADS = {"pillar": "Overall", "turn": "Turn by turn", "conversation": "About the whole talk", "draft": "Own replies"}


def profiles(study: ScoreTable, settings: Settings, drills: Drills, looks: Mapping[str, str]) -> tuple[Profile, ...]:
    """A profile for each model of the study, models before people before baselines."""
    primary = common.primary_mode(study)
    models: dict[tuple[str, str], list[Group]] = {}
    for group in study.groups:
        models.setdefault(group.model_key, []).append(group)
    ranked = [group for group in study.models(baselines=settings.baselines).groups if group.mode == primary]
    strands = _strands(common.in_mode(study, primary, settings), settings, drills)
    return tuple(
        _profile(study, groups, ranked, strands.get(groups[0].model_key, ()), drills, looks, f"m-{place}")
        for place, groups in enumerate(models.values())
    )


def _profile(
    study: ScoreTable,
    groups: Sequence[Group],
    ranked: Sequence[Group],
    strands: tuple[Strand, ...],
    drills: Drills,
    looks: Mapping[str, str],
    anchor: str,
) -> Profile:
    first = groups[0]
    sections: dict[str, list[Measure]] = {}
    for card in REGISTRY.values():
        if card.group in _HEADS and (card.group != "draft" or card.id in JUDGED):
            beside = ranked
            if card.id in JUDGED:
                beside = [group for group in ranked if _judges(study, [group]) == _judges(study, groups[:1])]
            measure = _measure(study, card, groups, beside, drills)
            if any(words.value != "–" for words, _, _ in measure.by_mode):
                judged = f", judged by {_judges(study, groups)}" if card.id in JUDGED else ""
                sections.setdefault(f"{_HEADS[card.group]}{judged}", []).append(measure)
    return Profile(
        anchor=anchor,
        label=first.label,
        provider=first.provider,
        look=looks.get(first.label, ""),
        kind={"model": "", "human": "person", "baseline": "built-in baseline", "oracle": "answers from the labels"}[
            first.kind
        ],
        modes=tuple(group.mode for group in groups),
        measures=tuple((head, tuple(measures)) for head, measures in sections.items()),
        strands=strands,
        facts=tuple(fact for group in groups for fact in _facts(study, group, several=len(groups) > 1)),
    )


def _measure(
    study: ScoreTable, card: Metric, groups: Sequence[Group], ranked: Sequence[Group], drills: Drills
) -> Measure:
    column = Column(card.id, card.label, common.unit_of(card.id), digits=common.digits_of(card.id))
    by_mode = []
    for group in groups:
        cell = _aggregate(study, group, card.id)
        sort = f"{cell.value:.6g}" if isinstance(cell.value, float) else ""
        drill = drills.place(Drill(group=group.key, metric=card.id)) if cell.value is not None else None
        by_mode.append((words_of(cell, column, None), sort, drill))
    means = {group.key: _aggregate(study, group, card.id).value for group in ranked}
    known = [float(value) for value in means.values() if isinstance(value, float)]
    own = means.get(groups[0].key)
    axis = axis_over(known) if known else None
    return Measure(
        label=card.label,
        meaning=card.meaning,
        lower=card.higher_is_better is False,
        by_mode=tuple(by_mode),
        place=_place(own, known, lower=card.higher_is_better is False),
        own=axis.at(own) if axis and isinstance(own, float) else None,
        others=tuple(
            axis.at(value) for key, value in means.items() if axis and key != groups[0].key and isinstance(value, float)
        ),
    )


def _aggregate(study: ScoreTable, group: Group, metric_id: str) -> Cell:
    given: Mapping[str, Any] = study.aggregates.get(group.key, {}).get("metrics", {}).get(metric_id) or {}
    return Cell(_float(given.get("mean")), _float(given.get("ci_low")), _float(given.get("ci_high")), n=given.get("n"))


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _place(own: Any, known: Sequence[float], *, lower: bool) -> str:
    """ "3 of 11" by the mean; equal means share the better place."""
    if not isinstance(own, float) or len(known) < 2:
        return ""
    ahead = sum(value < own if lower else value > own for value in known)
    return f"{ahead + 1} of {len(known)}"


def _strands(models: ScoreTable, settings: Settings, drills: Drills) -> dict[tuple[str, str], tuple[Strand, ...]]:
    """Model → the questions on which it is farthest above, and below, the mean of the other models.

    Only questions that were compared in at least `settings.small` conversations.
    """
    if len(models.groups) < 2 or not models.questions:
        return {}
    found: dict[tuple[str, str], list[tuple[float, Strand]]] = {group.model_key: [] for group in models.groups}
    rows = models.clusters_of_turns()
    for block, side in _BLOCKS.items():
        right = models.right(block)
        complete = np.asarray(~np.isnan(right).any(axis=2))
        for place, question in enumerate(models.questions):
            kept = complete[:, place]
            if len(np.unique(rows[kept])) < settings.small:
                continue
            shares = right[kept, place].mean(axis=0)
            for column, group in enumerate(models.groups):
                others = (shares.sum() - shares[column]) / (len(shares) - 1)
                gap = float(shares[column] - others)
                strand = Strand(
                    text=BINARY_QUESTION_TEXT.get(question, question),
                    side=side,
                    own=common.number(float(shares[column])),
                    others=common.number(float(others)),
                    n=int(kept.sum()),
                    drill=drills.place(Drill(group=group.key, question=question, block=block)),
                    ahead=gap > 0,
                )
                found[group.model_key].append((gap, strand))
    return {key: _farthest(listed) for key, listed in found.items()}


def _farthest(listed: Sequence[tuple[float, Strand]]) -> tuple[Strand, ...]:
    ordered = sorted(range(len(listed)), key=lambda place: -listed[place][0])
    above = [listed[place][1] for place in ordered[:_QUESTIONS] if listed[place][0] > 0]
    below = [listed[place][1] for place in reversed(ordered[-_QUESTIONS:]) if listed[place][0] < 0]
    return (*above, *below)


def _variants(study: ScoreTable, group: Group) -> Iterator[Mapping[str, Any]]:
    """The distinct settings of a group's results."""
    for settings in study.metadata[group.source].get("settings") or ():
        if (settings.get("provider"), settings.get("em_model"), settings.get("mode")) == group.key:
            yield from settings.get("variants") or ()


def _judges(study: ScoreTable, groups: Iterable[Group]) -> str:
    named = (judge for group in groups for variant in _variants(study, group) for judge in judges_named(variant))
    return ", ".join(dict.fromkeys(named)) or "nobody named"


def _facts(study: ScoreTable, group: Group, *, several: bool) -> Iterable[tuple[str, str]]:
    """Coverage, answers, and how the results were made, as far as the scores say."""
    entry = study.aggregates.get(group.key, {})
    coverage = entry.get("coverage") or {}
    suffix = f" ({group.mode})" if several else ""
    yield (
        f"Conversations{suffix}",
        f"{coverage.get('scored', entry.get('n_conversations', '–'))} scored of " + str(coverage.get("expected", "–")),
    )
    for variant in _variants(study, group):
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
