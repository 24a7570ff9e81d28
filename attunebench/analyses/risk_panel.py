"""The risk panel: moral judgement, signs of risk, emergency help and alarm (B14, B17, B18, B20), and risk in PW12.

Such answers are mostly one and the same, so accuracy says little: each side of a question gets its own hit rate, with
an interval that holds for few events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject
from attunebench.analyses.sampling import cells_of, ratio
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, table, words
from attunebench.analyses.verdicts import listed, with_interval
from attunebench.analyses.within import View
from attunebench.scores.table import TRUTH_OF_BLOCK, Block
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.intervals import clustered_wilson

QUESTIONS = ("B14", "B17", "B18", "B20")
PAIRWISE = "PW12"
_LABELS: dict[Block, str] = {"binary_om": "Binary OM", "binary_hp": "Binary HP"}


class _Question(NamedTuple):
    """One question from one side: labels (turns,) and right answers (turns, models)."""

    id: str
    block: Block
    truth: Floats
    right: Floats

    @property
    def side(self) -> str:
        return _LABELS[self.block]


def analyse(subject: Subject) -> Analysis:
    """Base rates, sensitivity and specificity per question and model, and the choice of replies that answer risk."""
    view = View.of_models(subject)
    study = view.study
    labels = {block: (study.truth_binary(TRUTH_OF_BLOCK[block]), study.right(block)) for block in _LABELS}
    places = [(name, study.questions.index(name)) for name in QUESTIONS if name in study.questions]
    questions = [
        _Question(name, block, truth[:, place], right[:, place])
        for block, (truth, right) in labels.items()
        for name, place in places
        if not np.isnan(right[:, place]).all()
    ]
    pairwise, chosen = _pairwise(view)
    if not questions and not pairwise:
        raise Missing(f"These scores contain no labels or answers for {', '.join((*QUESTIONS, PAIRWISE))}.")
    return Analysis(
        tables=(*(_binary(view, questions) if questions else ()), *pairwise),
        shows=" ".join((*(_blind_spots(view, questions) if questions else ()), *chosen)),
        notes=(
            "Wilson intervals use the effective number of independent answers, because answers within a conversation "
            "are correlated. Claims use intervals that are simultaneous over all rates (Bonferroni).",
        ),
    )


def _rates(view: View, one: _Question, answers: Sequence[float], level: float | None = None) -> list[Cell]:
    """The share of people's yes (1), no (0) or both that each model gives."""
    chosen = np.isin(one.truth, answers)
    turns = within.turns_of(view.study, np.flatnonzero(chosen).tolist())
    drills = view.drills(question=one.id, block=one.block, turns=turns)
    return _wilson_cells(view, np.where(chosen[:, None], one.right, np.nan), level, drills)


def _wilson_cells(
    view: View, values: Floats, level: float | None = None, drills: Sequence[Drill] | None = None
) -> list[Cell]:
    """Shares of rare events over (turns, columns): Wilson intervals, see `clustered_wilson`; n counts conversations."""
    above, below = view.sums(values)
    units = np.arange(len(above), dtype=np.intp) if view.clusters is None else view.clusters
    low, high = clustered_wilson(above, below, units, level or view.settings.level)
    small = view.small(np.where(below > 0, above, np.nan))
    return cells_of(ratio(above.sum(axis=0), below.sum(axis=0)), low, high, (below > 0).sum(axis=0), small, drills)


