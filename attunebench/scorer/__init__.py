"""From conversations and results to scores: one conversation, then many, then two folders of files."""

from attunebench.scorer.conversation import score_conversation
from attunebench.scorer.folders import score, score_folders, score_to_file

__all__ = ["score", "score_conversation", "score_folders", "score_to_file"]
