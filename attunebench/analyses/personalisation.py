"""What reading this person adds: each model's gain over the base rate, which answers as other people did on average.

The base rate of the metrics comes with the scores; that of single questions is made here from the labels, leaving out
the conversation that it answers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attunebench.analyses import verdicts, within
from attunebench.analyses.base import CANONICAL, Subject, best_first, better, digits_of, drill_to, label_of
from attunebench.analyses.sampling import Sampling, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, table, words
from attunebench.constants import BINARY_HP_QUESTION_TEXT, BINARY_QUESTION_TEXT
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.scores import BASE_RATE
from attunebench.scores.references import standing
from attunebench.scores.table import TRUTH_OF_BLOCK, Block, ReferenceValues, ScoreTable
from attunebench.statistics.bootstrap import Floats

METRICS = ("composite", *CANONICAL)
_BLOCKS: dict[Block, tuple[str, Mapping[str, str]]] = {
    "binary_om": ("what the reply did", BINARY_QUESTION_TEXT),
    "binary_hp": ("what the person wanted", BINARY_HP_QUESTION_TEXT),
}
_RARE = 0.05
"""A question is informative where the rarer answer has at least this share."""


def analyse(subject: Subject) -> Analysis:
    """Paired gain per model and metric, and per question over all models."""
    study, sampling = within.scored_models(subject)
    settings = sampling.settings
    base = next((one for one in study.references if one.id == BASE_RATE), None)
    if base is None:
        raise Missing(
            "The scores hold no base rate, which needs two conversations and a newer `attune-bench score`; score the "
            "results again."
        )
    wanted = within.asked_values(study, settings, METRICS)
    values = {m: of for m, of in wanted.items() if m in base.values and not np.isnan(base.values[m]).all()}
    if not values:
        raise Missing("The base rate and the models have no metric in common.")
    gains, stands = _gains(study, values, base, sampling), standing(base)
    chances = {m: cards_of(study.rules)[m].chance for m in values}
    # Leaving one out has put the base rate below blind guessing there: to be above it shows nothing.
    tipped = [m for m, chance in chances.items() if chance is not None and np.nanmean(base.values[m]) < chance]
    questions = [found for block in _BLOCKS for found in _questions(study, block, sampling)] if study.questions else []
    named = {label_of(m): cells for m, cells in gains.items() if m not in tipped}
    named |= {of.title: [row[-1] for row in of.rows] for of in questions}
    return Analysis(
        tables=(_gain_table(study, gains, base, sampling), _skill_table(study, values, stands, sampling), *questions),
        shows=_shows(named, sampling),
        cannot="The base rate knows the labels of other conversations, which models do not: a model below it may still "
        "read people, without knowing how answers are distributed here. Other conversations of the same person count "
        "among the others.",
        warnings=(
            *verdicts.reach_text(np.full(len(gains) * len(study.groups), sampling.least), settings),
            *(
                f"On {label_of(m)} the base rate is below blind guessing, which happens with even answers and few "
                "conversations: being above it shows nothing, and nothing is claimed."
                for m in tipped
            ),
        ),
        notes=(f"{base.label}: {stands.meaning}",),
    )


def _gains(
    study: ScoreTable, values: Mapping[str, Floats], base: ReferenceValues, sampling: Sampling
) -> dict[str, list[Cell]]:
    """Metric → a cell per model, better than the base rate above 0; all of them are one family of tests."""
    signs = {m: 1.0 if better(m) else -1.0 for m in values}
    a = np.concatenate([signs[m] * of for m, of in values.items()], axis=1)
    b = np.concatenate(
        [np.broadcast_to(signs[m] * base.values[m][:, None], of.shape) for m, of in values.items()], axis=1
    )
    drills = [drill_to(group, m) for m in values for group in study.groups]
    cells = within.in_rows(within.paired_cells(sampling, "personalisation", a, b, drills), len(study.groups))
    return dict(zip(values, cells, strict=True))


def _gain_table(study: ScoreTable, gains: Mapping[str, list[Cell]], base: ReferenceValues, sampling: Sampling) -> Table:
    first, title = next(iter(gains.values())), f"Gain over the {base.label.lower()}"
    return table(
        "gain",
        title,
        words("model", study.labels),
        counts("n", [cell.n for cell in first], "conversations"),
        *(
            column(m, cells, label_of(m), "number", REGISTRY[m].meaning, better=True, digits=digits_of(m))
            for m, cells in gains.items()
        ),
        order=best_first(first),
        caption=f"Model minus {base.label.lower()}, paired over {verdicts.sample_text(study)}; Composite in points. "
        f"{verdicts.tested_text(sampling.settings, f'all {len(gains) * len(study.groups)} gains')}.",
        chart=Chart("heatmap", "model", tuple(gains), title, "difference"),
    )


def _skill_table(study: ScoreTable, values: Mapping[str, Floats], base: ReferenceValues, sampling: Sampling) -> Table:
    """Per metric the base rate itself, and the share of the room above it that models fill."""
    rows = [_skill(study, metric_id, of, base, sampling) for metric_id, of in values.items()]
    bases, average, best, who = zip(*rows, strict=True)
    return table(
        "skill",
        "Skill: the share of the room above the base rate that is filled",
        words("metric", map(label_of, values)),
        counts("n", [cell.n for cell in bases], "conversations"),
        column("base", bases, base.label, "number", "What the base rate scores.", better=True),
        column("average", average, "skill, average", meaning="Of the mean over models.", better=True),
        column("best", best, "skill, best", meaning="Of the model with the most, picked after the fact.", better=True),
        words("who", who, "which"),
        caption=f"(score − base rate)/(ceiling − base rate). {verdicts.intervals_text(sampling.settings)}.",
    )


def _skill(
    study: ScoreTable, metric_id: str, values: Floats, base: ReferenceValues, sampling: Sampling
) -> tuple[Cell, Cell, Cell, str]:
    """The base rate, the skill of the mean over models, that of the best model, and which that is."""
    if metric_id not in base.values:  # below blind guessing
        return Cell(None), Cell(None), Cell(None), "–"
    card, of_base = REGISTRY[metric_id], base.values[metric_id]
    ceiling = card.high if better(metric_id) else card.low
    columns = np.column_stack([mean_over_models(values), values])
    average, *skills = sampling.skill_cells(columns, of_base, ceiling)
    best = best_first(skills)[0]
    return sampling.cells(of_base[:, None], of=metric_id)[0], average, skills[best], study.labels[best]


def _questions(study: ScoreTable, block: Block, sampling: Sampling) -> list[Table]:
    """Mean over models per question against the base rate; nothing where labels or answers are lacking."""
    about, texts = _BLOCKS[block]
    truth = study.truth_binary(TRUTH_OF_BLOCK[block])
    right = mean_over_models(study.right(block))
    base = within.ratio(*within.conversation_sums(study, base_right(study, truth)))
    models = within.ratio(*within.conversation_sums(study, right))
    yes = within.column_means(truth)
    shown = np.flatnonzero((np.minimum(yes, 1 - yes) >= _RARE) & ~np.isnan(models - base).all(axis=0))
    if not len(shown):
        return []
    a, b, names = models[:, shown], base[:, shown], [study.questions[i] for i in shown]
    drills = [Drill(question=name, block=block) for name in names]
    gains = within.paired_cells(sampling, f"personalisation {block}", a, b, drills)
    return [
        table(
            f"questions_{block}",
            f"Question by question: {about}",
            words("question", names),
            words("text", [texts.get(name, "") for name in names], "wording"),
            counts("n", [cell.n for cell in gains], "conversations"),
            column("yes", yes[shown], "", "share", "Share of turns in which the person's label is yes.", digits=2),
            column("base", sampling.cells(b, flag=False), "base rate", "share", "Right answers.", better=True),
            column("models", sampling.cells(a, flag=False), "", "share", "Right answers, over models.", better=True),
            column("gain", gains, "", "share", "Models minus base rate, paired by conversation.", better=True),
            order=best_first(gains),
            caption=f"Questions whose rarer answer has {100 * _RARE:g} % or more; {verdicts.sample_text(study)}. The "
            "base rate gives the more frequent answer of the other conversations, and half a point where they are even "
            f"or one decides which it is. {verdicts.tested_text(sampling.settings, f'{len(shown)} questions')}.",
        )
    ]


def base_right(study: ScoreTable, truth: Floats) -> Floats:
    """Whether the more frequent answer of the other conversations is right, ½ where even: (turns, questions).

    ½ too where leaving out some one conversation turns round which answer that is: there each is held against what its
    own labels tipped the others away from, and a model that guesses would beat the base rate.
    """
    yes, n = within.conversation_sums(study, truth)
    others_yes, others = yes.sum(axis=0) - yes, n.sum(axis=0) - n
    lean = np.sign(2 * others_yes - others)
    lean[:, (lean != lean[:1]).any(axis=0)] = 0.0
    rows = study.clusters_of_turns()
    right = (1 + lean[rows] * (2 * truth - 1)) / 2
    return np.asarray(np.where((others > 0)[rows], right, np.nan))


def _shows(named: Mapping[str, list[Cell]], sampling: Sampling) -> str:
    """On what models are significantly above or below the base rate, and on what none is."""
    found = {name: verdicts.sides(cells, sampling.settings) for name, cells in named.items()}
    if not any(usable for *_, usable in found.values()):
        return f"Too few {sampling.settings.units} for a claim on gains over the base rate."
    apart = [
        f"{name}: {above} above, {below} below of {of}" for name, (above, below, of) in found.items() if above or below
    ]
    alike = [name for name, (above, below, _) in found.items() if not above and not below]
    said = [f"Significant gains over the base rate – {'; '.join(apart)}."] if apart else []
    return " ".join(said + ([f"No significant gain on {verdicts.listed(alike, most=12)}."] if alike else []))
