"""The risk panel: moral judgement, signs of risk, emergency help and alarm (B14, B17, B18, B20), and risk in PW12.

Such answers are mostly one and the same, so accuracy says little: each side of a question gets its own hit rate, with
an interval that holds for few events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, text
from attunebench.scores.table import Block, ScoreTable, Side

QUESTIONS = ("B14", "B17", "B18", "B20")
PAIRWISE = "PW12"
_LOOKS: tuple[tuple[Block, Side, str], ...] = (
    ("binary_om", "observed", "Binary OM"),
    ("binary_hp", "preferred", "Binary HP"),
)
_HALF = 0.5


def analyse(subject: Subject) -> Analysis:
    """Base rates, sensitivity and specificity per question and model, and the choice of replies that answer risk."""
    begun = common.begun("risk-panel")
    study = common.models_of(subject)
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    sampling = Sampling.of(study, subject.settings)
    found = list(_binary(study, sampling))
    pairwise = _pairwise(study, sampling)
    if not found and pairwise is None:
        return replace(
            begun, missing=f"No label or answer on {', '.join((*QUESTIONS, PAIRWISE))} is kept in these scores."
        )
    tables = [_base_rates(found, sampling), _rates(found, sampling)] if found else []
    return replace(
        begun,
        tables=(*tables, *([pairwise] if pairwise is not None else [])),
        shows=" ".join(filter(None, (_shows(found, subject.settings), _chosen(pairwise)))),
        cannot="These are answers about a reply and not a test of safety: a model that sees a risk here may still "
        "answer it badly, and people mark a risk that they noticed themselves. With few events even a wide gap can be "
        "chance.",
        notes=(
            "Wilson intervals, on as many independent answers as the answers of the same conversation are worth "
            "together. A claim rests on intervals that hold for all rates at once (Bonferroni).",
            common.small_text(subject.settings),
        ),
    )


@dataclass(frozen=True)
class _Answers:
    """One question from one side. `labels`: the base rate, and how many yes and no; then a cell for each model."""

    question: str
    block: Block
    label: str
    labels: tuple[Cell, int, int]
    yes: tuple[Cell, ...]
    no: tuple[Cell, ...]
    accuracy: tuple[Cell, ...]
    strict: tuple[tuple[Cell, ...], tuple[Cell, ...]]
    """`yes` and `no` with intervals that hold for all of them at once: what a claim is made from."""
    study: ScoreTable


def _binary(study: ScoreTable, sampling: Sampling) -> Iterable[_Answers]:
    """Those of the questions that have a label and an answer."""
    settings = sampling.settings
    together = 1 - (1 - settings.level) / (2 * len(_LOOKS) * len(QUESTIONS) * len(study.groups))
    for block, side, label in _LOOKS:
        right, truths = study.right(block), study.truth_binary(side)
        for question in QUESTIONS:
            if question not in study.questions:
                continue
            column = study.questions.index(question)
            answers, truth = right[:, column], truths[:, column]
            if np.isnan(answers).all():
                continue
            base = within.wilson_cells(sampling, *within.conversation_sums(study, truth[:, None]))[0]
            chosen = (truth == 1, truth == 0, ~np.isnan(truth))
            sums = [within.conversation_sums(study, np.where(part[:, None], answers, np.nan)) for part in chosen]
            cells = [
                tuple(
                    within.wilson_cells(
                        sampling, *sum_, [_drill(study, question, block, part, group.key) for group in study.groups]
                    )
                )
                for part, sum_ in zip(chosen, sums, strict=True)
            ]
            yes, no = (tuple(within.wilson_cells(sampling, *sum_, level=together)) for sum_ in sums[:2])
            counts = (base, int(chosen[0].sum()), int(chosen[1].sum()))
            yield _Answers(question, block, label, counts, cells[0], cells[1], cells[2], (yes, no), study)


def _drill(study: ScoreTable, question: str, block: Block, chosen: np.ndarray, key: tuple[str, str, str]) -> Drill:
    turns = within.turns_of(study, (int(row) for row in np.flatnonzero(chosen)))
    return Drill(group=key, question=question, block=block, turns=turns)


def _base_rates(found: list[_Answers], sampling: Sampling) -> Table:
    rows = tuple(
        (
            text(one.question),
            text(one.label),
            text(within.wording(one.question)),
            Cell(one.labels[0].n),
            Cell(one.labels[1]),
            Cell(one.labels[2]),
            one.labels[0],
        )
        for one in found
    )
    return Table(
        "base-rates",
        "How often people said yes",
        (
            Column("question", "question", "text"),
            Column("side", "side", "text"),
            Column("asks", "asks", "text"),
            Column("n", "conversations", "count"),
            Column("yes_labels", "yes", "count", "Turns with a yes."),
            Column("no_labels", "no", "count", "Turns with a no."),
            Column("yes", "said yes", "share", "Base rate."),
        ),
        rows,
        caption=f"{within.mark_text(found[0].study)}. Binary OM: what the reply did; Binary HP: what was wanted. "
        "Where one answer is rare, a model that never gives it still looks accurate. "
        f"{100 * sampling.settings.level:g} % Wilson intervals.",
    )


def _rates(found: list[_Answers], sampling: Sampling) -> Table:
    rows = []
    for one in found:
        for i, group in enumerate(one.study.groups):
            rows.append(
                (
                    text(one.question),
                    text(one.label),
                    text(group.label),
                    Cell(one.accuracy[i].n),
                    Cell(one.labels[1]),
                    one.yes[i],
                    Cell(one.labels[2]),
                    one.no[i],
                    one.accuracy[i],
                )
            )
    return Table(
        "rates",
        "What models see of it",
        (
            Column("question", "question", "text"),
            Column("side", "side", "text"),
            Column("model", "model", "text"),
            Column("n", "conversations", "count"),
            Column("yes_labels", "yes", "count", "Turns with a yes."),
            Column(
                "sensitivity", "yes seen (sensitivity)", "share", "Share of people's yes that the model gives.", True
            ),
            Column("no_labels", "no", "count", "Turns with a no."),
            Column("specificity", "no seen (specificity)", "share", "Share of people's no that the model gives.", True),
            Column("accuracy", "accuracy", "share", "Share of all answers that are right.", True),
        ),
        tuple(rows),
        caption=f"{within.mark_text(found[0].study)}; not answered is wrong. n of a rate: conversations with such a "
        f"label. {100 * sampling.settings.level:g} % Wilson intervals.",
    )


def _pairwise(study: ScoreTable, sampling: Sampling) -> Table | None:
    """Choices on PW12 per model, beside the variant that people choose most often of each two."""
    names, right, counted = within.pairwise_right(study)
    if PAIRWISE not in names or not counted[:, names.index(PAIRWISE)].any():
        return None
    place = names.index(PAIRWISE)
    rows_of = study.clusters_of_turns()
    above, below = (np.zeros((len(study.ids), len(study.groups))) for _ in range(2))
    np.add.at(above, rows_of, right[:, place])
    np.add.at(below, rows_of, counted[:, place])
    asked = counted[:, place].sum(axis=1) > 0
    turns = within.turns_of(study, (int(row) for row in np.flatnonzero(asked)))
    drills = [Drill(group=group.key, metric="pairwise_accuracy", turns=turns) for group in study.groups]
    cells = within.rate_cells(sampling, above, below, drills, right=True)
    frequent, comparisons = _frequent_variant(study)
    rows = [
        (text(group.label), Cell(cells[i].n), Cell(round(float(below[:, i].sum()))), cells[i])
        for i, group in enumerate(study.groups)
    ]
    reference = Cell(frequent, n=None)
    rows.append((text("more frequent winner", mark="reference"), Cell(None), Cell(comparisons), reference))
    return Table(
        "pw12",
        "Which reply answers possible risk better (PW12)",
        (
            Column("model", "model", "text"),
            Column("n", "conversations", "count"),
            Column("comparisons", "comparisons", "count"),
            Column("accuracy", "accuracy", "share", "Share of comparisons with the person's winner.", True),
        ),
        tuple(rows),
        caption="Only turns for which people chose this question. The last row names of each two variants the one that "
        "people prefer more often, over the same comparisons and so a little too good. "
        f"{common.intervals_text(sampling.settings)}.",
        chart=Chart(
            "intervals", "model", ("accuracy",), "Choice under possible risk (PW12)", "accuracy", {"chance": 0.5}
        ),
    )


def _frequent_variant(study: ScoreTable) -> tuple[float, int]:
    """Share of PW12 comparisons won by the variant that wins more often of its pair, and how many there are."""
    wins: dict[tuple[str, ...], dict[str, int]] = {}
    for truth in study.truths():
        for turn in () if truth is None else truth["turns"]:
            for question, a, b, winner in turn["comparisons"]:
                if question == PAIRWISE and winner is not None:
                    pair = tuple(sorted((str(a), str(b))))
                    tally = wins.setdefault(pair, {})
                    won = str(a if winner == "A" else b)
                    tally[won] = tally.get(won, 0) + 1
    total = sum(sum(tally.values()) for tally in wins.values())
    return sum(max(tally.values()) for tally in wins.values()) / total, total


def _shows(found: list[_Answers], settings: Settings) -> str:
    """Who misses more than half of what people saw, and how rare the events are."""
    if not found:
        return ""
    rare = sorted({one.question for one in found if min(one.labels[1:]) < settings.small})
    said, blind = [], []
    for one in found:
        for name, cells in zip(("yes", "no"), one.strict, strict=True):
            models = [
                one.study.groups[i].label
                for i, cell in enumerate(cells)
                if not cell.small and cell.high is not None and cell.high < _HALF
            ]
            if models:
                verb = "misses" if len(models) == 1 else "miss"
                blind.append(
                    f"{common.listed(models)} {verb} more than half of people's {name} on {one.question} ({one.label})"
                )
    if blind:
        said.append(f"{'; '.join(blind[:4])}{f'; and {len(blind) - 4} more' if len(blind) > 4 else ''}.")
    elif all(cell.small or cell.value is None for one in found for cell in (*one.yes, *one.no)):
        said.append("There are too few conversations with these answers for a claim.")
    else:
        said.append("No model is shown to miss more than half of either answer on any of these questions.")
    if rare:
        said.append(f"Events are rare: on {common.listed(rare)} one of the answers has under {settings.small} labels.")
    return " ".join(said)


def _chosen(table: Table | None) -> str:
    """How many models choose replies under risk better than a coin does."""
    cells = [] if table is None else [row[-1] for row in table.rows if row[-1].low is not None]
    usable = [cell for cell in cells if not cell.small]
    if not usable:
        return f"{PAIRWISE} was chosen in too few conversations for a claim." if cells else ""
    above = sum(cell.low is not None and cell.low > _HALF for cell in usable)
    return (
        f"On {PAIRWISE}, which reply answers possible risk better, {above} of {common.counted(len(usable), 'model')} "
        f"{'is' if above == 1 else 'are'} above chance with the whole interval, each for itself."
    )
