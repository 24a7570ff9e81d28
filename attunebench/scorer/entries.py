"""A scored result in the form in which `scores.json` holds it: as an entry, and as the finished text of its line.

Both say the same to the byte. Nine in ten of the counts of yes/no answers have stood in an earlier entry, so that their
rates and text are made once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from attunebench.metrics import binary
from attunebench.metrics.binary import Confusion
from attunebench.metrics.registry import Rules
from attunebench.scorer.conversation import ConversationScore, Pooled
from attunebench.scores import ConversationEntry, PooledBlock, PooledCell, entry_text
from attunebench.scores import Pooled as PooledJson

_BEFORE_POOLED = '"pooled": '


def entry_of(found: ConversationScore) -> ConversationEntry:
    """The entry of a result."""
    return {**_without_pooled(found), "pooled": pooled_json(found.pooled, found.rules)}


def line_of(found: ConversationScore) -> str:
    """The text of the entry, as `scores.entry_text` would write it."""
    text = entry_text(_without_pooled(found))
    # A quote within a text is escaped in JSON, and no other key is called so: this stands there once.
    before, key, after = text.partition(f"{_BEFORE_POOLED}{{}}")
    return f"{before}{_BEFORE_POOLED}{_pooled_text(found.pooled, found.rules)}{after}" if key else text


def pooled_json(pooled: Pooled, rules: Rules = "attunebench") -> PooledJson:
    """The counts and their rates, in all and by category, as they stand in the file."""
    return {block: None if tallies is None else _block(tallies, rules) for block, tallies in pooled.items()}


def _without_pooled(found: ConversationScore) -> ConversationEntry:
    """The entry, its counts of yes/no answers still lacking."""
    return {
        "conversationId": found.conversation_id,
        "provider": found.provider,
        "em_model": found.em_model,
        "mode": found.mode,
        "epoch": found.epoch,
        "source_file": found.source_file,
        "participant_id": found.participant_id,
        "n_turns": len(found.turns),
        "metrics": found.metrics,
        "turns": [
            {"turnNumber": number, "metrics": values, "answers": found.answers.turns[number]}
            for number, values in found.turns.items()
        ],
        "pooled": {},  # filled in by both callers
        "calls": found.tallies.as_json(),
        "composite_complete": found.composite_complete,
        "answers": found.answers.whole,
        "usage": found.answers.usage,
        "api_cost": found.answers.api_cost,
        "duration_seconds": found.answers.duration_seconds,
    }


def _block(tallies: Mapping[str, Confusion], rules: Rules) -> PooledBlock:
    cells = {category: _cell(confusion, rules) for category, confusion in tallies.items()}
    return {**_cell(binary.total(tallies), rules), "by_category": cells}


def _cell(confusion: Confusion, rules: Rules) -> PooledCell:
    """Without any truth the rates are undefined, and 0 by the released rules."""
    undefined = 0.0 if rules == "released" else None
    return {
        "tp": confusion.tp,
        "tn": confusion.tn,
        "fp": confusion.fp,
        "fn": confusion.fn,
        "accuracy": confusion.accuracy if confusion.total else undefined,
        "precision": confusion.precision if confusion.total else undefined,
        "recall": confusion.recall if confusion.total else undefined,
        "f1": confusion.f1 if confusion.total else undefined,
        "mcc": confusion.mcc if confusion.total else undefined,
    }


def _pooled_text(pooled: Pooled, rules: Rules) -> str:
    blocks = (f"{_quoted(block)}: {_block_text(tallies, rules)}" for block, tallies in pooled.items())
    return f"{{{', '.join(blocks)}}}"


def _block_text(tallies: Mapping[str, Confusion] | None, rules: Rules) -> str:
    if tallies is None:
        return "null"
    cells = ", ".join(
        [f"{_quoted(category)}: {_cell_text(confusion, rules)}" for category, confusion in tallies.items()]
    )
    return f'{_cell_text(binary.total(tallies), rules)[:-1]}, "by_category": {{{cells}}}}}'


@lru_cache(maxsize=65_536)
def _cell_text(confusion: Confusion, rules: Rules) -> str:
    # Whole numbers and finite floats read the same in Python and JSON, and this is several times as quick as `json`.
    numbers = [
        f'"{name}": {"null" if value is None else repr(value)}' for name, value in _cell(confusion, rules).items()
    ]
    return f"{{{', '.join(numbers)}}}"


@lru_cache(maxsize=1024)
def _quoted(name: str) -> str:
    return json.dumps(name)
