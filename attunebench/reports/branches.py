"""Scores by the branches of emotional intelligence: the study's coarse map and the codebook's categories side by side.

Owns which metric stands for which instrument of the study. Both maps are pragmatic, and the sections say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attunebench.codebook import Codebook, default_codebook
from attunebench.metrics.registry import Metric, cards_of
from attunebench.reports.model import Group, Section
from attunebench.reports.notes import judges_of, validation_of
from attunebench.reports.rows import BLOCKS, pooled_rows, rows_of, stands_beside

_INSTRUMENTS = {
    "moodShiftTags": ("the emotions tagged in each turn", ("emotion_", "neutral_")),
    "binaryJudgements": ("the yes/no judgements of each reply", ("binary_",)),
    "postPanas": ("the mood after the conversation", ("panas_",)),
    "draftsAndPairwise": (
        "drafted replies and the choice between replies",
        ("pairwise_", "kendall_", "draft_", "response_", "bertscore_"),
    ),
}
"""Instrument of the study → what it is, and how the ids of its metrics begin."""

_RATING = "four_branch"
_PRAGMATIC = "A pragmatic grouping, not a strict correspondence."
_BLOCKS = ("binary_om", "binary_hp")
_STATISTICS = ("counts", "accuracy", "f1", "mcc")


def sections(groups: Sequence[Group], *, chosen: Sequence[Metric] = (), show_all: bool = False) -> list[Section]:
    """A section for each branch by the study's map, one for the ratings of the branches, and the codebook's categories.

    `chosen` restricts the metrics and drops the categories; `show_all` adds diagnostics.
    """
    codebook = default_codebook()
    cards = cards_of("attunebench").values()
    shown = [card for card in cards if show_all or card.status != "diagnostic" or stands_beside(card)]
    found = list(_study_map(codebook, chosen or shown, groups))
    ratings = Section(
        "The person's ratings of the four branches",
        "How close the model comes to the person's 1–7 rating of the replies on each branch.",
        rows_of([card for card in chosen or cards if card.id.startswith(_RATING)], groups),
    )
    return [*found, ratings, *(() if chosen else (_category_map(codebook, groups, block) for block in _BLOCKS))]


def _study_map(codebook: Codebook, cards: Sequence[Metric], groups: Sequence[Group]) -> Iterator[Section]:
    for instrument, branch in codebook.study_branches.items():
        what, beginnings = _INSTRUMENTS[instrument]
        members = [card for card in cards if card.group != "pillar" and card.id.startswith(beginnings)]
        rows = [row for row in rows_of(members, groups) if row.measured]
        drafted = {card.id for card in members if card.group == "draft"}
        yield Section(
            f"{codebook.branches[branch].label} (the study's map)",
            f"By {what}. {_PRAGMATIC}",
            tuple(rows),
            (judges_of(groups), *validation_of(groups)) if any(row.id in drafted for row in rows) else (),
        )


def _category_map(codebook: Codebook, groups: Sequence[Group], block: str) -> Section:
    """Pooled answers by the codebook's category of the question, with the branch that each category stands for."""
    categories = sorted({name for group in groups for name in group.pooled.get(block, {}).get("by_category", {})})
    pairs = [(name, codebook.category_branches.get(name)) for name in categories]
    mapped = ", ".join(f"{name.replace('_', ' ')} → {branch or 'no branch'}" for name, branch in pairs)
    return Section(
        f"{BLOCKS[block]} by question category (the codebook's map)",
        f"All n judgements of a category, pooled. {mapped}. {_PRAGMATIC}",
        tuple(row for name in categories for row in pooled_rows(groups, block, _STATISTICS, category=name)),
    )
