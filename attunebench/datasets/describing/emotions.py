"""Which emotions were felt: tagged and neutral turns, tags a turn, and each emotion's frequency and intensity."""

from __future__ import annotations

import statistics
from collections import Counter

from attunebench.analyses.common import counted, listed
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Table
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Tag
from attunebench.datasets.describing.tables import Data

Tags = tuple[Tag, ...]


def describe(data: Data) -> Analysis:
    """Turns by tags, and emotions by frequency."""
    given = [turn.tags for conversation in data.conversations for turn in conversation.turns]
    known = [tags for tags in given if tags is not None]
    tagged = [tags for tags in known if tags]
    felt = Counter(tag.emotion for tags in tagged for tag in tags)
    most = [emotion for emotion in data.codebook.panas if felt and felt[emotion] == max(felt.values())]
    return Analysis(
        "emotions",
        "Emotions",
        "What did people feel, how often and how strongly?",
        shows=f"{len(tagged):,} of {counted(len(known), 'turn')} with a label have an emotion, the others are neutral."
        + (f" Most frequent: {listed(most)}." if most else ""),
        tables=(_turns(len(given), known, tagged), _emotions(known, data.codebook)),
        cannot="PANAS has no sadness, calm, loneliness or relief, so that such states cannot be tagged.",
    )


def _turns(n: int, known: list[Tags], tagged: list[Tags]) -> Table:
    lines = [
        ("Turns with an emotion", len(tagged), _part(len(tagged), len(known))),
        ("Neutral turns (no shift)", len(known) - len(tagged), _part(len(known) - len(tagged), len(known))),
        ("Turns without truth", n - len(known), None),
    ]
    kinds = Counter(len(tags) for tags in known)
    lines += [
        (f"… with {counted(number, 'emotion')}", kinds[number], _part(kinds[number], len(known)))
        for number in sorted(kinds)
        if number
    ]
    mean = statistics.fmean(map(len, known)) if known else None
    return Table(
        "turns",
        "Turns by their emotions",
        (Column("kind", "Turns", "text"), Column("n", "n", "count"), Column("share", "Share", "share")),
        tuple((Cell(label), Cell(count), Cell(part)) for label, count, part in lines),
        caption=f"Shares of the {len(known):,} turns with a label."
        + (f" {mean:.2f} emotions a turn on average." if mean is not None else ""),
    )


def _emotions(known: list[Tags], codebook: Codebook) -> Table:
    felt: dict[str, list[float | None]] = {emotion: [] for emotion in codebook.panas}
    for tags in known:
        for tag in tags:
            felt[tag.emotion].append(tag.intensity)
    total = sum(map(len, felt.values()))
    rows = []
    for emotion, intensities in sorted(felt.items(), key=lambda pair: -len(pair[1])):
        strengths = [intensity for intensity in intensities if intensity is not None]
        rows.append(
            (
                Cell(emotion),
                Cell("positive" if emotion in codebook.panas_positive else "negative"),
                Cell(len(intensities)),
                Cell(_part(len(intensities), total)),
                Cell(_part(len(intensities), len(known))),
                Cell(
                    statistics.fmean(strengths) if strengths else None,
                    n=len(strengths) if len(strengths) < len(intensities) else None,
                ),
                Cell(statistics.stdev(strengths) if len(strengths) > 1 else None),
            )
        )
    return Table(
        "emotions",
        "Emotions by frequency",
        (
            Column("emotion", "Emotion", "text"),
            Column("side", "Side", "text"),
            Column("n", "Tags", "count"),
            Column("of_tags", "Share of tags", "share"),
            Column("of_turns", "Share of turns", "share"),
            Column("intensity", "Mean intensity", digits=2),
            Column("sd", "SD", digits=2),
        ),
        tuple(rows),
        caption=f"{total:,} tags in {len(known):,} turns. Intensities run from 1 to 7; their n is told where some are "
        f"unknown.",
        chart=Chart("bars", "emotion", ("of_turns",), axis="Share of turns"),
    )


def _part(count: int, of: int) -> float | None:
    return count / of if of else None
