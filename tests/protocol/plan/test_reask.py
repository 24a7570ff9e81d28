"""A reask is the same prompt with one line more."""

from __future__ import annotations

import pytest
from talks import parsed, small_file

from attunebench.codebook import default_codebook
from attunebench.protocol.plan import plan_conversation, reask, with_draft

CALLS = {c.kind: c for c in plan_conversation(parsed(small_file()), "default", default_codebook(), judges=1)}


@pytest.mark.parametrize(
    ("kind", "missing", "named"),
    [
        ("draft", ["drafted_response"], "drafted_response"),
        ("review", ["emotion_tags", "binary_om_assessment.B13"], "emotion_tags; binary_om_assessment (B13)"),
        (
            "review",
            ["binary_om_assessment.B1", "binary_om_assessment.B13", "binary_human_prediction.B1"],
            "binary_om_assessment; binary_human_prediction (B1)",
        ),
        ("pairwise", ["pairwise_selections.1"], "pairwise_selections (1)"),
        (
            "post",
            ["predicted_post_panas.items.Proud", "conversation_wide.q1_lookingFor"],
            "predicted_post_panas.items (Proud); conversation_wide (q1_lookingFor)",
        ),
    ],
)
def test_one_line_names_what_is_missing(kind: str, missing: list[str], named: str) -> None:
    call = CALLS[kind]  # type: ignore[index]
    system, user = reask(call, missing)
    assert system == call.messages[0]
    lead = f"{call.messages[1].content}\n\nAn earlier answer to this had no readable value for: {named}. "
    assert user.content.startswith(lead)
    assert "\n" not in user.content[len(lead) :]


def test_a_judge_is_asked_again_with_the_draft() -> None:
    judge = with_draft(CALLS["judge"], "So sorry.")
    assert "So sorry." in reask(judge, ["helpfulness"])[-1].content
