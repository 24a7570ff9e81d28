"""Which replies people preferred: wins by variant, question and pair, and whether a letter was favoured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from attunebench.analyses.common import counted
from attunebench.analyses.model import Analysis, Cell, Column, Table
from attunebench.codebook import Codebook
from attunebench.constants import REPLY_VARIANTS
from attunebench.conversations.schema import Comparison
from attunebench.datasets.describing.tables import WILSON, Data, person_of, share

Made = Sequence[tuple[str, Comparison]]
"""(Whose it is, comparison)."""
_VARIANT = {"original": "Original", "alternate": "Alternate", "human": "Human-edited"}


def describe(data: Data) -> Analysis:
    """Win shares by question, by pair, and the balance of the letters."""
    made = [
        (person_of(conversation), comparison)
        for conversation in data.conversations
        for turn in conversation.turns
        for comparison in turn.comparisons
    ]
    shares = {variant: _wins(variant, made) for variant in REPLY_VARIANTS}
    known = {variant: cell for variant, cell in shares.items() if isinstance(cell.value, float)}
    best = max(known, key=lambda variant: known[variant].value or 0.0, default=None)
    return Analysis(
        "pairwise",
        "Preferred replies",
        "Which of the three replies did people prefer?",
        shows=f"{counted(len(made), 'comparison')}, {sum(c.winner is None for _, c in made):,} without a winner."
        + (
            f" {_VARIANT[best]} replies win most often: {known[best].value:.3f} of those they are in."
            if best is not None
            else ""
        ),
        tables=(_by_question(made, data.codebook), _by_pair(made), _letters(made)),
    )


def _winner(comparison: Comparison) -> str | None:
    if comparison.winner is None:
        return None
    return comparison.a if comparison.winner == "A" else comparison.b


def _wins(variant: str, comparisons: Made) -> Cell:
    """Wins of a variant among the decided comparisons that it is in."""
    return share(
        (person, _winner(c) == variant) for person, c in comparisons if c.winner is not None and variant in (c.a, c.b)
    )


def _by_question(made: Made, codebook: Codebook) -> Table:
    asked = [question for question in codebook.pairwise if any(c.question_id == question for _, c in made)]
    rows = []
    for question in ("all", *asked):
        theirs = [one for one in made if question in ("all", one[1].question_id)]
        text = "all questions" if question == "all" else codebook.pairwise[question] or ""
        rows.append((Cell(question), Cell(text), *(_wins(variant, theirs) for variant in REPLY_VARIANTS)))
    open_ones = Counter(c.question_id for _, c in made if c.winner is None)
    undecided = [f"{question} {open_ones[question]}" for question in asked if open_ones[question]]
    return Table(
        "questions",
        "Wins by question",
        (
            Column("question", "ID", "text"),
            Column("text", "Question", "text"),
            *(Column(variant, _VARIANT[variant], "share", digits=2) for variant in REPLY_VARIANTS),
        ),
        tuple(rows),
        caption=f"Share of the decided comparisons that a variant is in and wins, with n; chance is 0.5. {WILSON}.",
        notes=(f"Comparisons without a winner: {', '.join(undecided)}.",) if undecided else (),
    )


def _by_pair(made: Made) -> Table:
    rows = []
    for one, other in combinations(reversed(REPLY_VARIANTS), 2):
        cells = []
        for question in ("all", "general"):
            theirs = [
                (person, c) for person, c in made if {c.a, c.b} == {one, other} and question in ("all", c.question_id)
            ]
            cells.append(_wins(one, theirs))
        rows.append((Cell(f"{_VARIANT[one]} over {_VARIANT[other].lower()}"), *cells))
    return Table(
        "pairs",
        "Wins by pair",
        (
            Column("pair", "Pair", "text"),
            Column("all", "All questions", "share", digits=2),
            Column("general", "General preference", "share", digits=2),
        ),
        tuple(rows),
        caption=f"Share of the decided comparisons of the two that the first one wins, with n; {WILSON}.",
    )


def _letters(made: Made) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for variant in REPLY_VARIANTS:
        on_a = [(person, c) for person, c in made if c.a == variant]
        on_b = [(person, c) for person, c in made if c.b == variant]
        place = share((person, c.a == variant) for person, c in (*on_a, *on_b))
        rows.append((Cell(_VARIANT[variant]), place, _wins(variant, on_a), _wins(variant, on_b)))
    either = [share((p, c.winner == letter) for p, c in made if c.winner is not None) for letter in ("A", "B")]
    rows.append((Cell("whichever it is"), Cell(None), *either))
    return Table(
        "letters",
        "Balance of the letters",
        (
            Column("variant", "Reply", "text"),
            Column("on_a", "Stands on A", "share", digits=2),
            Column("wins_on_a", "Wins on A", "share", digits=2),
            Column("wins_on_b", "Wins on B", "share", digits=2),
        ),
        tuple(rows),
        caption=f"“Stands on A”: of all comparisons it is in; near 0.5 a letter tells nothing. {WILSON}.",
    )
