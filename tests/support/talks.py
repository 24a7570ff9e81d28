"""Conversations as the reader gives them, for tests that begin behind the files."""

from __future__ import annotations

from typing import Any

from factory import make_conversation

from attunebench.conversations.reading import read_conversation
from attunebench.conversations.schema import Conversation


def parsed(raw: dict[str, Any]) -> Conversation:
    """The conversation in a file's content, which must be valid."""
    conversation, notes = read_conversation(raw, "conversation.json", source="conversation.json", sha256="00")
    assert conversation is not None, notes
    return conversation


def talk(seed: int = 1, turns: int = 3) -> Conversation:
    """A generated conversation."""
    return parsed(make_conversation(seed, turns))


def small_file() -> dict[str, Any]:
    """A file's content of one short turn, two questions and two comparisons: a prompt of it fits on a screen."""
    return {
        "conversationId": "tiny",
        "participant_profile": {
            "participant_id": "P1",
            "demographics": {"country": "Kenya", "age_range": "35-44", "diagnoses": ["ADHD", "Anxiety"]},
            "computed_scores": {"who_5": 11},
            "conversation_topic_attitude": "Hesitant",
        },
        "prePanas": {"totalPositiveAffect": 31, "totalNegativeAffect": 24, "responses": {"proud": 2, "upset": 5}},
        "postPanas": {"totalPositiveAffect": 35, "totalNegativeAffect": 20},
        "conversationWideQuestions": {
            "fourBranchScores": {"managing": 5, "perceiving": 4, "facilitating": 5, "understanding": 6},
            "q1_lookingFor": ["Other"],
            "q2_emotionClarity": "Implied or indirect",
            "q3_modelFit": "Mostly well-matched",
            "q3_followUp_whatFeltOff": [],
        },
        "turns": [
            {
                "turnNumber": 1,
                "userMessage": "My shift was cut again. I just sat in the car for an hour.",
                "llmResponse": "That sounds draining. What went through your mind?",
                "moodShiftTags": [{"emotion": "Upset", "intensity": 5}],
                "annotations": {
                    "binaryJudgements": [
                        {"questionId": "B1", "observedBehavior": "yes", "preferredBehavior": "yes"},
                        {"questionId": "B13", "observedBehavior": "yes", "preferredBehavior": "no"},
                        {"questionId": "B17", "observedBehavior": "na", "preferredBehavior": "na"},
                    ],
                    "alternateResponses": {
                        "llmImproved": "You could ask for a fixed rota.",
                        "humanEdited": "An hour in the car. That says a lot.",
                    },
                    "pairwiseComparisons": [
                        {"questionId": "general", "responseA": "original", "responseB": "human", "winner": "B"},
                        {"questionId": "PW4", "responseA": "alternate", "responseB": "original", "winner": "B"},
                    ],
                    "selectedPairwiseQuestions": ["PW4"],
                },
            }
        ],
    }
