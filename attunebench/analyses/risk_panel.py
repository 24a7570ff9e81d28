"""The risk panel: moral judgement, signs of risk, emergency help and alarm (B14, B17, B18, B20), and risk in PW12.

Such answers are mostly one and the same, so accuracy says little: each side of a question gets its own hit rate, with
an interval that holds for few events.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject
from attunebench.analyses.sampling import Sampling, cells_of
from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    Drill,
    Filled,
    Missing,
    Table,
    column,
    counts,
    table,
    words,
)
from attunebench.analyses.verdicts import intervals_text, listed, with_interval
from attunebench.scores.table import Block, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask
from attunebench.statistics.intervals import clustered_wilson

QUESTIONS = ("B14", "B17", "B18", "B20")
PAIRWISE = "PW12"
_LABELS: dict[Block, str] = {"binary_om": "Binary OM", "binary_hp": "Binary HP"}


@dataclass(frozen=True)
class _Question:
    """One question from one side: its base rate, how many yes and no, and cells for each model by what they are.

    `strict`: hit rates of both answers with intervals that hold for all of them at once, for claims.
    """

    id: str
    side: str
    base: Cell
    yes: int
    no: int
    rates: dict[str, list[Cell]]
    strict: dict[str, list[Cell]]


def analyse(subject: Subject) -> Analysis:
    """Base rates, sensitivity and specificity per question and model, and the choice of replies that answer risk."""
    study, sampling = within.scored_models(subject)
    questions = [
        found
        for block in _LABELS
        for name in QUESTIONS
        if name in study.questions and (found := _question(study, sampling, block, name)) is not None
    ]
    pairwise, chosen = _pairwise(study, sampling)
    if not questions and not pairwise:
        raise Missing(f"No label or answer on {', '.join((*QUESTIONS, PAIRWISE))} is kept in these scores.")
    return Analysis(
        tables=(*(_binary(study, questions, sampling) if questions else ()), *pairwise),
        shows=" ".join((*_blind_spots(study, questions, sampling), *chosen)),
        cannot="These are answers about a reply and not a test of safety: a model that sees a risk here may still "
        "answer it badly, and people mark a risk that they noticed themselves. With few events even a wide gap can be "
        "chance.",
        notes=(
            "Wilson intervals, on as many independent answers as the answers of the same conversation are worth "
            "together. A claim rests on intervals that hold for all rates at once (Bonferroni).",
        ),
    )


def _question(study: ScoreTable, sampling: Sampling, block: Block, name: str) -> _Question | None:
    """None where no model has an answer to it."""
    place = study.questions.index(name)
    answers = study.right(block)[:, place]
    truth = study.truth_binary("observed" if block == "binary_om" else "preferred")[:, place]
    if np.isnan(answers).all():
        return None
    level = sampling.settings.level
    together = 1 - (1 - level) / (2 * len(_LABELS) * len(QUESTIONS) * len(study.groups))

    def cells(chosen: Mask, level: float = level) -> list[Cell]:
        turns = within.turns_of(study, np.flatnonzero(chosen).tolist())
        drills = [Drill(group.key, question=name, block=block, turns=turns) for group in study.groups]
        return _wilson_cells(study, sampling, np.where(chosen[:, None], answers, np.nan), level, drills)

    yes, no = truth == 1, truth == 0
    rates = {"sensitivity": cells(yes), "specificity": cells(no), "accuracy": cells(~np.isnan(truth))}
    strict = {"yes": cells(yes, together), "no": cells(no, together)}
    base = _wilson_cells(study, sampling, truth[:, None], level)[0]
    return _Question(name, _LABELS[block], base, int(yes.sum()), int(no.sum()), rates, strict)


def _wilson_cells(
    study: ScoreTable, sampling: Sampling, values: Floats, level: float, drills: list[Drill] | None = None
) -> list[Cell]:
    """Shares of rare events over (turns, columns): Wilson intervals, see `clustered_wilson`; n counts conversations."""
    above, below = within.conversation_sums(study, values)
    units = np.arange(len(study.ids), dtype=np.intp) if sampling.clusters is None else sampling.clusters
    low, high = clustered_wilson(above, below, units, level)
    small = sampling.small(np.where(below > 0, above, np.nan))
    share, n = within.ratio(above.sum(axis=0), below.sum(axis=0)), (below > 0).sum(axis=0)
    return cells_of(share, low, high, n, small, drills)


def _binary(study: ScoreTable, questions: list[_Question], sampling: Sampling) -> tuple[Table, Table]:
    """How often people answered yes, and how often models find people's yes and no."""
    intervals = f"{100 * sampling.settings.level:g} % Wilson intervals."

    def front(of: list[_Question]) -> list[Filled]:
        return [words("question", [one.id for one in of]), words("side", [one.side for one in of])]

    def labels(of: list[_Question]) -> tuple[Filled, Filled]:
        yes = counts("yes_labels", [one.yes for one in of], "yes", "Turns with a yes.")
        return yes, counts("no_labels", [one.no for one in of], "no", "Turns with a no.")

    each = [one for one in questions for _ in study.groups]
    rates = {name: [cell for one in questions for cell in one.rates[name]] for name in questions[0].rates}
    sensitivity, specificity, accuracy = (column(name, of, "", "share", better=True) for name, of in rates.items())
    yes, no = labels(each)
    return table(
        "base-rates",
        "How often people answered yes",
        *front(questions),
        words("asks", [within.wording(one.id) for one in questions]),
        counts("n", [one.base.n for one in questions], "conversations"),
        *labels(questions),
        column("yes", [one.base for one in questions], "share of yes", "share", "Base rate."),
        caption=f"{within.turns_text(study)}. Binary OM: what the reply did; Binary HP: what was wanted. Where one "
        f"answer is rare, a model that never gives it still looks accurate. {intervals}",
    ), table(
        "rates",
        "Sensitivity and specificity",
        *front(each),
        words("model", study.labels * len(questions)),
        counts("n", [cell.n for cell in rates["accuracy"]], "conversations"),
        yes,
        sensitivity,
        no,
        specificity,
        accuracy,
        caption=f"{within.turns_text(study)}; not answered is wrong. Sensitivity (specificity): share of people's yes "
        f"(no) that the model gives; n of a rate: conversations with such a label. {intervals}",
    )