def _binary(view: View, questions: Sequence[_Question]) -> tuple[Table, Table]:
    """How often people answered yes, and how often models find people's yes and no."""
    base = [_wilson_cells(view, one.truth[:, None])[0] for one in questions]
    yes, no = ([int((one.truth == answer).sum()) for one in questions] for answer in (1, 0))
    yes_found, no_found, right = (
        [cell for one in questions for cell in _rates(view, one, answers)] for answers in ((1,), (0,), (0, 1))
    )
    front = [
        words("question", [one.id for one in questions]),
        words("side", [one.side for one in questions]),
        counts("yes_labels", yes, "yes", "Turns on which people answered yes."),
        counts("no_labels", no, "no", "Turns on which people answered no."),
    ]
    question, side, yes_labels, no_labels = (one.repeated(view.width) for one in front)
    intervals = f"{100 * view.settings.level:g} % Wilson intervals."
    return table(
        "base-rates",
        "How often people answered yes",
        *front[:2],
        words("asks", [within.wording(one.id) for one in questions]),
        counts("n", [cell.n for cell in base], "conversations"),
        *front[2:],
        column("yes", base, "share of yes", "share", "Base rate."),
        caption=f"{view.turns_sample}. Binary OM: what the reply did; Binary HP: what the person wanted. If one "
        f"answer is rare, a model that never gives it still looks accurate. {intervals}",
    ), table(
        "rates",
        "Sensitivity and specificity",
        question,
        side,
        words("model", view.labels * len(questions)),
        counts("n", [cell.n for cell in right], "conversations"),
        yes_labels,
        column(
            "sensitivity", yes_found, "", "share", "Share of people's yes answers that the model predicts.", better=True
        ),
        no_labels,
        column(
            "specificity", no_found, "", "share", "Share of people's no answers that the model predicts.", better=True
        ),
        column("accuracy", right, "", "share", better=True),
        caption=f"{view.turns_sample}; unanswered counts as wrong. n counts conversations with such a label. "
        f"{intervals}",
        chart=Chart(
            *("heatmap", "side", ("sensitivity",), "Share of people's yes answers that a model predicts"),
            axis="sensitivity",
            lines={"half": 0.5},
            across="model",
        ),
    )


def _blind_spots(view: View, questions: Sequence[_Question]) -> list[str]:
    """Who misses more than half of people's answers, by intervals that hold for all at once."""
    together = 1 - (1 - view.settings.level) / (2 * len(_LABELS) * len(QUESTIONS) * view.width)
    usable = [
        (f"{label} on people's {answer} to {one.id} ({one.side})", cell)
        for one in questions
        for answer, value in (("yes", 1), ("no", 0))
        for label, cell in zip(view.labels, _rates(view, one, (value,), together), strict=True)
        if not cell.small and cell.high is not None
    ]
    blind = [f"{name} ({with_interval(cell)})" for name, cell in usable if cell.high is not None and cell.high < 0.5]
    few = view.settings.small
    rare = sorted({one.id for one in questions if min((one.truth == 1).sum(), (one.truth == 0).sum()) < few})
    said = f"Below 0.5: {listed(blind)}." if blind else "No sensitivity or specificity is significantly below 0.5."
    if not usable:
        said = "These answers occur in too few conversations for a claim."
    return [said, *([f"{listed(rare)}: fewer than {few} yes labels or fewer than {few} no labels."] if rare else [])]


def _pairwise(view: View) -> tuple[list[Table], list[str]]:
    """Choices on PW12 per model, beside the variant that people choose most often of each two; and a sentence."""
    names, right, counted = within.pairwise_right(view.study)
    place = names.index(PAIRWISE) if PAIRWISE in names else -1
    if place < 0 or not counted[:, place].any():
        return [], []
    above, below = (view.sums(part[:, place])[0] for part in (right, counted))
    turns = within.turns_of(view.study, np.flatnonzero(counted[:, place].any(axis=1)).tolist())
    cells = view.rates(above, below, view.drills("pairwise_accuracy", turns=turns), right=True)
    comparisons = [
        (frozenset((a, b)), a if winner == "A" else b)
        for truth in view.study.truths()
        for turn in (truth["turns"] if truth else ())
        for question, a, b, winner in turn["comparisons"]
        if question == PAIRWISE and winner is not None
    ]
    wins = {pair: Counter(winner for of, winner in comparisons if of == pair) for pair, _ in comparisons}
    frequent = sum(max(of_pair.values()) for of_pair in wins.values()) / len(comparisons)
    made = table(
        "pw12",
        "Which reply responds better to possible risk (PW12)",
        words("model", [*view.labels, Cell("more frequent winner", mark="reference")]),
        counts("n", [*(cell.n for cell in cells), None], "conversations"),
        counts("comparisons", [*(round(float(n)) for n in below.sum(axis=0)), len(comparisons)]),
        column("accuracy", [*cells, frequent], "", "share", "Share of comparisons.", better=True),
        caption="Only turns for which people chose this question. The last row always picks the variant that people "
        "prefer more often; it is computed on the same comparisons and therefore slightly optimistic.",
        chart=Chart("intervals", "model", ("accuracy",), "Choice under risk (PW12)", "accuracy", {"chance": 0.5}),
    )
    usable = [cell for cell in cells if not cell.small and cell.low is not None]
    better = sum(cell.low is not None and cell.low > 0.5 for cell in usable)
    shows = f"On {PAIRWISE}, the whole interval is above chance for {better} of {len(usable)} models."
    return [made], [shows if usable else f"{PAIRWISE} occurs in too few conversations for a claim."]
