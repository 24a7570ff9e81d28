"""The perspective gap: what a reply did (Binary OM) against what the person would have wanted (Binary HP), per model.

Both are scored on the same turns, so the gap is a paired difference of each conversation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject, best_first, by_value, reference_of
from attunebench.analyses.sampling import corrected_p, defined_mean, mean_over_models, ratio
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, numbers_of, table, words
from attunebench.analyses.verdicts import number, range_text
from attunebench.analyses.within import View
from attunebench.scores import BASE_RATE
from attunebench.statistics.bootstrap import Floats

_OM, _HP = "binary_om_accuracy", "binary_hp_accuracy"
_NAME = "perspective-gap"
_LABELS_YES = "Base rate: share of people's labels that are yes."


def analyse(subject: Subject) -> Analysis:
    """Gap per model with its test, over the same questions and beyond the base rates; by category and by question."""
    view = View.of_models(subject)
    study = view.study
    om, hp = study.values(_OM), study.values(_HP)
    if np.isnan(om - hp).all():
        raise Missing("No conversation has both Binary OM and Binary HP.")
    right = (study.right("binary_om"), study.right("binary_hp"))
    truths = (study.truth_binary("observed"), study.truth_binary("preferred"))
    answers_kept = not any(np.isnan(side).all() for side in right)
    models, gaps = _models(view, om, hp, right)
    yes = [number(float(np.nanmean(truth))) for truth in truths] if answers_kept else []
    return Analysis(
        tables=(models, *(_parts(view, right, truths, by) for by in reversed(within.PLURALS) if answers_kept)),
        shows=f"Gaps (OM − HP) are {range_text(zip(view.labels, gaps, strict=True))}. "
        + view.claims(view.labels, gaps, "(OM − HP)", noun="gap"),
        warnings=view.reach(view.width),
        notes=(f"People answered yes to {yes[0]} of the OM questions and {yes[1]} of the HP questions.",)
        if yes
        else (within.NO_LABELS,),
    )


def _models(view: View, om: Floats, hp: Floats, right: tuple[Floats, Floats]) -> tuple[Table, list[Cell]]:
    """The table of models, largest gap first, with the base rate below; and the gaps in the order of the study."""
    tests = view.tests(_NAME, om, hp)
    gaps = view.difference_cells(tests, corrected_p(tests, view.settings), om, hp)
    gaps = [replace(cell, drill=d) for cell, d in zip(gaps, view.drills("perspective_gap"), strict=True)]
    both = np.where(np.isnan(om - hp), np.nan, 1.0)
    columns = {"om": view.means(_OM, both * om), "hp": view.means(_HP, both * hp), "gap": gaps}
    # Mean over turns, then conversations, of the share right on OM minus on HP, where a question has both labels.
    per_turn = defined_mean(right[0] - right[1], axis=1)
    same = view.cells(ratio(*view.sums(per_turn)), flag=False)
    beyond, labels, base = [Cell(None)] * view.width, [*map(Cell, view.labels)], reference_of(view.study, BASE_RATE)
    if base is not None and _OM in base.values and _HP in base.values:
        base_gap = base.values[_OM] - base.values[_HP]
        beyond = view.cells(om - hp - base_gap[:, None], flag=False)
        of_base = np.stack([base.values[_OM], base.values[_HP], base_gap], axis=1)
        base_cells = view.cells(of_base, flag=False, of=(_OM, _HP, ""))
        columns = {name: [*of, cell] for (name, of), cell in zip(columns.items(), base_cells, strict=True)}
        labels.append(Cell(base.label, mark="reference"))
    none = [Cell(None)] * (len(labels) - view.width)
    made = table(
        "models",
        "Gap per model",
        words("model", labels),
        numbers_of(columns["gap"]),
        column("om", columns["om"], "Binary OM", "share", "What the reply did.", better=True),
        column("hp", columns["hp"], "Binary HP", "share", "What the person would have wanted.", better=True),
        column("gap", columns["gap"], "gap (OM − HP)", "share", "Paired over conversations; above 0: OM higher."),
        column("mde", [*tests.mde, *none], "minimum detectable gap", "share", f"{view.settings.power:.0%} power."),
        column("same", [*same, *none], "gap, same questions", "share", "Over questions with both labels on the turn."),
        column("beyond", [*beyond, *none], "gap beyond base rates", "share", "Gap minus the gap of the base rate."),
        order=[*by_value(tests.difference), *range(view.width, len(labels))],
        caption=f"{view.sample}. {view.how('model', gaps)}",
        chart=Chart(
            "dumbbells", "model", ("om", "hp"), "What the reply did and what the person wanted", "accuracy (0–1)"
        ),
    )
    return made, gaps


def _parts(view: View, right: tuple[Floats, Floats], truths: tuple[Floats, Floats], by: within.By) -> Table:
    """Gap per category or question: over all models (tested), and for each model (tested together)."""
    names, parts = within.question_parts(view.study, by)
    om, hp = (ratio(*within.part_sums(view, side, parts)) for side in right)
    pooled_om, pooled_hp = mean_over_models(om), mean_over_models(hp)
    metric, block = Drill(metric="perspective_gap"), "binary_hp"
    about = [Drill(question=name, block=block) if by == "question" else metric for name in names]
    pooled = view.paired(f"{_NAME}/{by}", pooled_om, pooled_hp, about)
    drills = [replace(one, group=group.key) for one in about for group in view.study.groups]
    each = view.paired(f"{_NAME}/{by}/models", om, hp, drills)
    yes = [ratio(np.nansum(truth, axis=0) @ parts, (~np.isnan(truth)).sum(axis=0) @ parts) for truth in truths]
    return table(
        within.PLURALS[by],
        f"Gap by {by}",
        words(by, names),
        *([words("asks", map(within.wording, names))] if by == "question" else []),
        numbers_of(pooled),
        column("yes_om", yes[0], "yes (OM)", "share", _LABELS_YES),
        column("yes_hp", yes[1], "yes (HP)", "share", _LABELS_YES),
        column("om", within.column_means(pooled_om), "Binary OM", "share", "Mean over models.", better=True),
        column("hp", within.column_means(pooled_hp), "Binary HP", "share", "Mean over models.", better=True),
        column("gap", pooled, "gap, all models", "share", "OM − HP, mean over models, paired over conversations."),
        *view.columns(each, "Gap of this model.", better=None),
        order=best_first(pooled),
        caption=f"{view.sample}; share of correct answers per conversation on the {by}, OM − HP. "
        f"{view.how(by, pooled, within.PLURALS[by])} Single models: corrected over all {len(each)} cells.",
        chart=Chart(
            *("dumbbells", "asks" if by == "question" else by, ("om", "hp"), f"Perspective gap by {by}"),
            axis="accuracy of all models",
            sort="gap",
            first=20,
        ),
    )
