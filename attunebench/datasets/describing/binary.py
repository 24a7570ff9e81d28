"""What replies did and what people would have wanted: base rates of every binary question, and by category."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attunebench.analyses.common import counted
from attunebench.analyses.model import SMALL, Analysis, Cell, Chart, Column, Table
from attunebench.codebook import Codebook
from attunebench.conversations.schema import BinaryJudgement, YesNoNa
from attunebench.datasets.describing.tables import WILSON, Data, share

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
    judged: dict[str, list[BinaryJudgement]] = {question: [] for question in data.codebook.binary}
    for conversation in data.conversations:
        for turn in conversation.turns:
            for judgement in turn.judgements:
                judged[judgement.question_id].append(judgement)
    everything = [judgement for theirs in judged.values() for judgement in theirs]
    asked = sum(bool(theirs) for theirs in judged.values())
    return Analysis(
        "binary",
        "Binary questions",
        "How often did replies do what was asked about, and how often would people have wanted it?",
        shows=_shows(judged, len(everything), asked),
        tables=(_by_question(judged, data.codebook), _by_category(judged, data.codebook), _answers(judged)),
        cannot="Turns of one conversation are alike: an interval over turns is too narrow rather than too wide.",
    )


@dataclass(frozen=True, slots=True)
class _Rates:
    """Counts of one list of judgements; `both` are those where both answers are yes or no."""

    observed: int
    of_observed: int
    preferred: int
    of_preferred: int
    gap: int
    both: int

    @classmethod
    def of(cls, judgements: Iterable[BinaryJudgement]) -> _Rates:
        decided = ("yes", "no")
        judgements = list(judgements)
        both = [j for j in judgements if j.observed in decided and j.preferred in decided]
        return cls(
            observed=sum(j.observed == "yes" for j in judgements),
            of_observed=sum(j.observed in decided for j in judgements),
            preferred=sum(j.preferred == "yes" for j in judgements),
            of_preferred=sum(j.preferred in decided for j in judgements),
            gap=sum((j.observed == "yes") - (j.preferred == "yes") for j in both),
            both=len(both),
        )

    @property
    def cells(self) -> tuple[Cell, Cell, Cell]:
        return (
            share(self.observed, self.of_observed),
            share(self.preferred, self.of_preferred),
            Cell(self.gap / self.both if self.both else None, n=self.both),
        )


def _by_question(judged: dict[str, list[BinaryJudgement]], codebook: Codebook) -> Table:
    rows = [
        (Cell(question), Cell(codebook.binary[question].observer_text), *_Rates.of(judgements).cells)
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


def _by_category(judged: dict[str, list[BinaryJudgement]], codebook: Codebook) -> Table:
    categories: dict[str, list[str]] = {}
    for question, entry in codebook.binary.items():
        categories.setdefault(entry.category, []).append(question)
    rows = []
    for category, questions in (*categories.items(), ("all", list(codebook.binary))):
        judgements = [judgement for question in questions for judgement in judged[question]]
        rows.append((Cell(category), Cell(len(questions)), Cell(len(judgements)), *_Rates.of(judgements).cells))
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


def _answers(judged: dict[str, list[BinaryJudgement]]) -> Table:
    sides = {"observed": "Obs.", "preferred": "Pref."}
    columns = [
        Column(f"{side}_{name}", f"{short} {name}", "count") for side, short in sides.items() for _, name in _ANSWERS
    ]
    rows = []
    for question, judgements in judged.items():
        counts = [sum(getattr(j, side) == answer for j in judgements) for side in sides for answer, _ in _ANSWERS]
        rows.append((Cell(question), Cell(len(judgements)), *map(Cell, counts)))
    return Table(
        "answers",
        "All answers by question",
        (Column("question", "ID", "text"), Column("judged", "Judged turns", "count"), *columns),
        tuple(rows),
        caption="Obs.: observed, pref.: preferred. “na”: the question does not apply. “open”: no truth, in no "
        "denominator.",
    )


def _shows(judged: dict[str, list[BinaryJudgement]], n: int, asked: int) -> str:
    text = f"{n:,} judgements of {counted(asked, 'question')}."
    gaps = {question: _Rates.of(judgements) for question, judgements in judged.items()}
    wide = [(abs(rates.gap) / rates.both, question) for question, rates in gaps.items() if rates.both >= SMALL]
    if not any(size for size, _ in wide):
        return text
    size, question = max(wide, key=lambda one: one[0])
    way = "more" if gaps[question].gap > 0 else "less"
    return (
        f"{text} The widest gap is that of {question}: replies do it {way} often than people want it, by "
        f"{size:.3f} (n {gaps[question].both})."
    )
