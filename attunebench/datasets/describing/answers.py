"""What people answered about the whole talk: Q1 to Q3, the follow-up, and how they rated the model's four branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attunebench.analyses.model import Analysis, Cell, Column, Table
from attunebench.conversations import Conversation
from attunebench.datasets.describing.tables import (
    MASKED,
    Data,
    Quantity,
    facet,
    facet_table,
    person_of,
    small_cells,
    spread_table,
)

_RATINGS = tuple(range(1, 8))
_OWN_WORDS, _NOTHING = "in own words", "nothing named"


def describe(data: Data) -> Analysis:
    """Answers about the whole conversation, each with its share and interval."""
    return Analysis(
        "answers",
        "Answers about the whole conversation",
        "What were people looking for, and how well did the model fit?",
        tables=(
            _asked(data, "q1", "Q1, goals (several are possible)"),
            _asked(data, "q2", "Q2, how clearly feelings came out"),
            _asked(data, "q3", "Q3, fit of the model"),
            _follow_up(data),
            *_branches(data),
        ),
    )


def _asked(data: Data, name: str, title: str) -> Table:
    def read(conversation: Conversation) -> Iterable[str]:
        given = getattr(conversation.wide, name)
        if isinstance(given, tuple):
            return given or (_NOTHING,)
        return () if given is None else (given,)

    options = getattr(data.codebook, f"{name}_options")
    found = facet(data, "Answer", read, order=options, closed=True, single=False)
    return facet_table(
        name,
        title,
        [found],
        data,
        of="conversations",
        caption=f"Shares of the {found.told.conversations} conversations with an answer.",
    )


def _follow_up(data: Data) -> Table:
    """Free texts are counted under the options of the codebook or not shown: they may tell who wrote them."""
    options = {option.casefold(): option for option in data.codebook.follow_up_options}

    def read(conversation: Conversation) -> Iterable[str]:
        given = conversation.wide.follow_up
        if given is None:
            return ()
        return [options.get(" ".join(text.split()).casefold(), _OWN_WORDS) for text in given] or (_NOTHING,)

    found = facet(
        data,
        "What felt off",
        read,
        order=data.codebook.follow_up_options,
        closed=True,
        single=False,
        among=lambda conversation: conversation.wide.q3 in data.codebook.q3_negative,
    )
    return facet_table(
        "follow_up",
        "Follow-up: what felt off",
        [found],
        data,
        of="conversations",
        caption=f"Asked after a negative Q3 alone; shares of the {found.told.conversations} conversations with an "
        f"answer. Texts that are no option of the codebook are counted, not shown.",
    )


def _branches(data: Data) -> tuple[Table, Table]:
    quantities, rows = [], []
    for branch, entry in data.codebook.branches.items():
        rated = [(c.wide.four_branch[branch], person_of(c)) for c in data.conversations if branch in c.wide.four_branch]
        values = [value for value, _ in rated]
        quantities.append(Quantity(entry.label, values, len(data.conversations) - len(values)))
        counts = Counter(_nearest(value) for value in values)
        people = [len({who for value, who in rated if _nearest(value) == rating}) for rating in _RATINGS]
        masked = small_cells(people, data.mask_below)
        cells = [
            Cell(None, mark=MASKED) if few else Cell(counts[rating])
            for rating, few in zip(_RATINGS, masked, strict=True)
        ]
        rows.append((Cell(entry.label), *cells))
    return (
        spread_table(
            "branches",
            "Four Branch ratings of the original model",
            quantities,
            what="Branch",
            caption="Rated from 1 to 7 by the participant.",
            mask_below=data.mask_below,
        ),
        Table(
            "branch_ratings",
            "Four Branch ratings, conversations by rating",
            (
                Column("branch", "Branch", "text"),
                *(Column(f"rating_{rating}", str(rating), "count") for rating in _RATINGS),
            ),
            tuple(rows),
            caption="Ratings between two whole numbers are counted at the nearer one.",
        ),
    )


def _nearest(rating: float) -> int:
    return int(rating + 0.5)
