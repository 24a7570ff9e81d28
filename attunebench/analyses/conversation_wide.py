"""The four questions about the whole conversation; the follow-up also where something felt off, and invented.

Knows the questions by their metrics. What people answered comes from the labels that the scores keep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from attunebench.analyses import verdicts, within
from attunebench.analyses.base import (
    Subject,
    by_value,
    defined_metrics,
    drill_to,
    label_of,
    metric_column,
    reference_of,
)
from attunebench.analyses.sampling import Sampling, mean_of
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, column, counts, known, table, words
from attunebench.scores import BASE_RATE
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.intervals import wilson_interval

METRICS = ("q1_goals", "q2_clarity", "q3_fit", "q3_follow_up", "q3_follow_up_asked", "q3_follow_up_false_alarm")
_CHOICES = ("q2_clarity", "q3_fit")
_CHANCE = 0.25
"""Of a blind choice among the four options of Q2 and Q3."""
_NEAR_ZERO = 0.05
"""A mean over the conversations in which something felt off is called near zero under it."""


def analyse(subject: Subject) -> Analysis:
    """Means per model and question with chance and base rates, and what the people themselves answered."""
    study, sampling = within.scored_models(subject)
    values = defined_metrics(study, METRICS)
    if not values:
        raise Missing("No result holds answers about the whole conversation for a person who gave any.")
    cells = {
        metric_id: sampling.cells(table, [drill_to(group, metric_id) for group in study.groups], of=metric_id)
        for metric_id, table in values.items()
    }
    above, tests = _above_chance(study, values, sampling), len(study.groups) * len(values.keys() & set(_CHOICES))
    reference = reference_of(study, BASE_RATE)
    return Analysis(
        tables=(_by_model(study, values, cells, sampling), *_people(study)),
        shows=" ".join((*above, *_follow_up(study, cells))) or "There are too few conversations for a claim.",
        cannot="The questions are scored in different ways, so a higher number on one does not mean that it is "
        "predicted better than another. A follow-up is matched by its words: the same complaint in other words counts "
        "as missed.",
        warnings=verdicts.reach_text(np.full(tests, sampling.least), sampling.settings),
        notes=(f"{reference.label}: {reference.meaning}",) if reference is not None else (),
    )


def _by_model(
    study: ScoreTable, values: Mapping[str, Floats], cells: Mapping[str, list[Cell]], sampling: Sampling
) -> Table:
    """The means of each model, best first, and below them the base rate where the scores hold it."""
    labels: list[Cell | str] = [*study.labels]
    scored = study.scored().sum(axis=0).tolist()
    columns = {metric_id: list(of) for metric_id, of in cells.items()}
    reference = reference_of(study, BASE_RATE)
    if reference is not None:
        gap = np.full(len(study.ids), np.nan)
        base = np.stack([reference.values.get(metric_id, gap) for metric_id in values], axis=1)
        for of, cell in zip(columns.values(), sampling.cells(base, of=tuple(values)), strict=True):
            of.append(cell)
        labels.append(Cell(reference.label, mark="reference"))
        scored.append(max(of[-1].n or 0 for of in columns.values()))
    drawn = tuple(m for m in METRICS[:5] if m in values)
    order = by_value(sampling.estimate(mean_of([values[m] for m in METRICS[:4] if m in values])).value)
    return table(
        "questions",
        "Answers about the whole conversation",
        words("model", labels),
        counts("conversations", scored),
        *(metric_column(metric_id, of) for metric_id, of in columns.items()),
        order=[*order, *range(len(study.groups), len(labels))],
        caption=f"{verdicts.sample_text(study)}. Chance is 1/4 on Q2 and Q3. The follow-up is asked only where "
        "something felt off: “asked” covers only these conversations, the canonical follow-up all of them (1 for an "
        "empty answer where nothing did), false alarms the others (lower is better). "
        f"{verdicts.tested_text(sampling.settings, 'all models and both questions')}.",
        chart=Chart("bars", "model", drawn, "The whole conversation", "score (0–1)", {"chance on Q2, Q3": _CHANCE}),
    )


def _above_chance(study: ScoreTable, values: Mapping[str, Floats], sampling: Sampling) -> list[str]:
    """How many models are above blind guessing, tested over all models and both questions as one family."""
    asked = [metric_id for metric_id in _CHOICES if metric_id in values]
    if not asked:
        return []
    choices = np.concatenate([values[metric_id] for metric_id in asked], axis=1)
    cells = within.paired_cells(sampling, "conversation-wide", choices, np.full(choices.shape, _CHANCE))
    counted = zip(asked, within.in_rows(cells, len(study.groups)), strict=True)
    found = [(label_of(metric_id), *verdicts.sides(row, sampling.settings)) for metric_id, row in counted]
    return [
        f"On {label} {above} of {usable} models are above chance (1/4)." for label, above, _, usable in found if usable
    ]


def _follow_up(study: ScoreTable, cells: Mapping[str, list[Cell]]) -> list[str]:
    """Who is near zero on the follow-up where it was asked; nothing where these scores do not have that."""
    asked = list(zip(study.labels, cells.get("q3_follow_up_asked", ()), strict=False))
    usable = [(label, cell) for label, cell in asked if not cell.small and isinstance(cell.value, float)]
    if not usable:
        few = max((cell.n or 0 for _, cell in asked), default=0)
        return [f"Something felt off in {few} conversations: too few for a claim on the follow-up."] if asked else []
    near = [f"{label} {verdicts.with_interval(cell)}" for label, cell in usable if float(cell.value or 0) < _NEAR_ZERO]
    ends = f"Where something felt off, the follow-up ranges from {verdicts.range_text(usable)}"
    return [f"{ends}; near zero: {verdicts.listed(near) if near else 'no model'}."]


def _people(study: ScoreTable) -> list[Table]:
    """The most frequent answer of people to each question and how frequent it is; nothing without labels."""
    wide = [truth["wide"] for truth in study.truths() if truth is not None]
    answers: dict[str, list[Any]] = {
        "Q1 goals": [tuple(sorted(w["q1"])) for w in wide if w["q1"] is not None],
        "Q2 clarity": [w["q2"] for w in wide if w["q2"] is not None],
        "Q3 fit": [w["q3"] for w in wide if w["q3"] is not None],
        "follow-up": [tuple(w["follow_up"]) for w in wide if w["follow_up"] is not None],
    }
    tallies = {question: Counter(of) for question, of in answers.items() if of}
    if not tallies:
        return []
    most = [min(tally, key=lambda answer, tally=tally: (-tally[answer], str(answer))) for tally in tallies.values()]  # type: ignore[misc]
    n = [tally.total() for tally in tallies.values()]
    right = [tally[answer] for tally, answer in zip(tallies.values(), most, strict=True)]
    low, high = wilson_interval(right, n)
    cells = [Cell(right[i] / n[i], known(low[i]), known(high[i]), n=n[i]) for i in range(len(n))]
    return [
        table(
            "people",
            "What people answered most often",
            words("question", tallies),
            words("answer", ["; ".join(a) or "nothing" if isinstance(a, tuple) else str(a) for a in most]),
            counts("n", n, "conversations"),
            column("share", cells, "", "share", "Share of the conversations with an answer."),
            caption="Over the labels alone; Wilson intervals at 95 %. Always giving that answer is right that often.",
        )
    ]
