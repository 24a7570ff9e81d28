"""Read the journalled replies of results again with today's reader, and rewrite what comes out otherwise. A result
whose replies are not all there, or whose prompts are no longer today's, is left: no reply is read as the answer to
another question."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from attunebench._version import __version__
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError, UsageError
from attunebench.journal import Entry, Journal, claim
from attunebench.journal.entries import identities, prompt_digest, schema_digest
from attunebench.protocol.calls import Call
from attunebench.results import schema
from attunebench.results.votes import View, view_of
from attunebench.runner.files import Identity, identity_of, read_object, same_answers, write_json
from attunebench.runner.fingerprint import Stamping, differences
from attunebench.runner.job import Job, Rules, record_of
from attunebench.runner.run import assembled
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.runner.work import BENCHMARK, with_scores

Chain = list[Entry]  # the replies to one call, in the order of its asks


@dataclass(slots=True)
class ReparseSummary:
    """Results that stayed, those `changed` by model, and those `left`: file → why. `votes_dropped`: votes on drafts
    that are read otherwise now; they are pending again."""

    unchanged: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    left: dict[str, str] = field(default_factory=dict)
    votes_dropped: int = 0


def reparse_results(folder: Path, conversations: Iterable[Conversation], codebook: Codebook) -> ReparseSummary:
    """Read the replies behind every result of the folder again and rewrite the results that come out otherwise,
    baselines' apart. Raises DataError where the folder has no journal, or one that cannot be used."""
    by_id = {conversation.conversation_id: conversation for conversation in conversations}
    summary = ReparseSummary()
    with ExitStack() as stack:
        journal = stack.enter_context(Journal.read(folder))
        if not journal.count():
            raise DataError(f"{folder} has no call journal (_calls.sqlite3) with replies to read again.")

        @cache
        def busy(provider: str, model: str, mode: str) -> str:
            """Keep runs of these out; why that is not possible, "" where it is."""
            try:
                stack.enter_context(claim(folder, provider, model, [mode]))
            except DataError as error:
                return str(error)
            return ""

        for path in sorted(folder.glob("*.json")):
            result = read_object(path)
            identity = identity_of(result) if result is not None else None
            if result is None or identity is None or identity[1] == "baseline":
                continue
            try:
                if (reason := busy(*identity[1:])) or identity[0] not in by_id:
                    raise ValueError(reason or "its conversation is missing")
                conversation = by_id[identity[0]]
                again, dropped = _read_again(journal, codebook, result, identity, conversation)
            except (ValueError, UsageError) as error:
                summary.left[path.name] = str(error).removesuffix(".")
                continue
            summary.votes_dropped += dropped
            if same_answers(again, result):
                summary.unchanged += 1
                continue
            summary.changed[identity[2]] += 1
            again["reparsed"] = {"timestamp": schema.now(), "attunebench_version": __version__}
            write_json(path, with_scores(again, conversation))
    return summary


def _read_again(
    journal: Journal, codebook: Codebook, result: Mapping[str, Any], identity: Identity, conversation: Conversation
) -> tuple[dict[str, Any], int]:
    """The result as it is read today, and how many votes went because they are on another draft. ValueError and
    UsageError: why it stays as it is."""
    there = view_of(result)
    settings = _settings(there, identity)
    calls = BENCHMARK.plan(conversation, settings.modes[0], codebook, settings)
    today = Stamping(settings, codebook, BENCHMARK)(calls, conversation.source_sha256)
    if named := differences(there, today):
        raise ValueError(f"it was made with other {', '.join(named)}")
    if {turn["turnNumber"] for turn in result["turns"]} != {turn.number for turn in conversation.turns}:
        raise ValueError("its turns differ from the conversation's")
    rules = Rules(codebook, settings.max_tokens, settings.max_reasks)
    job = Job((identity[0], identity[3]), (), rules)
    chains = _chains_of(journal, calls, settings)
    # All replies to a call, by the number of the ask alone: a re-prompt may read otherwise today.
    job.records |= {call.id: record_of(call, chains[call.id], rules) for call in calls}
    fresh = assembled(job, conversation, settings, today, (0, 0))
    by_number = {turn["turnNumber"]: turn for turn in fresh["turns"]}
    turns, dropped = [], 0
    for old in result["turns"]:
        turn = {**old, **{name: by_number[old["turnNumber"]][name] for name in schema.TURN_FIELDS}}
        if turn[schema.DRAFT] != old.get(schema.DRAFT):
            dropped += len(old.get(schema.SCORES_BY_JUDGE) or {})
            turn |= {name: {} for name in schema.VOTE_KEYS}
        turns.append(turn)
    return {**result, **{name: fresh[name] for name in schema.OF_REPLIES}, "turns": turns}, dropped


def _settings(there: View, identity: Identity) -> RunSettings:
    """What the run of a result was told. Raises ValueError."""
    parameters = dict(there.stamp.parameters)
    told = {name: value for name, value in parameters.items() if name in RunSettings.model_fields}
    em = ModelSettings(provider=identity[1], model=identity[2])
    try:
        settings = RunSettings.model_validate({**told, "em": em, "modes": (identity[3],)})
    except ValidationError as error:
        raise ValueError("its parameters are not valid for a run") from error
    if not there.whole or settings.parameters != parameters:
        raise ValueError("it lacks turns or its parameters")
    return settings


def _chains_of(journal: Journal, calls: Sequence[Call], settings: RunSettings) -> dict[str, Chain]:
    """Call id → the replies to that call, all from the one address that gave all of them. Raises ValueError."""
    addresses: defaultdict[str, dict[str, Chain]] = defaultdict(dict)
    for call in calls:
        for address, chain in _chains(journal, call, settings).items():
            addresses[address][call.id] = chain
    if not addresses:
        raise ValueError("the journal has none of its replies")
    # The most replies, and of several addresses with as many the latest.
    chains = max(addresses.values(), key=lambda each: (len(each), max(chain[0].sent_at for chain in each.values())))
    if lacking := len(calls) - len(chains):
        raise ValueError(f"the journal lacks the replies to {lacking} of its {len(calls)} calls")
    return chains


def _chains(journal: Journal, call: Call, settings: RunSettings) -> dict[str, Chain]:
    """Address → the latest replies to this very call."""
    names, em = identities(call), settings.em
    of_the_call = f"call_id IN ({', '.join('?' * len(names))}) AND provider = ? AND model = ? AND parameters = ?"
    parameters = json.dumps(settings.request_parameters(), sort_keys=True)
    digests = prompt_digest(call.messages), schema_digest(call.schema)
    begun: defaultdict[str, list[Chain]] = defaultdict(list)
    entries = journal.entries(of_the_call, (*names, em.provider, em.model, parameters))
    for entry in sorted(entries, key=lambda entry: (entry.sent_at, entry.ask)):
        there = begun[entry.base_url]
        there += [[]] if entry.ask == 0 else []
        # Each ask goes on with the latest chain that waits for it.
        if waiting := [chain for chain in there if len(chain) == entry.ask]:
            waiting[-1].append(entry)
    fitting = ((address, chain) for address, there in begun.items() for chain in there)
    return {address: chain for address, chain in fitting if (chain[0].prompt_sha256, chain[0].schema_sha256) == digests}
