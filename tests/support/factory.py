"""Makes valid conversation files of real size, the same for the same seed. Knows no reader and no metric."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attunebench.constants import (
    BINARY_CATEGORY,
    BRANCHES,
    FOLLOW_UP_OPTIONS,
    PAIRWISE_QUESTION_TEXT,
    PANAS_ITEMS,
    PANAS_NEGATIVE,
    PANAS_POSITIVE,
    Q1_OPTIONS,
    Q2_OPTIONS,
    Q3_NEGATIVE,
    Q3_OPTIONS,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

PAIRS = (("original", "alternate"), ("original", "human"), ("alternate", "human"))

_PEOPLE = [
    "my sister", "my father", "our neighbour", "the manager", "an old friend", "my partner", "the new colleague",
    "my daughter",
]  # fmt: skip
_ACTS = [
    "rang me about", "forgot", "never mentioned", "apologised for", "laughed at", "worried about", "asked me for",
    "left because of",
]  # fmt: skip
_THINGS = [
    "the flat", "the results", "our holiday", "that letter", "the money", "the wedding", "my old job",
    "the long drive", "her birthday",
]  # fmt: skip
_FEELINGS = [
    "I felt calm", "I could not sleep", "it hurt", "I was relieved", "I keep thinking of it", "I was proud",
    "I did not know what to say",
]  # fmt: skip
_LINKS = [
    "and afterwards", "but in the end", "so since then", "although on Sunday", "because as usual",
    "and then, for once,",
]  # fmt: skip
_TOPICS = ("family", "work", "money", "health", "grief", "moving house", "good news")
_DIAGNOSES = ("None of the above", "ADHD", "Anxiety", "Depression", "Autism spectrum disorder")
_ATTITUDES = ("Open to talk about it", "Hesitant", "Mixed feelings about it")


def make_conversation(seed: int, turns: int = 5) -> dict[str, Any]:
    """A conversation file's content: valid, without a warning, complete in every field; all its texts differ.

    No two seeds share an id, a message or a reply. Seeds 2k and 2k + 1 share a participant.
    """
    rng = random.Random(f"conversation {seed}")
    fit = rng.choice(Q3_OPTIONS)
    return {
        "conversationId": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "metadata": {
            "model": "some-chat-model",
            "category": rng.choice(_TOPICS),
            "source": "generated",
            "text": f"#{seed}",
        },
        "participant_profile": _profile(seed // 2),
        "prePanas": _panas(rng),
        "postPanas": _panas(rng),
        "conversationWideQuestions": {
            "fourBranchScores": {branch: rng.randint(1, 7) for branch in BRANCHES},
            "q1_lookingFor": rng.sample(Q1_OPTIONS, rng.randint(1, 3)),
            "q2_emotionClarity": rng.choice(Q2_OPTIONS),
            "q3_modelFit": fit,
            "q3_followUp_whatFeltOff": rng.sample(FOLLOW_UP_OPTIONS, rng.randint(1, 3)) if fit in Q3_NEGATIVE else [],
        },
        "turns": [_turn(rng, number, f"{seed}-{number}") for number in range(1, turns + 1)],
    }


def write_conversations(folder: str | Path, n: int, seed: int = 0, turns: int = 5) -> Path:
    """Writes `conversation_1.json` … `conversation_<n>.json`, seeds `seed` … `seed + n - 1`; returns the folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(n):
        text = json.dumps(make_conversation(seed + index, turns), ensure_ascii=False, indent=2)
        (folder / f"conversation_{index + 1}.json").write_text(text, encoding="utf-8")
    return folder


def conversations(max_turns: int = 7) -> SearchStrategy[dict[str, Any]]:
    """Hypothesis strategy: the contents of valid conversation files of 1 to `max_turns` turns."""
    from hypothesis import strategies as st

    return st.builds(make_conversation, seed=st.integers(0, 10**6), turns=st.integers(1, max_turns))


