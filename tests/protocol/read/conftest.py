"""What the tests of the reader share: calls of every kind, and valid answers to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from attunebench.backends.base import Reply
from attunebench.codebook import Codebook, default_codebook
from attunebench.protocol.calls import KINDS, Answer, Asked
from attunebench.protocol.read import read_reply
from attunebench.protocol.read.kinds import NOTHING
from attunebench.protocol.read.values import plain

Reader = Callable[..., Answer]

_BOOK = default_codebook()
_QUESTIONS = {key: _BOOK.binary[key].observer_text for key in ("B1", "B13", "B108", "B505")}


def calls() -> dict[str, Asked]:
    """One call per kind, with few items where the number is free."""
    sides = {str(index): ("Reply 2", "Reply 1") if index % 2 else ("Reply 1", "Reply 3") for index in range(4)}
    made = {
        kind: Asked(
            kind,
            questions=_QUESTIONS if kind in ("judge", "review", "binary_hp") else {},
            comparisons=sides if kind == "pairwise" else {},
        )
        for kind in KINDS
    }
    return {**made, "delta": Asked("post", panas="delta")}


def valid_answers(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Complete answers to `calls()[kind]`, in the answer format of the prompts."""
    yes_no = st.fixed_dictionaries(dict.fromkeys(_QUESTIONS, st.sampled_from(["yes", "no"])))
    scale = st.integers(1, 7)
    text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda s: s.strip() == s)
    tag = st.fixed_dictionaries({"emotion": st.sampled_from(_BOOK.panas), "intensity": scale})
    maps = {"binary_om_assessment": yes_no, "binary_human_prediction": yes_no}
    if kind == "draft":
        return st.fixed_dictionaries({"drafted_response": text})
    if kind == "judge":
        ratings = ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")
        return st.fixed_dictionaries({**dict.fromkeys(ratings, scale), "draft_binary_assessment": yes_no})
    if kind == "pairwise":
        letters = st.fixed_dictionaries({str(i): st.sampled_from("AB") for i in range(4)})
        return st.fixed_dictionaries({"pairwise_selections": letters})
    if kind in ("post", "delta"):
        return _post(kind, scale, text)
    tags = st.lists(tag, max_size=4, unique_by=lambda one: one["emotion"])
    return st.fixed_dictionaries({"emotion_tags": tags, **maps} if kind == "review" else maps)


def _post(kind: str, scale: st.SearchStrategy[int], text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    mood = "predicted_post_panas" if kind == "post" else "predicted_panas_delta"
    change = scale if kind == "post" else st.integers(-6, 6)
    wide = {
        "q1_lookingFor": st.lists(st.sampled_from(_BOOK.q1_options), unique=True),
        "q2_emotionClarity": st.sampled_from(_BOOK.q2_options),
        "q3_modelFit": st.sampled_from(_BOOK.q3_options),
        # "None" and its like alone are an empty follow-up (see test_read_examples).
        "q3_followUp_whatFeltOff": st.lists(text.filter(lambda entry: plain(entry) not in NOTHING), max_size=2),
        "fourBranchScores": st.fixed_dictionaries(dict.fromkeys(_BOOK.branches, scale)),
    }
    items = st.fixed_dictionaries(dict.fromkeys(_BOOK.panas, change))
    return st.fixed_dictionaries(
        {mood: st.fixed_dictionaries({"items": items}), "conversation_wide": st.fixed_dictionaries(wide)}
    )


@pytest.fixture(scope="session")
def book() -> Codebook:
    return _BOOK


@pytest.fixture(scope="session")
def read() -> Reader:
    """Read a text as the reply to one of `calls()`, or to the call given."""
    made = calls()

    def reader(kind: str | Asked, text: str | None, **fields: Any) -> Answer:
        return read_reply(made[kind] if isinstance(kind, str) else kind, Reply(text, **fields), _BOOK)

    return reader


@pytest.fixture(scope="session")
def asked() -> dict[str, Asked]:
    return calls()


@pytest.fixture(scope="session")
def answers() -> Callable[[str], st.SearchStrategy[dict[str, Any]]]:
    return valid_answers
