"""The scores file: its schema, writing and reading it. Nothing here computes a score."""

from attunebench.scores.files import new_scores, read_scores, write_scores
from attunebench.scores.schema import (
    BASE_RATE,
    EMPTY_TAGS,
    AggregateEntry,
    ConversationEntry,
    GroundTruthEntry,
    PanasState,
    Scores,
)

__all__ = [
    "BASE_RATE",
    "EMPTY_TAGS",
    "AggregateEntry",
    "ConversationEntry",
    "GroundTruthEntry",
    "PanasState",
    "Scores",
    "new_scores",
    "read_scores",
    "write_scores",
]
