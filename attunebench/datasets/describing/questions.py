"""Questions about replies: what replies did, what people would have wanted, and which replies they preferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations

from attunebench.analyses.base import SMALL
from attunebench.analyses.table import Analysis, Cell, Chart, Filled, Table, column, counts, table, words
from attunebench.analyses.verdicts import counted
from attunebench.constants import REPLY_VARIANTS
from attunebench.conversations.schema import BinaryJudgement, Comparison
from attunebench.datasets.describing.tables import WILSON, Data, share

_VARIANT = {"original": "Original", "alternate": "Alternate", "human": "Human-edited"}

_shares = partial(column, unit="share", digits=2)

Judged = Sequence[tuple[str, BinaryJudgement]]
"""(Whose it is, judgement)."""


def binary(data: Data) -> Analysis:
    """Base rates of the binary questions, per question and category."""
    judged: dict[str, list[tuple[str, BinaryJudgement]]] = {question: [] for question in data.codebook.binary}
    for person, turn in data.turns:
        for judgement in turn.judgements:
            judged[judgement.question_id].append((person, judgement))
    questions = table(
        "questions",
        "Base rates by question",
        words("question", judged, "ID"),
        words("text", (data.codebook.binary[question].observer_text for question in judged), "Question"),
        *_rates(list(judged.values())),
        caption=f"Shares of yes among yes and no, each with its n (judged turns); {WILSON}. Gap: observed minus "
        "preferred over turns where both are yes or no; above 0, replies do it more often than people want.",
        chart=Chart("dumbbells", "question", ("observed", "preferred"), axis="Share of yes"),
    )
    n, asked = sum(map(len, judged.values())), sum(map(bool, judged.values()))
    return Analysis(
        "binary",
        "Binary questions",
        "How often did replies show each behaviour, and how often did people want it?",
        shows=f"{n:,} judgements of {counted(asked, 'question')}.{_widest_gap(questions)}",
        tables=(questions, _by_category(data, judged)),
        cannot="People stated what they wanted after they had seen the reply.",
    )


def _rates(groups: Sequence[Judged]) -> list[Filled]:
    """Columns with the shares of yes of each group of judgements, and their difference."""
    decided = ("yes", "no")
    observed = [share((p, j.observed == "yes") for p, j in group if j.observed in decided) for group in groups]
    preferred = [share((p, j.preferred == "yes") for p, j in group if j.preferred in decided) for group in groups]
    gaps = []
    for group in groups:
        both = [j for _, j in group if j.observed in decided and j.preferred in decided]
        gap = sum((j.observed == "yes") - (j.preferred == "yes") for j in both)
        gaps.append(Cell(gap / len(both) if both else None, n=len(both)))
    among = "share of yes among yes and no: "
    return [
        _shares("observed", observed, "Observed: yes", meaning=f"{among}the reply did it"),
        _shares("preferred", preferred, "Preferred: yes", meaning=f"{among}the person wanted it"),
        _shares("gap", gaps, "Gap", meaning="observed minus preferred, where both are yes or no"),
    ]


def _by_category(data: Data, judged: Mapping[str, Judged]) -> Table:
    categories: dict[str, list[str]] = {}
    for question, entry in data.codebook.binary.items():
        categories.setdefault(entry.category, []).append(question)
    categories["all"] = list(judged)
    groups = [[one for question in questions for one in judged[question]] for questions in categories.values()]
    return table(
        "categories",
        "Base rates by question category",
        words("category", categories, "Category"),
        counts("questions", map(len, categories.values()), "Questions"),
        counts("judgements", map(len, groups), "Judgements"),
        *_rates(groups),
        caption=f"Over all judgements of a category's questions; {WILSON}.",
    )


def _widest_gap(questions: Table) -> str:
    """The widest gap among the questions that were judged often enough to say so."""
    gaps = [(row[0].value, row[-1].value, row[-1].n or 0) for row in questions.rows]
    wide = [(abs(gap), question, gap, n) for question, gap, n in gaps if isinstance(gap, float) and n >= SMALL]
    size, question, gap, n = max(wide, key=lambda one: one[0], default=(0.0, "", 0.0, 0))
    if not size:
        return ""
    way = "more" if gap > 0 else "less"
    return f" {question} has the widest gap: replies do it {way} often than people want it, by {size:.2f} (n {n})."


Made = Sequence[tuple[str, Comparison]]
"""(Whose it is, comparison)."""


def pairwise(data: Data) -> Analysis:
    """Win shares of the replies by question and by pair."""
    made = [(person, comparison) for person, turn in data.turns for comparison in turn.comparisons]
    shares = {variant: _wins(variant, made).value for variant in REPLY_VARIANTS}
    known = {variant: value for variant, value in shares.items() if isinstance(value, float)}
    best = max(known, key=lambda variant: known[variant], default=None)
    return Analysis(
        "pairwise",
        "Preferred replies",
        "Which of the three replies did people prefer?",
        shows=f"{counted(len(made), 'comparison')}, {sum(c.winner is None for _, c in made):,} without a winner."
        + (
            f" {_VARIANT[best]} replies win most often, in {known[best]:.3f} of their comparisons."
            if best is not None
            else ""
        ),
        tables=(_wins_by_question(data, made), _wins_by_pair(made)),
    )


def _wins(variant: str, comparisons: Made) -> Cell:
    """Wins of a variant among the decided comparisons that it is in."""
    return share(
        (person, (c.a if c.winner == "A" else c.b) == variant)
        for person, c in comparisons
        if c.winner is not None and variant in (c.a, c.b)
    )


def _wins_by_question(data: Data, made: Made) -> Table:
    grouped = {question: [one for one in made if one[1].question_id == question] for question in data.codebook.pairwise}
    groups = {"all": made} | {question: theirs for question, theirs in grouped.items() if theirs}
    open_ones = {question: sum(c.winner is None for _, c in theirs) for question, theirs in groups.items()}
    undecided = [f"{question} {n}" for question, n in open_ones.items() if n and question != "all"]
    texts = {"all": "all questions", **data.codebook.pairwise}
    return table(
        "questions",
        "Wins by question",
        words("question", groups, "ID"),
        words("text", (texts[question] or "" for question in groups), "Question"),
        *(_shares(name, [_wins(name, made) for made in groups.values()], _VARIANT[name]) for name in REPLY_VARIANTS),
        caption=f"Share of its decided comparisons that a variant wins, with n; chance is 0.5. {WILSON}.",
        notes=(f"Comparisons without a winner: {', '.join(undecided)}.",) if undecided else (),
    )


def _wins_by_pair(made: Made) -> Table:
    pairs = list(combinations(reversed(REPLY_VARIANTS), 2))
    general = [one for one in made if one[1].question_id == "general"]

    def wins(comparisons: Made) -> list[Cell]:
        return [
            _wins(one, [made for made in comparisons if {made[1].a, made[1].b} == {one, two}]) for one, two in pairs
        ]

    return table(
        "pairs",
        "Wins by pair",
        words("pair", (f"{_VARIANT[one]} over {_VARIANT[two].lower()}" for one, two in pairs), "Pair"),
        _shares("all", wins(made), "All questions"),
        _shares("general", wins(general), "General preference"),
        caption=f"Share of the decided comparisons of the two that the first one wins, with n; {WILSON}.",
    )
