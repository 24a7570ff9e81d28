"""The perspective gap: what a reply did (Binary OM) against what the person would have wanted (Binary HP), per model.

Both are scored on the same turns, so the gap is a paired difference of each conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses import verdicts, within
from attunebench.analyses.base import Subject, best_first, by_value, drill_to, reference_of
from attunebench.analyses.sampling import Sampling, corrected_p, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, table, words
from attunebench.scores import BASE_RATE
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

_OM, _HP = "binary_om_accuracy", "binary_hp_accuracy"
_NAME = "perspective-gap"


def analyse(subject: Subject) -> Analysis:
    """Gap per model with its test, over the same questions and beyond the base rates; by category and by question."""
    study, sampling = within.scored_models(subject)
    settings = sampling.settings
    om, hp = study.values(_OM), study.values(_HP)
    if np.isnan(om - hp).all():
        raise Missing("No conversation has both a Binary OM and a Binary HP accuracy.")
    right = (study.right("binary_om"), study.right("binary_hp"))
    truths = (study.truth_binary("observed"), study.truth_binary("preferred"))
    answers_kept = not any(np.isnan(side).all() for side in right)
    models, gaps = _models(study, om, hp, right if answers_kept else None, sampling)
    parts = [_parts(study, right, truths, sampling, by) for by in reversed(within.PLURALS) if answers_kept]
    said_yes = [verdicts.number(float(np.nanmean(truth))) for truth in truths] if answers_kept else []
    named = list(zip(study.labels, gaps, strict=True))
    return Analysis(
        tables=(models, *parts),
        shows=f"Gaps (OM − HP) range from {verdicts.range_text(named)}. "
        + verdicts.claims_sentence(named, settings, noun="gap", of="(OM − HP)"),
        cannot="What a reply did can be read in the conversation; what the person wanted has to be guessed, and its "
        "answers are less even; part of a gap is the difficulty of the questions, which the gap beyond base rates "
        "takes out in part.",
        warnings=verdicts.reach_text(np.full(len(study.groups), sampling.least), settings),
        notes=(f"People answered yes to {said_yes[0]} (OM) and {said_yes[1]} (HP) of the questions.",)
        if answers_kept
        else (within.NO_LABELS,),
    )


def _models(
    study: ScoreTable, om: Floats, hp: Floats, right: tuple[Floats, Floats] | None, sampling: Sampling
) -> tuple[Table, list[Cell]]:
    """The table of models, largest gap first, with the base rate below; and the gaps in the order of the study."""
    settings = sampling.settings
    tests = sampling.tests(_NAME, om, hp)
    gaps = sampling.difference_cells(tests, corrected_p(tests, settings), om, hp)
    gaps = [replace(cell, drill=drill_to(g, "perspective_gap")) for cell, g in zip(gaps, study.groups, strict=True)]
    sides = [
        sampling.cells(np.where(np.isnan(om - hp), np.nan, values), [drill_to(g, m) for g in study.groups], of=m)
        for m, values in ((_OM, om), (_HP, hp))
    ]
    empty = [Cell(None)] * len(study.groups)
    same = empty if right is None else _same_questions(study, right, sampling)
    beyond, last = empty, list[Cell]()
    base = reference_of(study, BASE_RATE)
    if base is not None and _OM in base.values and _HP in base.values:
        base_gap = base.values[_OM] - base.values[_HP]
        beyond = sampling.cells(om - hp - base_gap[:, None], flag=False)
        table_of_base = np.stack([base.values[_OM], base.values[_HP], base_gap], axis=1)
        last = sampling.cells(table_of_base, flag=False, of=(_OM, _HP, ""))
    labels: list[str | Cell] = [
        *study.labels,
        *([Cell(base.label, mark="reference")] if base is not None and last else []),
    ]
    none = [Cell(None)] * bool(last)
    made = table(
        "models",
        "Gap per model",
        words("model", labels),
        counts("n", [cell.n for cell in (*gaps, *last[2:])], "conversations"),
        column("om", [*sides[0], *last[:1]], "Binary OM", "share", "What the reply did.", better=True),
        column("hp", [*sides[1], *last[1:2]], "Binary HP", "share", "What the person would have wanted.", better=True),
        column("gap", [*gaps, *last[2:]], "gap (OM − HP)", "share", "Paired over conversations; above 0: OM higher."),
        column("mde", [*tests.mde, *none], "minimum detectable gap", "share", f"With {settings.power:.0%} power."),
        column("same", [*same, *none], "gap, same questions", "share", "Over questions with both labels in the turn."),
        column("beyond", [*beyond, *none], "gap beyond base rates", "share", "The gap minus that of the base rate."),
        order=[*by_value(tests.difference), *range(len(study.groups), len(labels))],
        caption=f"{verdicts.sample_text(study)}. {verdicts.tested_text(settings, f'{len(study.groups)} models')}.",
        chart=Chart("dumbbells", "model", ("om", "hp"), "What the reply did and what was wanted", "accuracy (0–1)"),
    )
    return made, gaps


def _same_questions(study: ScoreTable, right: tuple[Floats, Floats], sampling: Sampling) -> list[Cell]:
    """Mean over turns, then conversations, of the share right on OM minus on HP, where a question has both labels."""
    difference = right[0] - right[1]
    number_of = (~np.isnan(difference)).sum(axis=1).astype(np.float64)
    per_turn = within.ratio(np.nansum(difference, axis=1), number_of)
    return sampling.cells(within.ratio(*within.conversation_sums(study, per_turn)), flag=False)


def _parts(
    study: ScoreTable, right: Sequence[Floats], truths: Sequence[Floats], sampling: Sampling, by: within.By
) -> Table:
    """Gap per category or question: over all models (tested), and for each model (tested together)."""
    settings = sampling.settings
    names, parts = within.question_parts(study, by)
    om, hp = (within.ratio(*within.part_sums(study, side, parts)) for side in right)
    pooled_om, pooled_hp = mean_over_models(om), mean_over_models(hp)

    def drills(*keys: tuple[str, str, str] | None) -> list[Drill | None]:
        whole = Drill(metric="perspective_gap")
        ends = [Drill(question=name, block="binary_hp") if by == "question" else whole for name in names]
        return [replace(end, group=key) for end in ends for key in keys]

    pooled = within.paired_cells(sampling, f"{_NAME}/{by}", pooled_om, pooled_hp, drills(None))
    a, b = (side.reshape(len(study.ids), -1) for side in (om, hp))
    each = within.paired_cells(sampling, f"{_NAME}/{by}/models", a, b, drills(*(group.key for group in study.groups)))
    yes = [within.ratio(np.nansum(truth, axis=0) @ parts, (~np.isnan(truth)).sum(axis=0) @ parts) for truth in truths]
    accuracy, plural = "Mean over models and conversations.", within.PLURALS[by]
    return table(
        plural,
        f"Gap by {by}",
        words(by, names),
        *([words("asks", map(within.wording, names))] if by == "question" else []),
        counts("n", [cell.n for cell in pooled], "conversations"),
        column("yes_om", yes[0], "yes (OM)", "share", "Base rate: share of people's labels that are yes."),
        column("yes_hp", yes[1], "yes (HP)", "share", "Base rate: share of people's labels that are yes."),
        column("om", within.column_means(pooled_om), "Binary OM", "share", accuracy, better=True),
        column("hp", within.column_means(pooled_hp), "Binary HP", "share", accuracy, better=True),
        column("gap", pooled, "gap, all models", "share", "OM − HP, mean over models, paired over conversations."),
        *within.model_columns(study, within.in_rows(each, len(study.groups)), "Gap of this model.", better=None),
        order=best_first(pooled),
        caption=f"{verdicts.sample_text(study)}; share of right answers of each conversation on the {by}, OM − HP. "
        f"{verdicts.tested_text(settings, f'{len(names)} {plural}')}, and over all {len(each)} cells of single models.",
        chart=Chart("dumbbells", by, ("om", "hp"), f"Perspective gap by {by}", "accuracy (0–1)"),
    )
