"""What the page and its script say of each conversation, and the names and wordings that the script knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses import Settings
from attunebench.analyses.base import primary_mode
from attunebench.codebook import default_codebook
from attunebench.metrics.registry import REGISTRY
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.facets import facets
from attunebench.reports.html.tour import Stop
from attunebench.scores.table import ScoreTable
from attunebench.text import UNDEFINED, number


class _Talk(NamedTuple):
    """A conversation. `name` is what people call it: the name of its file without ending, else its id."""

    id: str
    name: str
    topics: Sequence[str]
    participant: str
    turns: Sequence[int]


def about(study: ScoreTable, drills: Drills, stops: Sequence[Stop], metrics: Sequence[str]) -> dict[str, Any]:
    """What the script must know: names, wordings, and what every drill stands for."""
    codebook = default_codebook()
    wordings = {question: entry.observer_text for question, entry in codebook.binary.items()}
    return {
        "groups": [{"label": group.label, "mode": group.mode} for group in study.groups],
        "primary": primary_mode(study),
        "talks": [talk._asdict() for talk in _talks(study)],
        "facets": facets(study),
        "questions": [{"id": question, "om": wordings.get(question, question)} for question in study.questions],
        "pairwise": {key: text or key for key, text in codebook.pairwise.items()},
        "metrics": {metric: _metric(metric) for metric in metrics},
        "drills": drills.for_page(),
        "tour": [
            {"row": s.row, "turn": s.turn, "why": s.why, "items": [[i.question, i.block] for i in s.items]}
            for s in stops
        ],
    }


def lines(study: ScoreTable, settings: Settings) -> list[dict[str, Any]]:
    """A line for each conversation: its name, what it is about, and the models' mean Composite."""
    models = study.models(baselines=settings.baselines)
    primary = [group for group in models.groups if group.mode == primary_mode(study)]
    values = models.with_groups(primary).values("composite")
    found = []
    for row, talk in enumerate(_talks(study)):
        known = values[row][~np.isnan(values[row])]
        ends = (known.mean(), known.min(), known.max()) if known.size else (None, None, None)
        found.append(
            {
                "row": row,
                "name": talk.name,
                "topics": ", ".join(talk.topics),
                "participant": talk.participant or UNDEFINED,
                "turns": len(talk.turns),
                **{name: number(value, 1) for name, value in zip(("mean", "low", "high"), ends, strict=True)},
            }
        )
    return found


def _talks(study: ScoreTable) -> list[_Talk]:
    turns: list[list[int]] = [[] for _ in study.ids]
    for turn in study.turns:
        turns[turn.conversation].append(turn.number)
    talks = []
    for conversation, numbers in zip(study.ids, turns, strict=True):
        truth = study.ground_truth.get(conversation)
        name = (truth["source_file"].removesuffix(".json") if truth else "") or conversation
        participant = (truth and truth["participant_id"]) or ""
        talks.append(_Talk(conversation, name, truth["topics"] if truth else [], participant, numbers))
    return talks


def _metric(metric: str) -> dict[str, Any]:
    card = REGISTRY[metric]
    return {
        "label": card.label,
        "meaning": card.meaning.replace("`", ""),
        "level": card.level,
        "better": card.higher_is_better,
        "best": None if card.higher_is_better is None else card.high if card.higher_is_better else card.low,
        "digits": 1 if card.unit == "points" else 3,
    }
