"""What replies did and what people would have wanted: base rates of every binary question, and by category."""

from __future__ import annotations

from collections.abc import Sequence

from attunebench.analyses.common import counted
from attunebench.analyses.model import SMALL, Analysis, Cell, Chart, Column, Table
from attunebench.codebook import Codebook
from attunebench.conversations.schema import BinaryJudgement, YesNoNa
from attunebench.datasets.describing.tables import WILSON, Data, person_of, share

Judged = dict[str, list[tuple[str, BinaryJudgement]]]
"""Question → (whose it is, judgement)."""
_ANSWERS: tuple[tuple[YesNoNa | None, str], ...] = (("yes", "yes"), ("no", "no"), ("na", "na"), (None, "open"))
_RATES = (
    Column("observed", "Observed: yes", "share", "share of yes among yes and no: the reply did it", digits=2),
    Column(
        "preferred",
        "Preferred: yes",
        "share",
        "share of yes among yes and no: the person would have wanted it",
        digits=2,
    ),
    Column("gap", "Gap", "share", "observed minus preferred, over judgements in which both are yes or no", digits=2),
)


def describe(data: Data) -> Analysis:
    """Per question and per category the shares of yes, and of each question all answers."""
    judged: Judged = {question: [] for question in data.codebook.binary}
    for conversation in data.conversations:
        person = person_of(conversation)
        for turn in conversation.turns:
            for judgement in turn.judgements:
                judged[judgement.question_id].append((person, judgement))
    questions = _by_question(judged, data.codebook)
    n, asked = sum(map(len, judged.values())), sum(map(bool, judged.values()))
    return Analysis(
        "binary",
        "Binary questions",
        "How often did replies do what was asked about, and how often would people have wanted it?",
        shows=_shows(questions, n, asked),
        tables=(questions, _by_category(judged, data.codebook), _answers(judged)),
        cannot="What people would have wanted is what they said after the reply had been given.",
    )


def _rates(judgements: Sequence[tuple[str, BinaryJudgement]]) -> tuple[Cell, Cell, Cell]:
    """The cells of `_RATES`."""
    decided = ("yes", "no")
    both = [j for _, j in judgements if j.observed in decided and j.preferred in decided]
    gap = sum((j.observed == "yes") - (j.preferred == "yes") for j in both)
    return (
        share((person, j.observed == "yes") for person, j in judgements if j.observed in decided),
        share((person, j.preferred == "yes") for person, j in judgements if j.preferred in decided),
        Cell(gap / len(both) if both else None, n=len(both)),
    )


def _by_question(judged: Judged, codebook: Codebook) -> Table:
    rows = [
        (Cell(question), Cell(codebook.binary[question].observer_text), *_rates(judgements))
        for question, judgements in judged.items()
    ]
    return Table(
        "questions",
        "Base rates by question",
        (Column("question", "ID", "text"), Column("text", "Question", "text"), *_RATES),
        tuple(rows),
        caption=f"Shares of yes among yes and no, each with its n (judged turns); {WILSON}. Gap: observed minus "
        "preferred over turns where both are yes or no; above 0 the reply does it more often than people want it.",
        chart=Chart("dumbbells", "question", ("observed", "preferred"), axis="Share of yes"),
    )


def _by_category(judged: Judged, codebook: Codebook) -> Table:
    categories: dict[str, list[str]] = {}
    for question, entry in codebook.binary.items():
        categories.setdefault(entry.category, []).append(question)
    rows = []
    for category, questions in (*categories.items(), ("all", list(codebook.binary))):
        judgements = [judgement for question in questions for judgement in judged[question]]
        rows.append((Cell(category), Cell(len(questions)), Cell(len(judgements)), *_rates(judgements)))
    return Table(
        "categories",
        "Base rates by question category",
        (
            Column("category", "Category", "text"),
            Column("questions", "Questions", "count"),
            Column("judgements", "Judgements", "count"),
            *_RATES,
        ),
        tuple(rows),
        caption=f"Over all judgements of a category's questions; {WILSON}.",
    )


def _answers(judged: Judged) -> Table:
    sides = {"observed": "Obs.", "preferred": "Pref."}
    columns = [
        Column(f"{side}_{name}", f"{short} {name}", "count") for side, short in sides.items() for _, name in _ANSWERS
    ]
    rows = []
    for question, judgements in judged.items():
        counts = [sum(getattr(j, side) == answer for _, j in judgements) for side in sides for answer, _ in _ANSWERS]
        rows.append((Cell(question), Cell(len(judgements)), *map(Cell, counts)))
    return Table(
        "answers",
        "All answers by question",
        (Column("question", "ID", "text"), Column("judged", "Judged turns", "count"), *columns),
        tuple(rows),
        caption="Obs.: observed, pref.: preferred. “na”: the question does not apply. “open”: no truth, in no "
        "denominator.",
    )


def _shows(questions: Table, n: int, asked: int) -> str:
    """The widest gap among the questions that were judged often enough to say so."""
    text = f"{n:,} judgements of {counted(asked, 'question')}."
    gaps = [(row[0].value, row[-1].value, row[-1].n) for row in questions.rows]
    wide = [
        (abs(gap), question, gap, of)
        for question, gap, of in gaps
        if isinstance(gap, float) and of is not None and of >= SMALL
    ]
    if not wide:
        return text
    size, question, gap, of = max(wide, key=lambda one: one[0])
    way = "more" if gap > 0 else "less"
    return (
        f"{text} The widest gap is that of {question}: replies do it {way} often than people want it, by "
        f"{size:.2f} (n {of})."
        if size
        else text
    )
