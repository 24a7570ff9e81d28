"""How much data there is, and which emotions were felt, how often and how strongly."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable

from attunebench.analyses.table import Analysis, Chart, Table, column, counts, table, words
from attunebench.analyses.verdicts import counted, listed
from attunebench.datasets.describing.tables import Data, mean_cell, part, spread_table

SYNTHETIC = "synthetic-demo"


def size(data: Data) -> Analysis:
    """Conversations, participants, turns, words and annotations."""
    unknown = sum(conversation.participant_id is None for conversation in data.conversations)
    written = sum(conversation.metadata.get("source") == SYNTHETIC for conversation in data.conversations)
    n, labels = len(data.conversations), _labels(data)
    tags = [turn.tags for _, turn in data.turns if turn.tags is not None]
    amounts = spread_table(
        data,
        "amounts",
        "Conversations, turns and words",
        "What",
        {
            "Conversations of a participant": [len(theirs) for theirs in data.people.values()],
            "Turns of a conversation": [len(c.turns) for c in data.conversations],
            "Emotions of a turn": [len(felt) for felt in tags],
            "Words of a participant's message": [len(turn.user_message.split()) for _, turn in data.turns],
            "Words of the original model's reply": [len(turn.llm_response.split()) for _, turn in data.turns],
        },
        "SD with n − 1. Words are separated by white space.",
        total=True,
    )
    return Analysis(
        "size",
        "Size of the data",
        "How many conversations, people, turns, words and labels are there?",
        shows=f"{counted(n, 'conversation')} of {counted(len(data.people), 'participant')} with "
        f"{len(data.turns):,} turns and {labels.rows[-1][1].value:,} labels.",
        tables=(amounts, labels),
        warnings=(
            f"{written} of the {counted(n, 'conversation')} are written examples, not human data: figures cannot be "
            "compared with published ones.",
        )
        if written
        else (),
        notes=(f"{counted(unknown, 'conversation')} without a participant ID, each counted as a separate person.",)
        if unknown
        else (),
    )


def _labels(data: Data) -> Table:
    conversations, book, negative = data.conversations, data.codebook, data.codebook.q3_negative
    turns = [turn for _, turn in data.turns]
    judgements = [judgement for turn in turns for judgement in turn.judgements]
    intensities = [tag.intensity for turn in turns for tag in turn.tags or ()]
    lines: list[tuple[str, int, int | None]] = [
        ("Emotions of a turn", len(intensities), sum(turn.tags is None for turn in turns)),
        ("Turns marked neutral", sum(turn.tags == () for turn in turns), None),
        ("Binary questions: observed", *_known(judgement.observed for judgement in judgements)),
        ("Binary questions: preferred", *_known(judgement.preferred for judgement in judgements)),
        ("Winners of comparisons", *_known(comparison.winner for turn in turns for comparison in turn.comparisons)),
        ("PANAS items before", *_known(c.pre_panas.items.get(i.lower()) for c in conversations for i in book.panas)),
        ("PANAS items after", *_known(c.post_panas.items.get(i.lower()) for c in conversations for i in book.panas)),
        ("Four Branch ratings", *_known(c.wide.four_branch.get(b) for c in conversations for b in book.branches)),
        ("Q1, goals", *_known(c.wide.q1 for c in conversations)),
        ("Q2, clarity of feelings", *_known(c.wide.q2 for c in conversations)),
        ("Q3, fit of the model", *_known(c.wide.q3 for c in conversations)),
        ("Follow-up after a negative Q3", *_known(c.wide.follow_up for c in conversations if c.wide.q3 in negative)),
    ]
    given = sum(n for _, n, _ in lines)
    lines.append(("In all", given, sum(missing or 0 for _, _, missing in lines)))
    unknown = sum(intensity is None for intensity in intensities)
    return table(
        "labels",
        "Labels by kind",
        words("kind", (kind for kind, _, _ in lines), "Kind"),
        counts("given", (n for _, n, _ in lines), "Given"),
        column("per_conversation", (part(n, len(conversations)) for _, n, _ in lines), "A conversation", digits=1),
        counts("missing", (missing for _, _, missing in lines), "No truth"),
        caption="“na” is an answer. “No truth” counts missing labels (no answer, a tie), which are in no denominator.",
        notes=(
            "Observed and preferred behaviour are two labels; counted as one judgement, the total is "
            f"{given - len(judgements):,}.",
            *([f"{counted(unknown, 'emotion')} of unknown intensity, included in the counts."] if unknown else []),
        ),
    )


def _known(values: Iterable[object]) -> tuple[int, int]:
    """How many are known, and how many are not."""
    known = [value is not None for value in values]
    return sum(known), len(known) - sum(known)


def emotions(data: Data) -> Analysis:
    """Turns by number of emotions, and emotions by frequency and intensity."""
    known = [turn.tags for _, turn in data.turns if turn.tags is not None]
    n, tagged = len(known), sum(map(bool, known))
    felt: dict[str, list[float | None]] = {emotion: [] for emotion in data.codebook.panas}
    for tags in known:
        for tag in tags:
            felt[tag.emotion].append(tag.intensity)
    highest = max(map(len, felt.values()), default=0)
    most = [emotion for emotion, tags in felt.items() if len(tags) == highest > 0]
    kinds = Counter(map(len, known))
    turns: list[tuple[str, int, float | None]] = [
        ("Turns with an emotion", tagged, part(tagged, n)),
        ("Neutral turns (no shift)", n - tagged, part(n - tagged, n)),
        ("Turns without a label", len(data.turns) - n, None),
    ]
    turns += [(f"… with {counted(k, 'emotion')}", kinds[k], part(kinds[k], n)) for k in sorted(kinds) if k]
    return Analysis(
        "emotions",
        "Emotions",
        "What did people feel, how often, and how strongly?",
        shows=f"{tagged:,} of {counted(n, 'turn')} with a label have an emotion; the others are neutral."
        + (f" Most frequent: {listed(most)}." if most else ""),
        tables=(
            table(
                "turns",
                "Turns by number of emotions",
                words("kind", (label for label, _, _ in turns), "Turns"),
                counts("n", (count for _, count, _ in turns), "n"),
                column("share", (part for _, _, part in turns), "Share", "share"),
                caption=f"Shares of the {n:,} turns with a label."
                + (f" {statistics.fmean(map(len, known)):.2f} emotions per turn on average." if known else ""),
            ),
            _emotion_table(data, felt, n),
        ),
        cannot="PANAS lacks sadness, calm, loneliness and relief, so these cannot be tagged.",
    )


def _emotion_table(data: Data, felt: dict[str, list[float | None]], n_turns: int) -> Table:
    ordered = dict(sorted(felt.items(), key=lambda pair: -len(pair[1])))
    total = sum(map(len, felt.values()))
    known = [[value for value in values if value is not None] for values in ordered.values()]
    positive = data.codebook.panas_positive
    return table(
        "emotions",
        "Emotions by frequency",
        words("emotion", ordered, "Emotion"),
        words("side", ("positive" if emotion in positive else "negative" for emotion in ordered), "Side"),
        counts("n", map(len, ordered.values()), "Tags"),
        column("of_tags", (part(len(values), total) for values in ordered.values()), "Share of tags", "share"),
        column("of_turns", (part(len(values), n_turns) for values in ordered.values()), "Share of turns", "share"),
        column("intensity", map(mean_cell, ordered.values()), "Mean intensity", digits=2),
        column("sd", (statistics.stdev(values) if len(values) > 1 else None for values in known), "SD", digits=2),
        caption=f"{total:,} tags in {n_turns:,} turns. Intensities range from 1 to 7; n is given where some are "
        "unknown.",
        chart=Chart("bars", "emotion", ("of_turns",), axis="Share of turns"),
    )
