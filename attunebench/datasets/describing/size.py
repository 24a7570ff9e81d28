"""How much there is: conversations, people, turns, words, and labels counted by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attunebench.analyses.common import counted
from attunebench.analyses.model import Analysis, Cell, Column, Table
from attunebench.conversations import Conversation
from attunebench.datasets.describing.tables import Data, Quantity, spread_table

SYNTHETIC = "synthetic-demo"


def describe(data: Data) -> Analysis:
    """Conversations, participants, turns, words and annotations."""
    turns = [turn for conversation in data.conversations for turn in conversation.turns]
    unknown = sum(conversation.participant_id is None for conversation in data.conversations)
    labels = _labels(data)
    total = labels.rows[-1][1].value
    return Analysis(
        "size",
        "Size of the data",
        "How many conversations, people, turns, words and labels are there?",
        shows=f"{counted(len(data.conversations), 'conversation')} of {counted(len(data.people), 'participant')} with "
        f"{len(turns):,} turns and {total:,} labels.",
        tables=(_amounts(data), labels),
        warnings=written_warning(data),
        notes=(
            (f"{counted(unknown, 'conversation')} without a participant's id, each taken for a person of its own.",)
            if unknown
            else ()
        ),
    )


def written_warning(data: Data) -> tuple[str, ...]:
    """A warning where conversations are written examples and nobody's data."""
    written = sum(conversation.metadata.get("source") == SYNTHETIC for conversation in data.conversations)
    if not written:
        return ()
    return (
        f"{written} of the {counted(len(data.conversations), 'conversation')} are written examples: no human data, "
        "and not comparable with published figures.",
    )


def _amounts(data: Data) -> Table:
    turns = [turn for conversation in data.conversations for turn in conversation.turns]
    felt = [turn.tags for turn in turns if turn.tags is not None]
    words = [(len(turn.user_message.split()), len(turn.llm_response.split())) for turn in turns]
    quantities = (
        Quantity("Conversations of a participant", [len(theirs) for theirs in data.people.values()], total=True),
        Quantity("Turns of a conversation", [len(c.turns) for c in data.conversations], total=True),
        Quantity("Emotions of a turn", [len(tags) for tags in felt], total=True),
        Quantity("Words of a participant's message", [message for message, _ in words], total=True),
        Quantity("Words of the original model's reply", [reply for _, reply in words], total=True),
    )
    return spread_table(
        "amounts",
        "Conversations, turns and words",
        quantities,
        caption="SD with n − 1. Words are what stands between white space.",
    )


def _labels(data: Data) -> Table:
    conversations = data.conversations
    turns = [turn for conversation in conversations for turn in conversation.turns]
    judgements = [judgement for turn in turns for judgement in turn.judgements]
    winners = [comparison.winner for turn in turns for comparison in turn.comparisons]
    intensities = [tag.intensity for turn in turns for tag in turn.tags or ()]
    items = len(data.codebook.panas)
    lines = [
        ("Emotions of a turn", len(intensities), sum(turn.tags is None for turn in turns)),
        ("Turns marked neutral", sum(turn.tags == () for turn in turns), None),
        ("Binary questions: observed", *_given(judgement.observed for judgement in judgements)),
        ("Binary questions: preferred", *_given(judgement.preferred for judgement in judgements)),
        ("Winners of comparisons", *_given(winners)),
        ("PANAS items before", *_of_all(conversations, lambda c: len(c.pre_panas.items), items)),
        ("PANAS items after", *_of_all(conversations, lambda c: len(c.post_panas.items), items)),
        (
            "Four Branch ratings",
            *_of_all(conversations, lambda c: len(c.wide.four_branch), len(data.codebook.branches)),
        ),
        ("Q1, goals", *_given(c.wide.q1 for c in conversations)),
        ("Q2, clarity of feelings", *_given(c.wide.q2 for c in conversations)),
        ("Q3, fit of the model", *_given(c.wide.q3 for c in conversations)),
        ("Follow-up after a negative Q3", *_follow_ups(data)),
    ]
    given = sum(line[1] for line in lines)
    rows = [
        (Cell(kind), Cell(n), Cell(n / len(conversations) if conversations else None), Cell(missing))
        for kind, n, missing in (*lines, ("In all", given, sum(line[2] or 0 for line in lines)))
    ]
    once = given - len(judgements)
    return Table(
        "labels",
        "Labels by kind",
        (
            Column("kind", "Kind", "text"),
            Column("given", "Given", "count"),
            Column("per_conversation", "A conversation", digits=1),
            Column("missing", "No truth", "count"),
        ),
        tuple(rows),
        caption="“na” is an answer. “No truth”: what a file leaves open (no answer, a tie), in no denominator.",
        notes=(
            f"What is observed and what is preferred are two labels; counted as one judgement it is {once:,} in all.",
            *_unknown_intensities(intensities),
        ),
    )


def _unknown_intensities(intensities: list[float | None]) -> tuple[str, ...]:
    unknown = sum(intensity is None for intensity in intensities)
    return (f"{counted(unknown, 'emotion')} of unknown intensity, counted as given.",) if unknown else ()


def _given(values: Iterable[object]) -> tuple[int, int]:
    """How many are known, and how many are not."""
    known = [value is not None for value in values]
    return sum(known), len(known) - sum(known)


def _of_all(conversations: tuple[Conversation, ...], read: Callable[[Conversation], int], of: int) -> tuple[int, int]:
    given = sum(map(read, conversations))
    return given, of * len(conversations) - given


def _follow_ups(data: Data) -> tuple[int, int]:
    """Of the conversations with a negative Q3."""
    return _given(c.wide.follow_up for c in data.conversations if c.wide.q3 in data.codebook.q3_negative)
