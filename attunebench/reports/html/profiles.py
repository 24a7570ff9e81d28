"""A profile of each model: every metric with its interval and place among the others, and where it differs most.

Values are those of the scores' aggregates. Draws nothing, ranks nothing: a place is no finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, digits_of, in_mode, primary_mode, value_of
from attunebench.analyses.table import Cell, Drill, Table, as_cell, column, counts, table, words
from attunebench.constants import BINARY_QUESTION_TEXT
from attunebench.judging import judges_named
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY, Metric
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.tables import ShownTable, shown_table
from attunebench.reports.model import Estimate
from attunebench.reports.model import Group as Scored
from attunebench.scores.table import Block, Group, ScoreTable
from attunebench.text import UNDEFINED

_QUESTIONS = 3
_BLOCKS: Mapping[Block, str] = {"binary_om": "did the reply", "binary_hp": "would the person have wanted it to"}


class Profile(NamedTuple):
    """All that the page tells of one model. `facts`: (what, words) on coverage and settings."""

    anchor: str
    label: str
    provider: str
    look: str
    kind: str
    tables: list[ShownTable]
    facts: list[tuple[str, str]]


_KINDS = {"model": "", "human": "person", "baseline": "built-in baseline", "oracle": "answers from the labels"}
_HEADS = {
    "pillar": "Overall",
    "turn": "Turn by turn",
    "conversation": "About the whole conversation",
    "draft": "Own replies",
}


def profiles(
    study: ScoreTable, scored: Sequence[Scored], settings: Settings, drills: Drills, looks: Mapping[str, str]
) -> list[Profile]:
    """A profile for each model of the study, models before people before baselines; `scored`: the report's groups."""
    primary = primary_mode(study)
    models: dict[tuple[str, str], list[Group]] = {}
    for group in study.groups:
        models.setdefault(group.model_key, []).append(group)
    by_key = {group.key: Scored(*group.key, n=0) for group in study.groups} | {group.key: group for group in scored}
    ranked = [by_key[group.key] for group in study.models(baselines=settings.baselines).groups if group.mode == primary]
    questions = _questions(in_mode(study, primary, settings), settings)
    made = []
    for place, ((provider, _), groups) in enumerate(models.items()):
        first, own = groups[0], [by_key[group.key] for group in groups]
        shown = [*_measures(own, ranked), *_farthest(questions.get(first.model_key, []))]
        made.append(
            Profile(
                anchor=f"m-{place}",
                label=first.label,
                provider=provider,
                look=looks.get(first.label, ""),
                kind=_KINDS[first.kind],
                tables=[shown_table(one, drills, looks, f"m-{place}") for one in shown],
                facts=[fact for group in own for fact in _facts(group, several=len(own) > 1)],
            )
        )
    return made


def _measures(own: Sequence[Scored], ranked: Sequence[Scored]) -> Iterator[Table]:
    """Every metric in each mode, with the model's place. A judged one stands among models that had the same judges."""
    sections: dict[str, list[Metric]] = {}
    names = dict.fromkeys(judge for group in own for judge in group.judges)
    for card in REGISTRY.values():
        measured = any(group.values.get(card.id, Estimate()).mean is not None for group in own)
        if measured and card.group in _HEADS and (card.group != "draft" or card.id in JUDGED):
            by = f", judged by {', '.join(names) or 'nobody named'}" if card.id in JUDGED else ""
            sections.setdefault(f"{_HEADS[card.group]}{by}", []).append(card)
    for place, (title, cards) in enumerate(sections.items()):
        lower = [" (lower is better)" if card.higher_is_better is False else "" for card in cards]
        yield table(
            str(place),
            title,
            words("metric", [f"{card.label}{note}" for card, note in zip(cards, lower, strict=True)]),
            *(column(group.mode, [_cell(group, card) for card in cards]) for group in own),
            words("place", [_place(card, own[0], ranked) for card in cards]),
        )


def _cell(group: Scored, card: Metric) -> Cell:
    found, digits = group.values.get(card.id, Estimate()), digits_of(card.id)
    drill = Drill(group.key, card.id) if found.mean is not None else None
    return Cell(found.mean, found.ci_low, found.ci_high, n=found.n or None, drill=drill, digits=digits)


def _place(card: Metric, own: Scored, ranked: Sequence[Scored]) -> str:
    """ "2 of 11"; "" where there is nobody to compare with. Equal means share the better place."""
    beside = [group for group in ranked if card.id not in JUDGED or group.judges == own.judges]
    means = {group.key: group.values[card.id].mean for group in beside if card.id in group.values}
    known = {key: mean for key, mean in means.items() if mean is not None}
    if own.key not in known or len(known) < 2:
        return ""
    sign = -1 if card.higher_is_better is False else 1
    ahead = sum(sign * mean > sign * known[own.key] for mean in known.values())
    return f"{ahead + 1} of {len(known)}"


def _questions(models: ScoreTable, settings: Settings) -> dict[tuple[str, str], list[tuple[Cell, ...]]]:
    """Model → what it is asked, its share of right answers, the mean of the other models', how far it is above them,
    and over how many turns; of questions that were compared in at least `settings.small` conversations."""
    if len(models.groups) < 2 or not models.questions:
        return {}
    found: dict[tuple[str, str], list[tuple[Cell, ...]]] = {group.model_key: [] for group in models.groups}
    rows = models.clusters_of_turns()
    for block, side in _BLOCKS.items():
        right = models.right(block)
        complete = np.asarray(~np.isnan(right).any(axis=2))
        for place, question in enumerate(models.questions):
            kept = complete[:, place]
            if len(np.unique(rows[kept])) < settings.small:
                continue
            shares = right[kept, place].mean(axis=0)
            asked = f"{side}: “{BINARY_QUESTION_TEXT.get(question, question)}”"
            for own, group in zip(shares.tolist(), models.groups, strict=True):
                others, drill = (
                    (shares.sum() - own) / (len(shares) - 1),
                    Drill(group.key, question=question, block=block),
                )
                line = (asked, Cell(own, drill=drill), others, own - others, int(kept.sum()))
                found[group.model_key].append(tuple(map(as_cell, line)))
    return found


def _farthest(questions: Sequence[tuple[Cell, ...]]) -> Iterator[Table]:
    """The questions on which a model is farthest above, and below, the mean of the other models."""
    ordered = sorted(questions, key=lambda line: -value_of(line[3]))
    above = [line for line in ordered[:_QUESTIONS] if value_of(line[3]) > 0]
    rows = above + [line for line in ordered[-_QUESTIONS:] if value_of(line[3]) < 0]
    if rows:
        yield table(
            "questions",
            "Where it differs most from the other models",
            words("question"),
            column("own", (), "right", "share"),
            column("others", (), "the others", "share"),
            column("gap", (), "difference"),
            counts("turns"),
            rows=rows,
            caption="The largest of many differences: some are large by chance. The analysis “Agreement by question” "
            "has all of them.",
        )


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
