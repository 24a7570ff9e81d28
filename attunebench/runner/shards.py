"""Which part of a run a shard is: conversations dealt out in the run's order, and kept as they were dealt.

Every conversation goes to the shard with the fewest calls so far, so each shard is a fair sample of the order and all
have much the same to do. Who has which is noted in the results folder: conversations that are added later join some
shard and move no other, so that shards started at different times never share a conversation. Knows no file name, no
call and no journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError
from attunebench.journal.hashes import name_digest
from attunebench.journal.locks import left_by, try_lock
from attunebench.runner.files import read_object, write_json
from attunebench.runner.settings import RunSettings, Shard

_PATIENCE = 60.0
"""Seconds: the list is held for as long as it takes to read and write it."""


def dealt(conversations: Sequence[Conversation], of: int, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """Conversation id → its shard (1 to `of`) for all conversations, given in the run's order.

    Those of `known` keep their shard; every other one goes to the shard with the fewest calls so far, the first of
    several. Where nothing is known, two shards differ by no more than the calls of the longest conversation.
    """
    # How much each is to do, against others: modes and judges make more of all of them alike.
    calls = {each.conversation_id: 4 * len(each.turns) + 1 for each in conversations}
    places = {name: shard for name, shard in (known or {}).items() if name in calls and 1 <= shard <= of}
    loads = dict.fromkeys(range(1, of + 1), 0)
    for name, shard in places.items():
        loads[shard] += calls[name]
    for name in calls:
        if name not in places:
            places[name] = min(loads, key=lambda shard: (loads[shard], shard))
            loads[places[name]] += calls[name]
    return places


def part_of(
    conversations: Sequence[Conversation], shard: Shard, folder: Path, *, note: bool = True
) -> list[Conversation]:
    """The conversations of one shard, out of those of the whole run in its order.

    With `note` what is dealt is written down in the results folder, which is there; all processes do so one after the
    other. Raises DataError where that cannot be done.
    """
    path = folder / f".attunebench-shards-{shard.of}.json"
    lock = path.with_suffix(".lock")
    if not note:
        places = dealt(conversations, shard.of, _read(path))
    elif release := try_lock(lock, _PATIENCE):
        try:
            known = _read(path)
            places = dealt(conversations, shard.of, known)
            if not places.items() <= known.items():
                write_json(path, {"schema_version": 1, "of": shard.of, "shards": {**known, **places}})
        finally:
            release()
    else:
        raise DataError(
            f"The list of shards {path} has been locked by another process for {_PATIENCE:.0f} s; repeat the command."
            f"{left_by(lock)}"
        )
    return [each for each in conversations if places[each.conversation_id] == shard.number]


def share_of(settings: RunSettings, shard: Shard, max_cost: float | None) -> RunSettings:
    """The settings of one of the shards of a run that run at once: its part of the limits, `max_cost` of the money.

    Calls under way are divided in whole numbers, the first shards having one more, so there are no more shards than
    calls; requests and tokens a minute are divided evenly.
    """
    calls, over = divmod(settings.concurrency, shard.of)
    share = {
        "shard": shard,
        "concurrency": calls + (shard.number <= over),
        "rpm": settings.rpm and settings.rpm / shard.of,
        "tpm": settings.tpm and settings.tpm / shard.of,
        "max_cost": max_cost,
    }
    return settings.model_copy(update=share)


def journal_name(settings: RunSettings, who: str, task: str = "") -> str:
    """The name of the journal file of a part of this run: `who` (such as "2-of-8") and a digest of the run.

    The digest is of what `claim` goes by, so that nobody but the next start of the same part writes to the same file.
    """
    digest = name_digest(settings.em.provider, settings.em.model, *sorted(set(settings.modes)), task)
    return f"{who}-{digest[:8]}"


def _read(path: Path) -> dict[str, int]:
    """What was dealt before. A list that somebody has damaged stops the command: dealt anew, shards might overlap."""
    if not path.exists():
        return {}
    shards = (read_object(path) or {}).get("shards")
    if not isinstance(shards, Mapping) or not all(type(shard) is int for shard in shards.values()):
        raise DataError(
            f"The list of shards {path} is damaged. Delete it when no shard of this folder is running, and repeat the "
            "command."
        )
    return dict(shards)
