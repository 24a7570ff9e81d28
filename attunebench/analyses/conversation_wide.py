"""The four questions about the whole conversation; the follow-up also where something felt off, and invented.

Knows the questions by their metrics. What people answered comes from the labels that the scores keep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from attunebench.analyses.base import (
    Subject,
    by_value,
    defined_metrics,
    label_of,
    metric_column,
    reference_of,
    value_of,
)
from attunebench.analyses.sampling import cells_of, mean_of
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, column, counts, table, words
from attunebench.analyses.verdicts import listed, range_text, sentences, sides, with_interval
from attunebench.analyses.within import View, column_means, in_rows
from attunebench.scores import BASE_RATE
from attunebench.scores.table import ReferenceValues
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
    view = View.of_models(subject)
    values = defined_metrics(view.study, METRICS)
    if not values:
        raise Missing("No conversation has both predicted and reported answers about the whole conversation.")
    # How many models are above blind guessing is tested over all models and both questions as one family.
    asked = [metric_id for metric_id in _CHOICES if metric_id in values]
    choices = np.stack([values[metric_id] for metric_id in asked], axis=1) if asked else np.zeros((len(view.people), 0))
    tested = view.paired("conversation-wide", choices, np.full(choices.shape, _CHANCE))
    found = {m: sides(row, view.settings) for m, row in zip(asked, in_rows(tested, view.width), strict=True)}
    cells = {metric_id: view.means(metric_id, table) for metric_id, table in values.items()}
    reference = reference_of(view.study, BASE_RATE)
    shows = sentences(
        *(f"On {label_of(m)} {up} of {of} models are above chance (1/4)." for m, (up, _, of) in found.items() if of),
        _follow_up(view, cells.get("q3_follow_up_asked", [])),
    )
    return Analysis(
        tables=(
            _by_model(view, values, cells, reference, view.how("test against chance", tested, "tests against chance")),
            *_people(view),
        ),
        shows=shows or "There are too few conversations for a claim.",
        warnings=view.reach(len(tested)),
        notes=(f"{reference.label}: {reference.meaning}",) if reference is not None else (),
    )


def _by_model(
    view: View,
    values: Mapping[str, Floats],
    cells: Mapping[str, list[Cell]],
    reference: ReferenceValues | None,
    how: str,
) -> Table:
    """The means of each model, best first, and below them the base rate where the scores hold it."""
    labels, scored = [*map(Cell, view.labels)], view.study.scored().sum(axis=0).tolist()
    of_base = list[list[Cell]]([] for _ in values)
    if reference is not None:
        gap = np.full(len(view.study.ids), np.nan)
        base = np.stack([reference.values.get(metric_id, gap) for metric_id in values], axis=1)
        of_base = in_rows(view.cells(base, of=tuple(values)), 1)
        labels.append(Cell(reference.label, mark="reference"))
        scored.append(max(of[0].n or 0 for of in of_base))
    drawn = tuple(m for m in METRICS[:5] if m in values)
    order = by_value(column_means(mean_of([values[m] for m in METRICS[:4] if m in values])))
    return table(
        "questions",
        "Answers about the whole conversation",
        words("model", labels),
        counts("conversations", scored),
        *(metric_column(m, [*of, *base]) for (m, of), base in zip(cells.items(), of_base, strict=True)),
        order=[*order, *range(view.width, len(labels))],
        caption=f"{view.sample}. Chance is 1/4 on Q2 and Q3. The follow-up is asked only where something felt off: "
        "“asked” covers only these conversations, the canonical follow-up all conversations (1 for an empty answer "
        f"where nothing felt off), and false alarms the others (lower is better). {how}",
        chart=Chart(
            "bars",
            "model",
            drawn,
            "The whole conversation",
            "score (0–1)",
            {"chance": dict.fromkeys(_CHOICES, _CHANCE)},
        ),
    )


def _follow_up(view: View, cells: list[Cell]) -> str:
    """Who is near zero on the follow-up where it was asked; nothing where these scores do not have that."""
    if not cells:
        return ""
    named = zip(view.labels, cells, strict=True)
    usable = [(label, cell) for label, cell in named if not cell.small and cell.value is not None]
    if not usable:
        few = max(cell.n or 0 for cell in cells)
        return f"Something felt off in {few} conversations: too few for a claim on the follow-up."
    near = [f"{label} {with_interval(cell)}" for label, cell in usable if value_of(cell) < _NEAR_ZERO]
    span = f"Where something felt off, the follow-up is {range_text(usable)}"
    return f"{span}; near zero: {listed(near) if near else 'no model'}."


def _people(view: View) -> list[Table]:
    """The most frequent answer of people to each question and how frequent it is; nothing without labels."""
    wide = [truth["wide"] for truth in view.study.truths() if truth is not None]
    answers: dict[str, list[Any]] = {
        "Q1 goals": [tuple(sorted(w["q1"])) for w in wide if w["q1"] is not None],
        "Q2 clarity": [w["q2"] for w in wide if w["q2"] is not None],
        "Q3 fit": [w["q3"] for w in wide if w["q3"] is not None],
        "follow-up": [tuple(w["follow_up"]) for w in wide if w["follow_up"] is not None],
    }
    tallies = {question: Counter(of) for question, of in answers.items() if of}
    if not tallies:
        return []
    most = [min(tally.items(), key=lambda one: (-one[1], str(one[0]))) for tally in tallies.values()]
    right, n = np.array([[number, tally.total()] for (_, number), tally in zip(most, tallies.values(), strict=True)]).T
    return [
        table(
            "people",
            "People's most frequent answers",
            words("question", tallies),
            words("answer", ["; ".join(a) or "nothing" if isinstance(a, tuple) else str(a) for a, _ in most]),
            counts("n", n, "conversations"),
            column(
                "share",
                cells_of(right / n, *wilson_interval(right, n), n),
                "",
                "share",
                "Share of conversations with an answer.",
            ),
            caption="Labels only, with 95 % Wilson intervals. The share is the accuracy of always giving that answer.",
            chart=Chart(
                "intervals", "question", ("share",), "How often people gave their most frequent answer", "share"
            ),
        )
    ]
