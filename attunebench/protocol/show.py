"""One prompt as text, exactly as it would be sent: for people who want to read what a model is asked."""

from __future__ import annotations

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import UsageError
from attunebench.judging import JUDGE_SCALE, JudgeScale
from attunebench.protocol.calls import Call, Kind, Mode, PanasStrategy
from attunebench.protocol.plan import plan_conversation, plan_profile, with_draft

DRAFT_STAND_IN = "(the draft of the evaluated model)"


def show_prompt(
    conversation: Conversation,
    turn: int | None,
    kind: Kind,
    mode: Mode,
    codebook: Codebook,
    *,
    panas_strategy: PanasStrategy = "absolute",
    judge_scale: JudgeScale = JUDGE_SCALE,
    draft: str = DRAFT_STAND_IN,
) -> str:
    """The messages of one call, each under a line that names its role.

    `turn` is the turn's number; `post` and `profile` need none. A judge is shown judging `draft`. Raises UsageError
    where the conversation has no such turn, or where the turn takes no such call (no applicable questions, say).
    """
    if kind == "profile":
        return _written(plan_profile(conversation, codebook))
    numbers = [entry.number for entry in conversation.turns]
    if kind != "post" and turn not in numbers:
        asked = "A turn must be named" if turn is None else f"There is no turn {turn} in {conversation.conversation_id}"
        raise UsageError(f"{asked}; its turns are {', '.join(map(str, numbers))}.")
    number = 0 if kind == "post" else turn
    calls = plan_conversation(
        conversation, mode, codebook, judges=1, panas_strategy=panas_strategy, judge_scale=judge_scale
    )
    call = next((call for call in calls if call.kind == kind and call.turn == number), None)
    if call is None:
        raise UsageError(f"Turn {turn} of {conversation.conversation_id} has nothing for {kind} to ask.")
    if call.slot is not None:
        call = with_draft(call, draft)
    return _written(call)


def _written(call: Call) -> str:
    return "\n".join(f"=== {message.role} ===\n{message.content}" for message in call.messages) + "\n"
