"""What a conversation is, and how a folder of them is read, checked and recognised."""

from attunebench.conversations.block import Issue
from attunebench.conversations.loading import (
    ConversationSet,
    PassedOver,
    SkippedFile,
    ValidationReport,
    demo_folder,
    load_conversations,
    validate_folder,
)
from attunebench.conversations.reading import read_conversation
from attunebench.conversations.schema import Conversation

__all__ = [
    "Conversation",
    "ConversationSet",
    "Issue",
    "PassedOver",
    "SkippedFile",
    "ValidationReport",
    "demo_folder",
    "load_conversations",
    "read_conversation",
    "validate_folder",
]
