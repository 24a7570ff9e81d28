"""The order of a run: seeded and stratified, so that wherever it stops, what is done is a fair sample; and its shards.
Each stratum (topic category × groups of diagnoses) is shuffled, and its i-th of n conversations gets the place (i + u)
/ n with u between 0 and 1. A set that changes keeps the order of the strata that did not."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from attunebench.conversations.groups import named_groups
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError
from attunebench.journal.entries import name_digest
from attunebench.journal.locks import left_by, try_lock
from attunebench.runner.files import read_object, write_json
from attunebench.runner.settings import RunSettings, Shard

_PATIENCE = 60.0  # seconds: the list of shards is held for as long as it takes to read and write it


def stratified_order(conversations: Sequence[Conversation], seed: int) -> list[Conversation]:
    strata: dict[tuple[str, tuple[str, ...]], list[Conversation]] = defaultdict(list)
    for conversation in sorted(conversations, key=lambda c: c.conversation_id):
        strata[stratum_of(conversation)].append(conversation)
    placed = []
    for stratum, members in strata.items():
        # One generator for each stratum: a string seeds it the same on every machine and in every process.
        rng = random.Random(f"{seed}/{stratum}")
        rng.shuffle(members)
        placed += [((i + rng.random()) / len(members), c.conversation_id, c) for i, c in enumerate(members)]
    return [conversation for _, _, conversation in sorted(placed, key=lambda item: item[:2])]


def stratum_of(conversation: Conversation) -> tuple[str, tuple[str, ...]]:
    """(topic category in lower case, groups of diagnoses in alphabetical order); "" and () where nothing is told."""
    category = conversation.metadata.get("category")
    topics = category if isinstance(category, Sequence) and not isinstance(category, str) else (category,)
    topic = " + ".join(sorted({topic.strip().casefold() for topic in topics if isinstance(topic, str)}))
    told = conversation.profile.demographics.diagnoses if conversation.profile else ()
    return topic, named_groups(told)


def order_words(chosen: int, of: int, seed: int, part: str = "") -> str:
    """What a run takes in which order, in words. `part` says what part of that it takes where it is not all."""
    which = "all" if chosen == of else f"the first {chosen} of {of}"
    return f"{part + ' ' if part else ''}{which}, stratified by topic and diagnosis, seed {seed}"


def dealt(conversations: Sequence[Conversation], of: int, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """Conversation id → its shard (1 to `of`), in the run's order. Those of `known` keep theirs; every other one goes
    to the shard with the fewest calls so far, so that each is a fair sample and two differ by one conversation at
    most."""
    # Modes and judges make more of all of them alike.
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


def part_of(conversations: Sequence[Conversation], shard: Shard, folder: Path, *, note: bool) -> list[Conversation]:
    """The conversations of one shard. With `note` what is dealt is written down in the folder, so that shards that
    start at different times never share a conversation. Raises DataError where that cannot be done."""
    path = folder / f".attunebench-shards-{shard.of}.json"
    lock = path.with_suffix(".lock")
    with ExitStack() as held:
        if note:
            release = try_lock(lock, _PATIENCE)
            if release is None:
                raise DataError(
                    f"The list of shards {path} has been locked by another process for {_PATIENCE:.0f} s; repeat the "
                    f"command.{left_by(lock)}"
                )
            held.callback(release)
        known = (read_object(path) or {}).get("shards") if path.exists() else {}
        if not isinstance(known, dict) or not all(type(number) is int for number in known.values()):
            raise DataError(  # dealt anew, shards might overlap
                f"The list of shards {path} is damaged. Delete it when no shard of this folder is running, and rerun "
                "the command."
            )
        places = dealt(conversations, shard.of, known)
        if note and not places.items() <= known.items():
            write_json(path, {"schema_version": 1, "of": shard.of, "shards": {**known, **places}})
    return [each for each in conversations if places[each.conversation_id] == shard.number]


def share_of(settings: RunSettings, shard: Shard, max_cost: float | None) -> RunSettings:
    """The settings of one of the shards of a run that run at once: its part of the limits, `max_cost` of the money.
    There are no more shards than calls in flight."""
    calls, over = divmod(settings.concurrency, shard.of)
    rates = {name: rate and rate / shard.of for name, rate in (("rpm", settings.rpm), ("tpm", settings.tpm))}
    limits = {"concurrency": calls + (shard.number <= over), "max_cost": max_cost, **rates}
    return settings.model_copy(update={"shard": shard, **limits})


def journal_name(settings: RunSettings, who: str, task: str = "") -> str:
    """The journal's part of a part of this run ("2-of-8"): with a digest of what `claim` goes by, so that nobody but
    the next start of the same part writes to it."""
    digest = name_digest(settings.em.provider, settings.em.model, *sorted(set(settings.modes)), task)
    return f"{who}-{digest[:8]}"
