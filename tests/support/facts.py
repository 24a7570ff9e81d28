"""Makes entries of the ground truth that know as much as a test wants: everything else is missing."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attunebench.conversations.loading import load_conversations
from attunebench.scorer.truth import truth_entry
from attunebench.scores import GroundTruthEntry

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

DEMO = Path(__file__).parents[2] / "Test Samples" / "Demo12"


def a_fact(name: str = "c1", person: str | None = None, **known: Any) -> GroundTruthEntry:
    """An entry of which nothing is known but `known`: a key of the entry, or one of the demographics or the scores
    (`who_5=12`, `gender="Woman"`, `diagnoses=["ADHD"]`), `positive` and `negative` before (or `positive_after` …), and
    q1, q2, q3."""
    wide = {key: known.pop(key, None) for key in ("q1", "q2", "q3")}
    states = {
        when: {side: known.pop(f"{side}{ending}", None) for side in ("positive", "negative")} | {"items": {}}
        for when, ending in (("pre_panas", ""), ("post_panas", "_after"))
    }
    entry = {
        "conversationId": name,
        "source_file": f"{name}.json",
        "participant_id": person,
        "om_model": None,
        "topics": [],
        "subtopic": None,
        "attitude": None,
        "demographics": {},
        "diagnosis_groups": [],
        "computed_scores": {},
        **states,
        "wide": {**wide, "follow_up": None, "four_branch": {}},
        "turns": [],
    }
    for key, value in known.items():
        if key in entry:
            entry[key] = value
        elif isinstance(value, (str, list)):
            cast(dict[str, Any], entry["demographics"])[key] = value
        else:
            cast(dict[str, Any], entry["computed_scores"])[key] = value
    return cast(GroundTruthEntry, entry)


@cache
def demo_facts() -> tuple[GroundTruthEntry, ...]:
    """The entries of the demonstration conversations, as scoring makes them."""
    return tuple(truth_entry(conversation) for conversation in load_conversations(DEMO).conversations)


@cache
def demo_raw() -> dict[str, dict[str, Any]]:
    """Conversation id → the JSON of its file, untouched."""
    raw = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(DEMO.glob("*.json")))
    return {content["conversationId"]: content for content in raw}


def facts(least: int = 0, most: int = 12) -> SearchStrategy[list[GroundTruthEntry]]:
    """Hypothesis strategy: entries in which each of a few fields is missing now and then, of a few people."""
    from hypothesis import strategies as st

    maybe = st.none()
    told = {
        "person": maybe | st.sampled_from(("p1", "p2", "p3")),
        "gender": maybe | st.sampled_from(("Man", "Woman", "female", "male")),
        "diagnoses": maybe | st.lists(st.sampled_from(("ADHD", "Anxiety", "Generalised anxiety")), max_size=2),
        "who_5": maybe | st.integers(0, 25),
        "tipi_openness": maybe | st.integers(2, 14),
        "positive": maybe | st.integers(10, 70),
        "q1": maybe | st.lists(st.sampled_from(("Other", "To vent")), max_size=2),
    }

    def made(rows: list[dict[str, Any]]) -> list[GroundTruthEntry]:
        return [
            a_fact(f"c{place}", **{key: value for key, value in row.items() if value is not None or key == "person"})
            for place, row in enumerate(rows)
        ]

    return st.lists(st.fixed_dictionaries(told), min_size=least, max_size=most).map(made)
