"""From conversations and results to scores: one conversation, then many, then two folders of files."""

from attunebench.scorer.conversation import ConversationScore, score_conversation
from attunebench.scorer.folders import score_folders, score_to_file
from attunebench.scorer.scoring import score

__all__ = ["ConversationScore", "score", "score_conversation", "score_folders", "score_to_file"]