def _blind_spots(study: ScoreTable, questions: list[_Question], sampling: Sampling) -> list[str]:
    """Who misses more than half of people's answers, and how rare the events are."""
    cells = [
        (f"{label} on people's {answer} to {one.id} ({one.side})", cell)
        for one in questions
        for answer, of_models in one.strict.items()
        for label, cell in zip(study.labels, of_models, strict=True)
    ]
    if not cells:
        return []
    usable = [(name, cell) for name, cell in cells if not cell.small and cell.high is not None]
    blind = [f"{name} ({with_interval(cell)})" for name, cell in usable if cell.high is not None and cell.high < 0.5]
    few = sampling.settings.small
    rare = sorted({one.id for one in questions if min(one.yes, one.no) < few})
    said = [f"Below 0.5: {listed(blind)}." if blind else "No sensitivity or specificity is significantly below 0.5."]
    if not usable:
        said = ["There are too few conversations with these answers for a claim."]
    return [*said, *([f"One of the answers has under {few} labels on {listed(rare)}."] if rare else [])]


def _pairwise(study: ScoreTable, sampling: Sampling) -> tuple[list[Table], list[str]]:
    """Choices on PW12 per model, beside the variant that people choose most often of each two; and a sentence."""
    names, right, counted = within.pairwise_right(study)
    place = names.index(PAIRWISE) if PAIRWISE in names else -1
    if place < 0 or not counted[:, place].any():
        return [], []
    above, below = (within.conversation_sums(study, part[:, place])[0] for part in (right, counted))
    turns = within.turns_of(study, np.flatnonzero(counted[:, place].any(axis=1)).tolist())
    drills = [Drill(group.key, "pairwise_accuracy", turns=turns) for group in study.groups]
    cells = within.rate_cells(sampling, above, below, drills, right=True)
    wins = _wins(study)
    comparisons = sum(sum(of_pair.values()) for of_pair in wins)
    frequent = sum(max(of_pair.values()) for of_pair in wins) / comparisons
    made = table(
        "pw12",
        "Which reply answers possible risk better (PW12)",
        words("model", [*study.labels, Cell("more frequent winner", mark="reference")]),
        counts("n", [*(cell.n for cell in cells), None], "conversations"),
        counts("comparisons", [*(round(float(n)) for n in below.sum(axis=0)), comparisons]),
        column("accuracy", [*cells, frequent], "", "share", "Of comparisons.", better=True),
        caption="Only turns for which people chose this question. The last row names of each two variants the one that "
        "people prefer more often, over the same comparisons and so a little too good. "
        f"{intervals_text(sampling.settings)}.",
        chart=Chart("intervals", "model", ("accuracy",), "Choice under risk (PW12)", "accuracy", {"chance": 0.5}),
    )
    usable = [cell for cell in cells if not cell.small and cell.low is not None]
    better = sum(cell.low is not None and cell.low > 0.5 for cell in usable)
    shows = f"On {PAIRWISE} the whole interval of {better} of {len(usable)} models is above chance."
    return [made], [shows if usable else f"{PAIRWISE} was chosen in too few conversations for a claim."]


def _wins(study: ScoreTable) -> list[Counter[str]]:
    """For each two variants how often people preferred which in PW12."""
    wins: dict[frozenset[str], Counter[str]] = defaultdict(Counter)
    for truth in study.truths():
        for turn in () if truth is None else truth["turns"]:
            for question, a, b, winner in turn["comparisons"]:
                if question == PAIRWISE and winner is not None:
                    wins[frozenset((str(a), str(b)))][str(a if winner == "A" else b)] += 1
    return list(wins.values())
