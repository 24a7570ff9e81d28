"""The four questions about the whole talk, one by one; the follow-up also where something did feel off, and invented.

Knows the questions by their metrics. What people answered comes from the labels that the scores keep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.analyses.testing import reach_text
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.intervals import wilson_interval

METRICS = ("q1_goals", "q2_clarity", "q3_fit", "q3_follow_up", "q3_follow_up_asked", "q3_follow_up_false_alarm")
_DRAWN = METRICS[:5]
_CHOICES = ("q2_clarity", "q3_fit")
_CHANCE = 0.25
"""Of a blind choice among the four options of Q2 and Q3."""
_NEAR_ZERO = 0.05
"""A mean over the conversations in which something felt off is called near zero under it."""
_SHORT = {
    "q1_goals": "Q1 goals",
    "q2_clarity": "Q2 clarity",
    "q3_fit": "Q3 fit",
    "q3_follow_up": "follow-up",
    "q3_follow_up_asked": "follow-up, felt off",
    "q3_follow_up_false_alarm": "false alarms",
}


def analyse(subject: Subject) -> Analysis:
    """Means per model and question with chance and base rates, and what the people themselves answered."""
    begun = common.begun("conversation-wide")
    study = common.models_of(subject)
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    values = common.defined_metrics(study, METRICS)
    if not values:
        return replace(begun, missing="No result holds answers about the whole talk for a person who gave any.")
    sampling = Sampling.of(study, subject.settings)
    cells = {
        metric_id: sampling.cells(table, [common.drill_to(group, metric_id) for group in study.groups], of=metric_id)
        for metric_id, table in values.items()
    }
    above = _above_chance(values, sampling)
    reference = common.reference_of(study, common.BASE_RATE)
    tests = np.full(sum(map(len, above.values())), sampling.least)
    return replace(
        begun,
        tables=(_by_model(study, values, cells, sampling), *_people(study)),
        shows=_shows(study, cells, above, subject.settings),
        cannot="The questions are scored in different ways, so that a higher number on one does not mean that it is "
        "foreseen better than another. A follow-up is matched by its words: the same complaint in other words counts "
        "as missed.",
        warnings=reach_text(tests, subject.settings),
        notes=(
            common.small_text(subject.settings),
            common.ZERO_INFLATED_NOTE,
            *((f"{reference.label}: {reference.meaning}",) if reference is not None else ()),
        ),
    )


def _by_model(
    study: ScoreTable, values: Mapping[str, Floats], cells: Mapping[str, Sequence[Cell]], sampling: Sampling
) -> Table:
    order = common.by_value(sampling.estimate(common.mean_of([values[m] for m in METRICS[:4] if m in values])).value)
    scored = study.scored().sum(axis=0)
    rows = [
        (text(study.groups[i].label), Cell(int(scored[i])), *(cells[metric_id][i] for metric_id in values))
        for i in order
    ]
    rows += _references(study, tuple(values), sampling)
    return Table(
        "questions",
        "Answers about the whole talk",
        (
            Column("model", "model", "text"),
            Column("conversations", "conversations", "count"),
            *(
                Column(m, _SHORT[m], common.unit_of(m), REGISTRY[m].meaning, REGISTRY[m].higher_is_better)
                for m in values
            ),
        ),
        tuple(rows),
        caption=f"{common.sample_text(study)}. Chance is 1/4 on Q2 and Q3; for models above it, "
        f"{common.correction_text(sampling.settings, 'all models and both questions')}. The follow-up is asked only "
        "where something felt off. “felt off” covers only these conversations; the canonical follow-up covers all of "
        "them (1 for an empty answer where nothing did), false alarms the others (lower is better). "
        f"{common.intervals_text(sampling.settings)}.",
        chart=Chart(
            "bars",
            "model",
            tuple(m for m in _DRAWN if m in values),
            "Questions about the whole talk",
            "score (0–1)",
            {"chance on Q2 and Q3": _CHANCE},
        ),
    )


def _references(study: ScoreTable, metric_ids: Sequence[str], sampling: Sampling) -> list[tuple[Cell, ...]]:
    """The base rate as a row, where the scores hold it."""
    reference = common.reference_of(study, common.BASE_RATE)
    if reference is None:
        return []
    gap = np.full(len(study.ids), np.nan)
    cells = sampling.cells(np.stack([reference.values.get(m, gap) for m in metric_ids], axis=1), of=metric_ids)
    return [(text(reference.label, mark="reference"), Cell(max(cell.n or 0 for cell in cells)), *cells)]


def _above_chance(values: Mapping[str, Floats], sampling: Sampling) -> dict[str, list[Cell]]:
    """How far each model is above blind guessing, tested over all models and both questions as one family."""
    asked = [metric_id for metric_id in _CHOICES if metric_id in values]
    if not asked:
        return {}
    table = np.concatenate([values[metric_id] for metric_id in asked], axis=1)
    blind = np.full(table.shape, _CHANCE)
    tests = sampling.tests("conversation-wide", table, blind)
    cells = sampling.difference_cells(tests, common.corrected_p(tests, sampling.settings), table, blind)
    count = table.shape[1] // len(asked)
    return {m: cells[place * count : (place + 1) * count] for place, m in enumerate(asked)}


def _shows(
    study: ScoreTable, cells: Mapping[str, Sequence[Cell]], above: Mapping[str, Sequence[Cell]], settings: Settings
) -> str:
    sentences = []
    for metric_id, differences in above.items():
        usable = [
            common.claimed(cell, settings) and common.value_of(cell) > 0
            for cell in differences
            if not cell.small and cell.value is not None
        ]
        if usable:
            sentences.append(
                f"On {_SHORT[metric_id]} {sum(usable)} of {common.counted(len(usable), 'model')} "
                f"{'is' if sum(usable) == 1 else 'are'} shown to be above blind guessing (1/4)."
            )
    return " ".join([*sentences, *_follow_up(study, cells)]) or "There are too few conversations for a claim."


def _follow_up(study: ScoreTable, cells: Mapping[str, Sequence[Cell]]) -> list[str]:
    """Who is near zero on the follow-up where it was asked; nothing where these scores do not have that."""
    asked = cells.get("q3_follow_up_asked", ())
    enough = [i for i, cell in enumerate(asked) if not cell.small and cell.value is not None]
    if not enough:
        most = max((cell.n or 0 for cell in asked), default=0)
        few = f"Something felt off in {common.counted(most, 'conversation')}: too few for a claim on the follow-up."
        return [few] if asked else []
    low = [i for i in enough if common.value_of(asked[i]) < _NEAR_ZERO]
    if low:
        named = common.listed([_both(study, cells, i) for i in low])
        return [f"Where something felt off, the follow-up is near zero for {named}."]
    least = min(enough, key=lambda i: common.value_of(asked[i]))
    return [
        f"No model is near zero on the follow-up where something felt off; the lowest is {_both(study, cells, least)}."
    ]


def _both(study: ScoreTable, cells: Mapping[str, Sequence[Cell]], model: int) -> str:
    """ "a (0.000 [0.000, 0.010], n = 40; 0.612 over all conversations)"."""
    asked, whole = cells["q3_follow_up_asked"][model], cells["q3_follow_up"][model]
    over_all = f"{common.number(common.value_of(whole))} over all conversations"
    return f"{study.labels[model]} ({common.with_interval(asked)}, n = {asked.n}; {over_all})"


def _people(study: ScoreTable) -> tuple[Table, ...]:
    """The most frequent answer of people to each question and how frequent it is; nothing without labels."""
    wide = [truth["wide"] for truth in study.truths() if truth is not None]
    answers: dict[str, list[Any]] = {
        "Q1 goals": [tuple(sorted(w["q1"])) for w in wide if w["q1"] is not None],
        "Q2 clarity": [w["q2"] for w in wide if w["q2"] is not None],
        "Q3 fit": [w["q3"] for w in wide if w["q3"] is not None],
        "follow-up": [tuple(w["follow_up"]) for w in wide if w["follow_up"] is not None],
    }
    rows = []
    for question, given in answers.items():
        if given:
            counts = Counter(given)
            most = min(counts, key=lambda answer: (-counts[answer], str(answer)))
            low, high = wilson_interval(counts[most], len(given))
            cell = Cell(counts[most] / len(given), known(float(low)), known(float(high)), n=len(given))
            rows.append((text(question), text(_spelled(most)), Cell(len(given)), cell))
    if not rows:
        return ()
    table = Table(
        "people",
        "What people answered most often",
        (
            Column("question", "question", "text"),
            Column("answer", "most frequent answer", "text"),
            Column("n", "conversations", "count"),
            Column("share", "share", "share", "Share of the conversations with an answer."),
        ),
        tuple(rows),
        caption="Over the labels alone; Wilson intervals at 95 %. Always giving that answer is right that often.",
    )
    return (table,)


def _spelled(answer: Any) -> str:
    if isinstance(answer, tuple):
        return "; ".join(answer) if answer else "nothing"
    return str(answer)