def _profile(person: int) -> dict[str, Any]:
    rng = random.Random(f"person {person}")
    scores: dict[str, float] = {"who_5": rng.randint(0, 25), "asrs_6": rng.randint(0, 6), "aq_10": rng.randint(0, 10)}
    for scale in ("anxiety", "depression", "sleep"):
        raw = rng.randint(4, 20)
        scores |= {f"promis_{scale}": raw, f"promis_{scale}_t": round(35 + 2.4 * raw, 1)}
    for trait in ("extraversion", "agreeableness", "conscientiousness", "stability", "openness"):
        scores[f"tipi_{trait}"] = rng.randint(2, 14)
    return {
        "schema_version": "1.0",
        "participant_id": f"P{person:04d}",
        "profile_type": "generated",
        "demographics": {
            "country": rng.choice(("Ireland", "Kenya", "Canada", "India")),
            "education": rng.choice(("Secondary school", "Bachelor's degree", "Master's degree")),
            "work_edu_background": rng.sample(("Nursing", "Teaching", "Crafts", "Software"), 2),
            "gender": rng.choice(("Woman", "Man", "Non-binary")),
            "age_range": rng.choice(("18-24", "25-34", "35-44", "45-54", "55+")),
            "english_proficiency": rng.choice(("Native", "Fluent")),
            "diagnoses": [rng.choice(_DIAGNOSES)],
        },
        "computed_scores": scores,
        "conversation_topic_attitude": rng.choice(_ATTITUDES),
    }


def _panas(rng: random.Random) -> dict[str, Any]:
    items = {item: rng.randint(1, 7) for item in PANAS_ITEMS}
    return {
        "totalPositiveAffect": sum(items[item] for item in PANAS_POSITIVE),
        "totalNegativeAffect": sum(items[item] for item in PANAS_NEGATIVE),
        "responses": {item.lower(): value for item, value in items.items()},
    }


def _turn(rng: random.Random, number: int, mark: str) -> dict[str, Any]:
    tags = rng.sample(PANAS_ITEMS, rng.choice((0, 1, 1, 2, 2, 3)))
    selected = rng.sample([question for question in PAIRWISE_QUESTION_TEXT if question != "general"], 3)
    return {
        "turnNumber": number,
        "userMessage": _text(rng, 4, f"message {mark}"),
        "llmResponse": _text(rng, 10, f"reply {mark}"),
        "moodShiftTags": [{"emotion": emotion, "intensity": rng.randint(1, 7)} for emotion in tags],
        "annotations": {
            "binaryJudgements": [_judgement(rng, question) for question in BINARY_CATEGORY],
            "alternateResponses": {
                "llmImproved": _text(rng, 10, f"other reply {mark}"),
                "humanEdited": _text(rng, 8, f"edited reply {mark}"),
            },
            "pairwiseComparisons": _comparisons(rng, ["general", *selected]),
            "selectedPairwiseQuestions": selected,
        },
    }


def _judgement(rng: random.Random, question: str) -> dict[str, str]:
    """The first question always applies, so that every turn asks at least one."""
    if question != "B1" and rng.random() < 0.3:
        return {"questionId": question, "observedBehavior": "na", "preferredBehavior": "na"}
    observed, preferred = rng.choice(("yes", "no")), rng.choice(("yes", "yes", "no"))
    return {"questionId": question, "observedBehavior": observed, "preferredBehavior": preferred}


def _comparisons(rng: random.Random, questions: list[str]) -> list[dict[str, str]]:
    """Every other question swaps the sides, so that no variant keeps to one letter."""
    return [
        {"questionId": question, "responseA": a, "responseB": b, "winner": rng.choice("AB")}
        for index, question in enumerate(questions)
        for a, b in (pair[:: -1 if index % 2 else 1] for pair in PAIRS)
    ]


def _text(rng: random.Random, sentences: int, mark: str) -> str:
    """Several plausible sentences; `mark` makes the text unique."""
    parts = [
        f"{rng.choice(_PEOPLE).capitalize()} {rng.choice(_ACTS)} {rng.choice(_THINGS)}, "
        f"{rng.choice(_LINKS)} {rng.choice(_FEELINGS)}."
        for _ in range(sentences)
    ]
    return " ".join([*parts, f"That was {mark}."])
