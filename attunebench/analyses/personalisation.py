"""What reading this person adds: each model's gain over the base rate, which answers as other people did on average.

The base rate of the metrics comes with the scores; that of single questions is made here from the labels, leaving out
the conversation that it answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, text
from attunebench.analyses.testing import reach_text
from attunebench.constants import BINARY_HP_QUESTION_TEXT, BINARY_QUESTION_TEXT
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.scores.references import standing
from attunebench.scores.table import Block, ReferenceValues, ScoreTable, Side
from attunebench.statistics.bootstrap import Floats, Labels

METRICS = ("composite", *common.CANONICAL)
_BLOCKS: tuple[tuple[Block, Side, str, Mapping[str, str]], ...] = (
    ("binary_om", "observed", "what the reply did", BINARY_QUESTION_TEXT),
    ("binary_hp", "preferred", "what the person wanted", BINARY_HP_QUESTION_TEXT),
)
_RARE = 0.05
"""A question is informative where the rarer answer has at least this share."""


def analyse(subject: Subject) -> Analysis:
    """Paired gain per model and metric, and per question over all models."""
    begun = common.begun("personalisation")
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    reference = next((one for one in study.references if one.id == common.BASE_RATE), None)
    if reference is None:
        return replace(
            begun,
            missing="The scores hold no base rate, which needs two conversations and a newer `attune-bench score`; "
            "score the results again.",
        )
    wanted = common.defined_metrics(study, common.wanted_metrics(settings, METRICS))
    values = {m: table for m, table in wanted.items() if not np.isnan(reference.values.get(m, np.array(np.nan))).all()}
    if not values:
        return replace(begun, missing="The base rate and the models have no metric in common.")
    sampling = Sampling.of(study, settings)
    gains = _gains(study, values, reference, sampling)
    tables = [
        _gain_table(study, gains, reference, sampling),
        _skill_table(study, values, standing(reference), sampling),
    ]
    tipped = _below_guessing(study, reference, values)
    questions = [found for block in _BLOCKS if (found := _questions(study, *block, sampling)) is not None]
    return replace(
        begun,
        tables=(*tables, *questions),
        shows=_shows(study, {m: cells for m, cells in gains.items() if m not in tipped}, questions, settings),
        cannot="The base rate knows the labels of other conversations, which models do not: a model below it may still "
        "read people, without knowing how answers are distributed here. Other conversations of the same person count "
        "among the others.",
        warnings=(
            *reach_text(np.full(len(gains) * len(study.groups), sampling.least), settings),
            *(
                f"On {common.label_of(m)} the base rate stands below blind guessing, as even answers and few "
                "conversations make it: to be above it shows nothing, and nothing is claimed."
                for m in tipped
            ),
        ),
        notes=(common.small_text(settings), f"{reference.label}: {standing(reference).meaning}"),
    )


def _below_guessing(study: ScoreTable, reference: ReferenceValues, metric_ids: Iterable[str]) -> list[str]:
    """Metrics on which leaving one out has put the base rate below blind guessing: to be above it shows nothing."""
    chances = {m: chance for m in metric_ids if (chance := cards_of(study.rules)[m].chance) is not None}
    return [m for m, chance in chances.items() if np.nanmean(reference.values[m]) < chance]


def _gains(
    study: ScoreTable, values: Mapping[str, Floats], reference: ReferenceValues, sampling: Sampling
) -> dict[str, list[Cell]]:
    """Metric → a cell per model, better than the base rate above 0; all of them are one family of tests."""
    signs = {m: 1.0 if common.better(m) else -1.0 for m in values}
    a = np.concatenate([signs[m] * table for m, table in values.items()], axis=1)
    b = np.concatenate([signs[m] * np.repeat(reference.values[m][:, None], len(study.groups), 1) for m in values], 1)
    tests = sampling.tests("personalisation", a, b)
    cells = sampling.difference_cells(tests, common.corrected_p(tests, sampling.settings), a, b)
    count = len(study.groups)
    return {
        m: [
            replace(cell, drill=common.drill_to(group, m))
            for cell, group in zip(cells[place * count : (place + 1) * count], study.groups, strict=True)
        ]
        for place, m in enumerate(values)
    }


def _gain_table(
    study: ScoreTable, gains: Mapping[str, list[Cell]], reference: ReferenceValues, sampling: Sampling
) -> Table:
    first = next(iter(gains.values()))
    order = common.by_value(np.array([common.value_of(cell) for cell in first]))
    rows = tuple((text(study.labels[i]), Cell(first[i].n), *(cells[i] for cells in gains.values())) for i in order)
    tests = f"all {len(gains) * len(study.groups)} gains"
    return Table(
        "gain",
        f"Gain over the {reference.label.lower()}",
        (
            Column("model", "model", "text"),
            Column("n", "conversations", "count"),
            *(Column(m, common.label_of(m), "number", REGISTRY[m].meaning, True, common.digits_of(m)) for m in gains),
        ),
        rows,
        caption=f"Model minus {reference.label.lower()}, paired over {common.sample_text(study)}; Composite in points "
        f"of 100. {common.intervals_text(sampling.settings)}; {common.correction_text(sampling.settings, tests)}.",
        chart=Chart("heatmap", "model", tuple(gains), f"Gain over the {reference.label.lower()}", "difference"),
    )


def _skill_table(
    study: ScoreTable, values: Mapping[str, Floats], reference: ReferenceValues, sampling: Sampling
) -> Table:
    """Per metric the base rate itself, and the share of the room above it that models fill."""
    rows = []
    for metric_id, table in values.items():
        card = REGISTRY[metric_id]
        ceiling = card.high if common.better(metric_id) else card.low
        if metric_id not in reference.values:  # below blind guessing
            rows.append((text(card.label), *[Cell(None)] * 4, text("–")))
            continue
        base = sampling.cells(reference.values[metric_id][:, None], of=metric_id)[0]
        skills = sampling.skill_cells(table, reference.values[metric_id], ceiling)
        best = common.by_value(np.array([common.value_of(cell) for cell in skills]))[0]
        rows.append(
            (
                text(card.label),
                Cell(base.n),
                base,
                sampling.skill_cells(common.mean_over_models(table)[:, None], reference.values[metric_id], ceiling)[0],
                skills[best],
                text(study.labels[best]),
            )
        )
    return Table(
        "skill",
        "Skill: the share of the room above the base rate that is filled",
        (
            Column("metric", "metric", "text"),
            Column("n", "conversations", "count"),
            Column("base", reference.label, "number", "What the base rate scores.", True),
            Column("average", "skill, average", "number", "Of the mean over models; 0 base rate, 1 ceiling.", True),
            Column("best", "skill, best", "number", "Of the model with the most, picked after the fact.", True),
            Column("who", "which", "text"),
        ),
        tuple(rows),
        caption=f"(score − base rate)/(ceiling − base rate). {common.intervals_text(sampling.settings)}.",
    )


def _questions(
    study: ScoreTable, block: Block, side: Side, words: str, texts: Mapping[str, str], sampling: Sampling
) -> Table | None:
    """Mean over models per question against the base rate; None where labels or answers are lacking."""
    if not study.ground_truth or not study.questions:
        return None
    truth = study.truth_binary(side)
    right = study.right(block)
    rows_of = study.clusters_of_turns()
    models = _by_conversation(_mean_over_last(right), rows_of, len(study.ids))
    base = _by_conversation(_base_right(truth, rows_of, len(study.ids)), rows_of, len(study.ids))
    shares = common.mean_over_models(truth.T)
    with np.errstate(invalid="ignore"):
        telling = np.minimum(shares, 1 - shares) >= _RARE
    shown = np.flatnonzero(telling & ~np.isnan(models - base).all(axis=0))
    if not len(shown):
        return None
    a, b = models[:, shown], base[:, shown]
    tests = sampling.tests(f"personalisation {block}", a, b)
    corrected = common.corrected_p(tests, sampling.settings)
    gains, scores, bases = sampling.difference_cells(tests, corrected, a, b), sampling.cells(a), sampling.cells(b)
    order = common.by_value(tests.difference)
    rows = tuple(
        (
            text(study.questions[shown[i]]),
            text(texts.get(study.questions[shown[i]], "")),
            Cell(gains[i].n),
            Cell(float(shares[shown[i]])),
            replace(bases[i], mark=""),
            replace(scores[i], mark=""),
            replace(gains[i], drill=Drill(question=study.questions[shown[i]], block=block)),
        )
        for i in order
    )
    return Table(
        f"questions_{block}",
        f"Question by question: {words}",
        (
            Column("question", "question", "text"),
            Column("text", "wording", "text"),
            Column("n", "conversations", "count"),
            Column("yes", "yes", "share", "Share of turns in which the person's label is yes.", None, 2),
            Column("base", "base rate", "share", "Right answers of the base rate.", True),
            Column("models", "models", "share", "Right answers, mean over models.", True),
            Column("gain", "gain", "share", "Models minus base rate, paired by conversation.", True),
        ),
        rows,
        caption=f"Questions whose rarer answer has {100 * _RARE:g} % or more; {common.sample_text(study)}. The base "
        "rate gives the more frequent answer of the other conversations, and half a point where they are even or one "
        "conversation decides which it is. "
        f"{common.intervals_text(sampling.settings)}; "
        f"{common.correction_text(sampling.settings, common.counted(len(shown), 'question'))}.",
    )


def _mean_over_last(table: Floats) -> Floats:
    """Mean over the last axis of what is defined."""
    flat = table.reshape(-1, table.shape[-1])
    return common.mean_over_models(flat).reshape(table.shape[:-1])


def _by_conversation(turns: Floats, rows_of: Labels, conversations: int) -> Floats:
    """Mean over the turns of each conversation: (conversations, questions) from (turns, questions)."""
    sums, counts = np.zeros((conversations, turns.shape[1])), np.zeros((conversations, turns.shape[1]))
    np.add.at(sums, rows_of, np.nan_to_num(turns))
    np.add.at(counts, rows_of, ~np.isnan(turns))
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / np.where(counts > 0, counts, np.nan))


def _base_right(truth: Floats, rows_of: Labels, conversations: int) -> Floats:
    """Whether the more frequent answer of the other conversations is right, ½ where even: (turns, questions).

    ½ too where leaving out some one conversation turns round which answer that is: there each is held against what its
    own labels tipped the others away from, and a model that guesses would beat the base rate.
    """
    yes, n = np.zeros((conversations, truth.shape[1])), np.zeros((conversations, truth.shape[1]))
    np.add.at(yes, rows_of, np.nan_to_num(truth))
    np.add.at(n, rows_of, ~np.isnan(truth))
    others_yes, others = yes.sum(axis=0) - yes, n.sum(axis=0) - n
    lean = np.sign(2 * others_yes - others)
    lean[:, (lean != lean[:1]).any(axis=0)] = 0.0
    right = (1 + lean[rows_of] * (2 * truth - 1)) / 2
    return np.asarray(np.where((others > 0)[rows_of], right, np.nan))


def _shows(study: ScoreTable, gains: Mapping[str, list[Cell]], questions: Sequence[Table], settings: Settings) -> str:
    if gains and all(cell.small or cell.value is None for cells in gains.values() for cell in cells):
        return f"Fewer than {settings.small} conversations: too few to tell a gain over the base rate."
    said = []
    for metric_id, cells in gains.items():
        above, below = _sides(cells, settings)
        if above or below:
            said.append(f"{common.label_of(metric_id)} {above} above, {below} below")
    whole = common.counted(len(study.groups), "model")
    if not said:
        return f"None of {whole} is told apart from the base rate on any metric."
    untold = [common.label_of(m) for m, cells in gains.items() if not any(_sides(cells, settings))]
    told = f"Told apart from the base rate, of {whole}: {'; '.join(said)}."
    if untold:
        told += f" No model is told apart from it on {common.listed(untold, most=12)}."
    return told + "".join(_on_questions(table, settings) for table in questions)


def _sides(cells: Sequence[Cell], settings: Settings) -> tuple[int, int]:
    sure = [common.value_of(cell) for cell in cells if common.claimed(cell, settings)]
    return sum(value > 0 for value in sure), sum(value < 0 for value in sure)


def _on_questions(table: Table, settings: Settings) -> str:
    above, below = _sides([row[-1] for row in table.rows], settings)
    questions = common.counted(len(table.rows), "question")
    return f" {table.title}: models beat the base rate on {above} of {questions} and stay below it on {below}."
