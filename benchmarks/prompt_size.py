"""How long all prompts of a conversation are, as two ratios.

1. Characters of all calls over those of a plain design built from the same templates: one growing thread that keeps
   every earlier step's instructions and answer formats and spells out both replies in each comparison. (The plain
   design's earlier answers would stand in its thread too; they are left out, which flatters it.) Target: at most 30 %.
2. Share of all characters that are a prefix in common with an earlier call. Target over 5 turns: at least 50 %.

Both over the calls to the evaluated model; judges are other models with a cache of their own.

Run: python benchmarks/prompt_size.py [FOLDER]   (the demonstration conversations without FOLDER)
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

from attunebench.codebook import Codebook, default_codebook
from attunebench.conversations import load_conversations
from attunebench.conversations.loading import demo_folder
from attunebench.conversations.schema import Conversation, Turn
from attunebench.protocol.calls import Call, Mode
from attunebench.protocol.modes import MODES
from attunebench.protocol.plan import plan_conversation


def characters(calls: Sequence[Call]) -> int:
    return sum(call.prompt_characters for call in calls)


def step_of(call: Call) -> str:
    """What a call says beyond the transcript: its last part, from the heading of the task on."""
    text = call.messages[-1].content
    return text[text.rindex("\nTASK: ") :]


def spelled_out(call: Call, turn: Turn) -> int:
    """Characters that two replies beside each comparison add to a pairwise step."""
    texts = turn.variants
    pairs = (turn.comparisons[int(index)] for index in call.asked.comparisons)
    return sum(len(texts[pair.a] or "") + len(texts[pair.b] or "") for pair in pairs)


def plain_characters(conversation: Conversation, calls: Sequence[Call]) -> int:
    """All prompts of the growing thread: each call resends the whole thread before it."""
    turns = {turn.number: turn for turn in conversation.turns}
    thread = 0
    transcript = 0
    total = 0
    for call in calls:
        step = len(step_of(call))
        shown = call.prompt_characters - step
        if call.kind == "pairwise":
            labelled = sum(len(text or "") for text in turns[call.turn].variants.values())
            step += spelled_out(call, turns[call.turn]) - labelled
        # What is new in the transcript since the last call, then the step itself, stay in the thread for good.
        thread += max(0, shown - transcript) + step
        transcript = max(transcript, shown)
        total += thread
    return total


def common_prefix(one: str, two: str) -> int:
    length = min(len(one), len(two))
    return next((at for at in range(length) if one[at] != two[at]), length)


def shared_characters(calls: Sequence[Call]) -> int:
    """Characters that an earlier call began with as well, message by message."""
    seen: list[str] = []
    shared = 0
    for call in calls:
        text = "\x00".join(message.content for message in call.messages)
        shared += max((common_prefix(text, other) for other in seen), default=0)
        seen.append(text)
    return shared


def measure(conversations: Sequence[Conversation], mode: Mode, codebook: Codebook) -> tuple[float, float]:
    size, share = [], []
    for conversation in conversations:
        calls = plan_conversation(conversation, mode, codebook)
        size.append(characters(calls) / plain_characters(conversation, calls))
        share.append(shared_characters(calls) / characters(calls))
    return statistics.mean(size), statistics.mean(share)


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else demo_folder()
    conversations = load_conversations(folder).conversations
    print(f"{len(conversations)} conversations, {sum(len(c.turns) for c in conversations)} turns")
    for mode in MODES:
        size, share = measure(conversations, mode, default_codebook())
        print(f"{mode:20} prompts / plain design {size:6.1%} (target 30 %)   shared prefix {share:6.1%} (target 50 %)")


if __name__ == "__main__":
    main()
