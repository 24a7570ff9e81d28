"""A profile of each model: every metric with its interval and rank among the others, and where it differs most.

Values are those of the report. They are not ranked: an order of means alone shows no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, in_mode, primary_mode
from attunebench.analyses.table import Cell, Drill, Table, column, counts, number_of, table, words
from attunebench.constants import BINARY_QUESTION_TEXT
from attunebench.judging import judges_named
from attunebench.metrics.draft import JUDGED
from attunebench.reports.layout import by_metric
from attunebench.reports.model import Group as Scored
from attunebench.reports.model import Report, Row
from attunebench.scores.table import Block, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.text import UNDEFINED

_QUESTIONS = 3
_BLOCKS: Mapping[Block, str] = {"binary_om": "did the reply", "binary_hp": "did the person want it to"}
_KINDS = {"model": "", "human": "person", "baseline": "built-in baseline", "oracle": "answers from the labels"}


class Profile(NamedTuple):
    """All that the page tells of one model. `facts`: (what, words) on coverage and settings."""

    label: str
    provider: str
    kind: str
    tables: list[Table]
    facts: list[tuple[str, str]]


def profiles(study: ScoreTable, report: Report, settings: Settings) -> Iterator[Profile]:
    """A profile for each model of the study, models before people before baselines."""
    mode = primary_mode(study)
    models = in_mode(study, mode, settings)
    ranked = [place for place, group in enumerate(report.groups) if group.key in {one.key for one in models.groups}]
    asked = _asked(models, settings)
    for key, first in reversed({group.model_key: group for group in reversed(study.groups)}.items()):
        own = [place for place, group in enumerate(report.groups) if group.key[:2] == key]
        facts = [fact for place in own for fact in _facts(report.groups[place], several=len(own) > 1)]
        shown = [*_measures(report, own, ranked), *_farthest(asked, models, key)]
        yield Profile(first.label, first.provider, _KINDS[first.kind], shown, facts)


def _measures(report: Report, own: Sequence[int], ranked: Sequence[int]) -> Iterator[Table]:
    """Every metric in each mode, with the model's rank in the first."""
    for order, section in enumerate(report.sections):
        rows = [row for row in section.rows if any(row.cells[place].value is not None for place in own)]
        if rows:
            ranks = words("rank", [_rank(row, report.groups, own[0], ranked) for row in rows])
            notes = section.notes if rows[0].id in JUDGED else ()
            yield table(str(order), section.title, *by_metric(rows, section, report.groups, own), ranks, notes=notes)


def _rank(row: Row, groups: Sequence[Scored], own: int, ranked: Sequence[int]) -> str:
    """ "2 of 11"; "" where there is nobody to compare with. Equal means share the better rank, and a judged one is
    compared among models that had the same judges."""
    beside = [place for place in ranked if row.id not in JUDGED or groups[place].judges == groups[own].judges]
    means = {place: mean for place in beside if (mean := number_of(row.cells[place])) is not None}
    if own not in means or len(means) < 2:
        return ""
    sign = -1 if row.card.higher_is_better is False else 1
    return f"{1 + sum(sign * mean > sign * means[own] for mean in means.values())} of {len(means)}"


class _Asked(NamedTuple):
    """A yes/no question, each model's share of right answers over the turns that all of them answered, and how many."""

    text: str
    question: str
    block: Block
    shares: Floats
    turns: int


def _asked(models: ScoreTable, settings: Settings) -> list[_Asked]:
    """The questions that can be compared in at least `settings.small` conversations; none without a second model."""
    if len(models.groups) < 2 or not models.questions:
        return []
    asked, rows = [], models.clusters_of_turns()
    for block, side in _BLOCKS.items():
        right = models.right(block)
        complete = np.asarray(~np.isnan(right).any(axis=2))
        for place, question in enumerate(models.questions):
            kept = complete[:, place]
            if len(np.unique(rows[kept])) >= settings.small:
                text = f"{side}: “{BINARY_QUESTION_TEXT.get(question, question)}”"
                asked.append(_Asked(text, question, block, right[kept, place].mean(axis=0), int(kept.sum())))
    return asked


def _farthest(asked: Sequence[_Asked], models: ScoreTable, key: tuple[str, str]) -> Iterator[Table]:
    """The questions on which a model is farthest above, and below, the mean of the other models."""
    own = next((place for place, group in enumerate(models.groups) if group.model_key == key), None)
    if own is None or not asked:
        return
    others = [(one.shares.sum() - one.shares[own]) / (len(one.shares) - 1) for one in asked]
    gaps = np.array([one.shares[own] for one in asked]) - others
    order = np.argsort(-gaps, kind="stable")
    chosen = [*(i for i in order[:_QUESTIONS] if gaps[i] > 0), *(i for i in order[-_QUESTIONS:] if gaps[i] < 0)]
    drills = [Drill(models.groups[own].key, question=one.question, block=one.block) for one in asked]
    if chosen:
        yield table(
            "questions",
            "Questions with the largest differences from other models",
            words("question", [one.text for one in asked]),
            column(
                "own",
                [Cell(float(one.shares[own]), drill=to) for one, to in zip(asked, drills, strict=True)],
                "right",
                "share",
            ),
            column("others", others, "the others", "share"),
            column("gap", gaps, "difference"),
            counts("turns", [one.turns for one in asked]),
            order=chosen,
            caption="The largest of many differences, some of them large by chance. The analysis “Agreement by "
            "question” shows all of them.",
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
