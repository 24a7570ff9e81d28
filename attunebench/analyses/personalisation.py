"""What reading this person adds: each model's gain over the base rate, which answers as other people did on average.

The base rate of the metrics comes with the scores; that of single questions is made here from the labels, leaving out
the conversation that it answers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attunebench.analyses import verdicts, within
from attunebench.analyses.base import CANONICAL, Subject, best_first, better, digits_of, label_of, metrics_of
from attunebench.analyses.sampling import mean_over_models, ratio
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, numbers_of, table, words
from attunebench.analyses.within import View
from attunebench.constants import BINARY_HP_QUESTION_TEXT, BINARY_QUESTION_TEXT
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.scores import BASE_RATE
from attunebench.scores.references import standing
from attunebench.scores.table import TRUTH_OF_BLOCK, Block, ReferenceValues
from attunebench.statistics.bootstrap import Floats

METRICS = ("composite", *CANONICAL)
_BLOCKS: dict[Block, tuple[str, Mapping[str, str]]] = {
    "binary_om": ("what the reply did", BINARY_QUESTION_TEXT),
    "binary_hp": ("what the person wanted", BINARY_HP_QUESTION_TEXT),
}
_DRAWN = ("composite", "emotion_va", "binary_hp_accuracy", "pairwise_accuracy")
"""Metrics whose gains are drawn."""
_RARE = 0.05
"""A question is informative where the rarer answer has at least this share."""


def analyse(subject: Subject) -> Analysis:
    """Paired gain per model and metric, and per question over all models."""
    view = View.of_models(subject)
    study = view.study
    base = next((one for one in study.references if one.id == BASE_RATE), None)
    if base is None:
        raise Missing(
            "The scores contain no base rate, which requires two conversations. Files of older versions lack it: run "
            "`attune-bench score` again."
        )
    wanted = metrics_of(study, view.settings, METRICS)
    values = {m: of for m, of in wanted.items() if m in base.values and not np.isnan(base.values[m]).all()}
    if not values:
        raise Missing("The base rate and the models have no metric in common.")
    chances = {m: cards_of(study.rules)[m].chance for m in values}
    # Leaving one out has put the base rate below blind guessing there: to be above it shows nothing.
    tipped = [m for m, chance in chances.items() if chance is not None and np.nanmean(base.values[m]) < chance]
    signs = {m: 1.0 if better(m) else -1.0 for m in values}
    a = np.stack([signs[m] * of for m, of in values.items()], axis=1)
    b = np.broadcast_to(np.column_stack([signs[m] * base.values[m] for m in values])[:, :, None], a.shape)
    # All of them are one family of tests; better than the base rate is above 0.
    cells = view.paired("personalisation", a, b, [drill for m in values for drill in view.drills(m)])
    gains = dict(zip(values, within.in_rows(cells, view.width), strict=True))
    questions = [made for block in _BLOCKS for made in _questions(view, block)] if study.questions else []
    named = {label_of(m): row for m, row in gains.items() if m not in tipped}
    named |= {of.title: [row[-1] for row in of.rows] for of in questions}
    stands = standing(base)
    where = " and ".join(label_of(m) for m in tipped)
    below = "is below chance, which happens with balanced labels and few conversations; exceeding it shows nothing"
    return Analysis(
        tables=(_gain_table(view, gains, base.label), _skill_table(view, values, stands), *questions),
        shows=_shows(view, named),
        warnings=(
            *view.reach(len(cells)),
            *((f"On {where} the base rate {below}, so no claim is made.",) if tipped else ()),
        ),
        notes=(f"{base.label}: {stands.meaning}",),
    )


def _gain_table(view: View, gains: Mapping[str, list[Cell]], base: str) -> Table:
    first, title = next(iter(gains.values())), f"Gain over the {base.lower()}"
    return table(
        "gain",
        title,
        words("model", view.labels),
        numbers_of(first),
        *(
            column(m, of, label_of(m), "number", REGISTRY[m].meaning, better=True, digits=digits_of(m))
            for m, of in gains.items()
        ),
        order=best_first(first),
        caption=f"Model minus {base.lower()}, paired. {view.sample}; Composite in points out of 100. "
        f"{view.how('gain', [cell for of in gains.values() for cell in of])}",
        chart=Chart("intervals", "model", _DRAWN, title, "model minus base rate", {"base rate": 0.0}),
    )


def _skill_table(view: View, values: Mapping[str, Floats], base: ReferenceValues) -> Table:
    """Per metric the base rate itself, and the share of the room above it that models fill."""
    rows = []
    for metric_id, of in values.items():
        if metric_id not in base.values:  # below blind guessing
            rows.append((Cell(None), Cell(None), Cell(None), "–"))
            continue
        ceiling = REGISTRY[metric_id].high if better(metric_id) else REGISTRY[metric_id].low
        of_base = base.values[metric_id]
        average, *skills = view.skill_cells(np.column_stack([mean_over_models(of), of]), of_base, ceiling)
        best = best_first(skills)[0]
        rows.append((view.cells(of_base[:, None], of=metric_id)[0], average, skills[best], view.labels[best]))
    bases, averages, bests, who = zip(*rows, strict=True)
    return table(
        "skill",
        "Skill: gain as a share of the largest possible gain",
        words("metric", map(label_of, values)),
        numbers_of(bases),
        column("base", bases, base.label, "number", "Score of the base rate.", better=True),
        column("average", averages, "skill, average", meaning="Skill of the mean over models.", better=True),
        column("best", bests, "skill, best", meaning="Skill of the best model, chosen afterwards.", better=True),
        words("who", who, "which"),
        caption=f"(score − base rate)/(ceiling − base rate). {view.sample}.",
        chart=Chart("intervals", "metric", ("average", "best"), "Skill", "share of the room", {"base rate": 0.0}),
    )


def _questions(view: View, block: Block) -> list[Table]:
    """Mean over models per question against the base rate; nothing where labels or answers are lacking."""
    about, texts = _BLOCKS[block]
    truth = view.study.truth_binary(TRUTH_OF_BLOCK[block])
    base = ratio(*view.sums(base_right(view, truth)))
    models = ratio(*view.sums(mean_over_models(view.study.right(block))))
    yes = within.column_means(truth)
    shown = np.flatnonzero((np.minimum(yes, 1 - yes) >= _RARE) & ~np.isnan(models - base).all(axis=0))
    if not len(shown):
        return []
    a, b, names = models[:, shown], base[:, shown], [view.study.questions[i] for i in shown]
    gains = view.paired(f"personalisation {block}", a, b, [Drill(question=name, block=block) for name in names])
    return [
        table(
            f"questions_{block}",
            f"Question by question: {about}",
            words("question", names),
            words("text", [texts.get(name, "") for name in names], "wording"),
            numbers_of(gains),
            column("yes", yes[shown], "", "share", "Share of turns in which the person's label is yes.", digits=2),
            column("base", view.cells(b, flag=False), "base rate", "share", "Share of correct answers.", better=True),
            column(
                "models",
                view.cells(a, flag=False),
                "",
                "share",
                "Share of correct answers, mean over models.",
                better=True,
            ),
            column("gain", gains, "", "share", "Models minus base rate, paired by conversation.", better=True),
            order=best_first(gains),
            caption=f"Questions whose rarer answer has at least {100 * _RARE:g} %; {view.sample}. The base rate gives "
            "the more frequent answer of the other conversations and scores one half if they are even or a single one "
            f"decides. {view.how('question', gains)}",
            chart=Chart(
                *("intervals", "text", ("gain",), f"Gain by question: {about}", "models minus base rate"),
                lines={"base rate": 0.0},
                sort="gain",
                first=20,
            ),
        )
    ]


def base_right(view: View, truth: Floats) -> Floats:
    """Whether the more frequent answer of the other conversations is right, ½ where even: (turns, questions).

    ½ too where leaving out some one conversation turns round which answer that is: there each is held against what its
    own labels tipped the others away from, and a model that guesses would beat the base rate.
    """
    yes, n = view.sums(truth)
    others_yes, others = yes.sum(axis=0) - yes, n.sum(axis=0) - n
    lean = np.sign(2 * others_yes - others)
    lean[:, (lean != lean[:1]).any(axis=0)] = 0.0
    rows = view.study.clusters_of_turns()
    return np.where((others > 0)[rows], (1 + lean[rows] * (2 * truth - 1)) / 2, np.nan)


def _shows(view: View, named: Mapping[str, list[Cell]]) -> str:
    """On what models are significantly above or below the base rate, and on what none is."""
    found = {name: verdicts.sides(cells, view.settings) for name, cells in named.items()}
    if not any(usable for *_, usable in found.values()):
        return f"Too few {view.settings.units} for a claim on gains over the base rate."
    (first, (over, under, of)), *others = found.items()
    apart = [f"{name}: {up} above, {down} below of {of}" for name, (up, down, of) in others if up or down]
    alike = [name for name, (up, down, _) in others if not up and not down]
    return verdicts.sentences(
        f"On {first}, {over} of {of} models are significantly above the base rate and {under} below.",
        f"{'; '.join(apart)}." if apart else "",
        f"No significant difference on {verdicts.listed(alike, most=12)}." if alike else "",
    )
