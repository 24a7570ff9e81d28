"""The demonstration of the arena: the bundled conversations, the replies in them and of baselines, and built-in judges.

Offline, by the same code as a real arena. A notice beside its numbers marks them as a demonstration.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from attunebench import api
from attunebench.arena.asking import ask_replies, ask_verdicts, verdict_settings
from attunebench.arena.folder import (
    Arena,
    add_histories,
    add_pairs,
    add_replies,
    lines_file,
    note_step,
    read_arena,
    refuse_foreign,
    write_lines,
)
from attunebench.arena.histories import histories_of
from attunebench.arena.objects import Verdict
from attunebench.arena.pairs import DesignSettings, choose_pairs
from attunebench.arena.replies import CANDIDATES, candidates_of
from attunebench.conversations import demo_folder
from attunebench.conversations.schema import Conversation
from attunebench.runner import ModelSettings, RunSettings

AUTHORS = ("majority", "random")
JUDGES = ("longest", "lexicon")
NOTICE = (
    "This is a demonstration, not a finding: the conversations are synthetic, the models are built-in baselines, "
    "and the raters are simple rules and the synthetic participants."
)
_QUESTION = "general"
"""The comparison of two replies that asks which one is preferred all in all."""


def make_demo_arena(folder: Path) -> Arena:
    """Make the arena in `folder`, in place of one that is there. Raises UsageError where something else is there."""
    refuse_foreign(folder)
    if folder.is_dir():
        shutil.rmtree(folder)
    conversations = api.load_conversations(demo_folder()).conversations
    add_histories(folder, histories_of(conversations))
    add_replies(folder, "candidates", candidates_of(conversations))
    note_step(folder, {"command": "demo", "notice": NOTICE})
    for name in AUTHORS:
        ask_replies(folder, RunSettings(em=ModelSettings(provider="baseline", model=name), output=folder))
    add_pairs(folder, choose_pairs(read_arena(folder), DesignSettings("full")).pairs)
    judges = [ModelSettings(provider="baseline", model=name) for name in JUDGES]
    ask_verdicts(folder, verdict_settings(folder, judges))
    chosen = _choices(conversations, read_arena(folder))
    write_lines(lines_file(folder, "verdicts", "participants"), chosen)
    return read_arena(folder)


def _choices(conversations: Sequence[Conversation], arena: Arena) -> Iterator[Verdict]:
    """Which replies the participants preferred, as verdicts of people."""
    pairs = {(pair.history, frozenset((pair.left, pair.right))): pair for pair in arena.pairs.values()}
    for conversation in conversations:
        about = conversation.profile
        rater = (about and about.participant_id) or conversation.conversation_id
        for turn in conversation.turns:
            for one in turn.comparisons:
                if one.question_id == _QUESTION and one.winner is not None:
                    a, b = CANDIDATES[one.a], CANDIDATES[one.b]
                    pair = pairs[f"{conversation.conversation_id}/{turn.number}", frozenset((a, b))]
                    winner = a if one.winner == "A" else b
                    yield Verdict(
                        pair=pair.id,
                        rater=rater,
                        rater_kind="human",
                        order="left" if a == pair.left else "right",
                        preference=1 if winner == pair.left else -1,
                    )
