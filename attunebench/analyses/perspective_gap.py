"""The perspective gap: what a reply did (Binary OM) against what the person would have wanted (Binary HP), per model.

Both are scored on the same turns, so the gap is a paired difference of each conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, known, text
from attunebench.analyses.testing import reach_text
from attunebench.scores.table import Block, Labels, ScoreTable, Side
from attunebench.statistics.bootstrap import Floats

_OM, _HP = "binary_om_accuracy", "binary_hp_accuracy"
_BLOCKS: tuple[Block, Block] = ("binary_om", "binary_hp")
_SIDES: tuple[Side, Side] = ("observed", "preferred")
_NAME = "perspective-gap"


def analyse(subject: Subject) -> Analysis:
    """Gap per model with its test, over the same questions and beyond the base rates; by category and by question."""
    begun = common.begun(_NAME)
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    om, hp = study.values(_OM), study.values(_HP)
    if np.isnan(om - hp).all():
        return replace(begun, missing="No conversation has both a Binary OM and a Binary HP accuracy.")
    sampling = Sampling.of(study, settings)
    right = _Right.of(study)
    overall, gaps = _models(study, om, hp, right, sampling)
    tables = [overall]
    if right.known:
        tables += [_parts(study, right, sampling, by="category"), _parts(study, right, sampling, by="question")]
    return replace(
        begun,
        tables=tuple(tables),
        shows=_shows(study, gaps, settings),
        cannot="What a reply did can be read in the talk, what the person wanted has to be guessed, and its answers "
        "are less even: part of a gap is the difficulty of the questions and no lack of the model. The gap beyond base "
        "rates takes some of that out.",
        warnings=reach_text(np.full(len(study.groups), sampling.least), settings),
        notes=(common.small_text(settings), *(() if right.known else (within.NO_LABELS,))),
    )


@dataclass(frozen=True)
class _Right:
    """Whether answers were right: two (turns, questions, models), and the labels: two (turns, questions)."""

    answers: tuple[Floats, Floats]
    truths: tuple[Floats, Floats]

    @classmethod
    def of(cls, study: ScoreTable) -> _Right:
        om, hp = (study.right(block) for block in _BLOCKS)
        observed, preferred = (study.truth_binary(side) for side in _SIDES)
        return cls((om, hp), (observed, preferred))

    @property
    def known(self) -> bool:
        return not np.isnan(self.answers[0]).all() and not np.isnan(self.answers[1]).all()


def _models(study: ScoreTable, om: Floats, hp: Floats, right: _Right, sampling: Sampling) -> tuple[Table, list[Cell]]:
    """The table of models, best gap first, and their gaps in the order of the study."""
    settings = sampling.settings
    tests = sampling.tests(_NAME, om, hp)
    gaps = sampling.difference_cells(tests, common.corrected_p(tests, settings), om, hp)
    gaps = [
        replace(cell, drill=common.drill_to(g, "perspective_gap")) for cell, g in zip(gaps, study.groups, strict=True)
    ]
    sides = [
        sampling.cells(np.where(np.isnan(om - hp), np.nan, values), [common.drill_to(g, m) for g in study.groups], of=m)
        for m, values in ((_OM, om), (_HP, hp))
    ]
    same, beyond = _same_questions(study, right, sampling), _beyond(study, om, hp, sampling)
    order = common.by_value(tests.difference)
    rows: list[tuple[Cell, ...]] = [
        (
            text(study.groups[i].label),
            Cell(gaps[i].n),
            sides[0][i],
            sides[1][i],
            gaps[i],
            Cell(known(tests.mde[i])),
            same[i],
            beyond[i],
        )
        for i in order
    ]
    rows += _reference(study, sampling)
    table = Table(
        "models",
        "Gap per model",
        (
            Column("model", "model", "text"),
            Column("n", "conversations", "count"),
            Column("om", "Binary OM", "share", "What the reply did.", True),
            Column("hp", "Binary HP", "share", "What the person would have wanted.", True),
            Column("gap", "gap (OM − HP)", "share", "Paired over conversations; above 0: better at what was done."),
            Column("mde", "smallest gap to be found", "share", f"With {settings.power:.0%} power at this n."),
            Column("same", "gap, same questions", "share", "Over questions that have both labels in the turn."),
            Column("beyond", "gap beyond base rates", "share", "(OM − base rate of OM) − (HP − base rate of HP)."),
        ),
        tuple(rows),
        caption=f"{common.sample_text(study)}.{_yes_shares(right)} {common.intervals_text(settings)}; "
        f"{common.correction_text(settings, common.counted(len(study.groups), 'model'))}.",
        chart=Chart("dumbbells", "model", ("om", "hp"), "What the reply did and what was wanted", "accuracy (0–1)"),
    )
    return table, gaps


def _same_questions(study: ScoreTable, right: _Right, sampling: Sampling) -> list[Cell]:
    """Mean over turns, then conversations, of the share right on OM minus on HP, where a question has both labels."""
    if not right.known:
        return [Cell(None) for _ in study.groups]
    difference = right.answers[0] - right.answers[1]
    counts = (~np.isnan(difference)).sum(axis=1)
    per_turn = within.ratio(np.nansum(difference, axis=1), counts.astype(np.float64))
    return sampling.cells(within.conversation_means(study, per_turn), flag=False)


def _beyond(study: ScoreTable, om: Floats, hp: Floats, sampling: Sampling) -> list[Cell]:
    """The gap less that of the base rate, over the same conversations."""
    reference = common.reference_of(study, common.BASE_RATE)
    if reference is None or _OM not in reference.values or _HP not in reference.values:
        return [Cell(None) for _ in study.groups]
    gap = reference.values[_OM] - reference.values[_HP]
    return sampling.cells(om - hp - gap[:, None], flag=False)


def _reference(study: ScoreTable, sampling: Sampling) -> list[tuple[Cell, ...]]:
    reference = common.reference_of(study, common.BASE_RATE)
    if reference is None or _OM not in reference.values or _HP not in reference.values:
        return []
    om, hp = reference.values[_OM], reference.values[_HP]
    cells = sampling.cells(np.stack([om, hp, om - hp], axis=1), flag=False, of=(_OM, _HP, ""))
    empty = Cell(None)
    return [(text(reference.label, mark="reference"), Cell(cells[2].n), *cells, empty, empty, empty)]


def _yes_shares(right: _Right) -> str:
    if not right.known:
        return ""
    shares = [common.number(float(np.nanmean(truth))) for truth in right.truths]
    return f" People said yes to {shares[0]} of the questions on what the reply did and to {shares[1]} on their wish."


def _parts(study: ScoreTable, right: _Right, sampling: Sampling, *, by: str) -> Table:
    """Gap per category or question: over all models (tested), and for each model (tested together)."""
    settings = sampling.settings
    names = list(study.questions) if by == "question" else list(within.categories(study.questions))
    place = {name: i for i, name in enumerate(names)}
    which = np.array([place[q if by == "question" else within.category(q)] for q in study.questions], dtype=np.intp)
    om, hp = (_shares(study, answers, which, len(names)) for answers in right.answers)
    pooled_om, pooled_hp = (np.stack([common.mean_over_models(part) for part in side]).T for side in (om, hp))
    tests = sampling.tests(f"{_NAME}/{by}", pooled_om, pooled_hp)
    pooled = sampling.difference_cells(tests, common.corrected_p(tests, settings), pooled_om, pooled_hp)
    a, b = (np.concatenate(list(side), axis=1) for side in (om, hp))
    each_tests = sampling.tests(f"{_NAME}/{by}/models", a, b)
    each = sampling.difference_cells(each_tests, common.corrected_p(each_tests, settings), a, b)
    yes = [_yes(truth, which, len(names)) for truth in right.truths]
    accuracy = [within.column_means(side) for side in (pooled_om, pooled_hp)]
    models = len(study.groups)
    rows = []
    for i in common.by_value(tests.difference):
        drilled = [replace(each[i * models + k], drill=_drill(study, names[i], k, by)) for k in range(models)]
        words = (text(names[i]), text(within.wording(names[i]))) if by == "question" else (text(names[i]),)
        rows.append(
            (
                *words,
                Cell(pooled[i].n),
                *(Cell(known(float(s[i]))) for s in (*yes, *accuracy)),
                replace(pooled[i], drill=_drill(study, names[i], None, by)),
                *drilled,
            )
        )
    tested = f"over {len(names)} {'questions' if by == 'question' else 'categories'}, for single models over "
    return Table(
        "questions" if by == "question" else "categories",
        f"Gap by {by}",
        (
            Column(by, by, "text"),
            *((Column("asks", "asks", "text"),) if by == "question" else ()),
            Column("n", "conversations", "count"),
            Column("yes_om", "said yes (OM)", "share", "Base rate: share of people's labels that are yes."),
            Column("yes_hp", "said yes (HP)", "share", "Base rate: share of people's labels that are yes."),
            Column("om", "Binary OM", "share", "Mean over models and conversations.", True),
            Column("hp", "Binary HP", "share", "Mean over models and conversations.", True),
            Column("gap", "gap, all models", "share", "OM − HP, mean over models, paired over conversations."),
            *within.model_columns(study, range(models), meaning="Gap of this model.", better=None),
        ),
        tuple(rows),
        caption=f"{common.sample_text(study)}; share of right answers of each conversation on the {by}, OM − HP. "
        f"{common.intervals_text(settings)}; {common.correction_text(settings, tested.removeprefix('over '))}"
        f"all {len(each)} cells.",
        chart=Chart("dumbbells", by, ("om", "hp"), f"Perspective gap by {by}", "accuracy (0–1)"),
    )


def _shares(study: ScoreTable, right: Floats, which: Labels, parts: int) -> Floats:
    """Share of right answers per part, conversation and model: (parts, conversations, models)."""
    found = []
    for part in range(parts):
        chosen = right[:, which == part, :]
        defined = ~np.isnan(chosen)
        table = np.where(defined, chosen, 0.0).sum(axis=1)
        counts = defined.sum(axis=1).astype(np.float64)
        rows = study.clusters_of_turns()
        above, below = (np.zeros((len(study.ids), right.shape[2])) for _ in range(2))
        np.add.at(above, rows, table)
        np.add.at(below, rows, counts)
        found.append(within.ratio(above, below))
    return np.stack(found)


def _yes(truth: Floats, which: Labels, parts: int) -> Floats:
    return np.array([within.column_means(truth[:, which == part].reshape(-1, 1))[0] for part in range(parts)])


def _drill(study: ScoreTable, name: str, model: int | None, by: str) -> Drill:
    group = None if model is None else study.groups[model].key
    if by == "question":
        return Drill(group=group, question=name, block="binary_hp")
    return Drill(group=group, metric="perspective_gap")


def _shows(study: ScoreTable, gaps: list[Cell], settings: Settings) -> str:
    usable = [i for i, cell in enumerate(gaps) if not cell.small and cell.value is not None]
    if not usable:
        return "There are too few conversations for a claim."
    claimed = [i for i in usable if common.claimed(gaps[i], settings)]
    ahead = [i for i in claimed if common.value_of(gaps[i]) > 0]
    behind = [i for i in claimed if common.value_of(gaps[i]) < 0]
    higher = sum(common.value_of(gaps[i]) > 0 for i in usable)
    models = common.counted(len(usable), "model")
    if not claimed:
        return (
            f"No gap is shown to differ from 0: {higher} of {models} score higher on what the reply did than on what "
            "was wanted."
        )
    said = []
    if ahead:
        order = sorted(ahead, key=lambda i: common.value_of(gaps[i]))
        ends = [
            f"{common.with_interval(gaps[i])} ({study.groups[i].label})" for i in dict.fromkeys((order[0], order[-1]))
        ]
        said.append(
            f"{len(ahead)} of {models} {'is' if len(ahead) == 1 else 'are'} better at what a reply did than at what "
            f"the person wanted; the gap is {' to '.join(ends)}."
        )
    if behind:
        said.append(f"The other way round: {common.listed([study.groups[i].label for i in behind])}.")
    return " ".join(said)
