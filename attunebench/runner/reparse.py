"""Read the journalled replies of results again with today's reader, and rewrite what comes out otherwise. No network.

Owns which replies belong to a result. A result keeps all that no reply says; one whose replies are not all there, or
whose prompts are no longer today's, is left as it is and named: no reply is read as the answer to another question.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from attunebench._version import __version__
from attunebench.errors import AttuneBenchError, DataError
from attunebench.journal import Journal, claim
from attunebench.journal.hashes import identities, prompt_digest, schema_digest
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.plan import with_draft
from attunebench.results.schema import (
    DRAFT,
    KEYS_OF_CALL,
    OF_REPLIES,
    SCALE_BY_JUDGE,
    SCORES_BY_JUDGE,
    VOTE_KEYS,
    Stamp,
    now,
)
from attunebench.results.votes import drafts_of, view_of, votes_in, with_votes
from attunebench.runner.exchange import Rules
from attunebench.runner.files import Identity, identity_of, read_object, write_json
from attunebench.runner.fingerprint import calls_sha256, differences
from attunebench.runner.job import Job
from attunebench.runner.run import assembled
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.runner.task import BENCHMARK, with_scores

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.journal import Entry
    from attunebench.protocol.calls import Call, Record
    from attunebench.runner.exchange import Ask

_TURN_KEYS = [keys for kind, keys in KEYS_OF_CALL.items() if kind != "post"]
_ANSWERS = ("turns", "post_conversation", "calls")
"""Where these are equal the result stays, whatever the order in which sums were made."""


@dataclass(slots=True)
class Changed:
    """What came out otherwise for one model: results, calls in them, and items of their answers."""

    results: int = 0
    calls: int = 0
    items: int = 0


@dataclass(slots=True)
class ReparseSummary:
    """What reading again came to. `left`: file name → why that result was left as it is."""

    unchanged: int = 0
    changed: dict[str, Changed] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    asked_again: int = 0
    """Calls that today's reader would have asked once more."""
    votes_dropped: int = 0
    """Votes on drafts that are read otherwise now: they are owed again."""

    @property
    def rewritten(self) -> int:
        """Result files that were written anew."""
        return sum(each.results for each in self.changed.values())


def reparse_results(folder: Path, conversations: Iterable[Conversation], codebook: Codebook) -> ReparseSummary:
    """Read the replies behind every result of the folder again and rewrite the results that come out otherwise.

    Results of the built-in baselines, whose replies nobody keeps, are passed over. Raises DataError where the folder
    has no journal, or one that cannot be used.
    """
    by_id = {conversation.conversation_id: conversation for conversation in conversations}
    summary = ReparseSummary()
    with ExitStack() as stack:
        journal = stack.enter_context(Journal.read(folder))
        if not journal.count():
            raise DataError(f"{folder} has no call journal (_calls.sqlite3) with replies to read again.")
        reader = _Reader(journal, codebook, summary)
        claims: dict[tuple[str, str, str], str] = {}
        for path in sorted(folder.glob("*.json")):
            result = read_object(path)
            identity = identity_of(result) if result is not None else None
            if result is None or identity is None or identity[1] == "baseline":
                continue
            try:
                _hold(stack, claims, folder, identity[1:])
                if (conversation := by_id.get(identity[0])) is None:
                    raise _Left("its conversation is not among those given")
                again = reader.read(result, identity, conversation)
            except _Left as reason:
                summary.left[path.name] = str(reason)
                continue
            if all(again[name] == result.get(name) for name in _ANSWERS):
                summary.unchanged += 1
                continue
            _count(summary.changed.setdefault(identity[2], Changed()), result, again)
            again["reparsed"] = {"timestamp": now(), "attunebench_version": __version__}
            write_json(path, with_scores(again, conversation))
    return summary


class _Left(Exception):  # noqa: N818 (no error: the result stays)
    """Why a result stays as it is."""


def _hold(stack: ExitStack, claims: dict[tuple[str, str, str], str], folder: Path, run: tuple[str, str, str]) -> None:
    """Keep runs of this provider, model and mode out while results of it are read again. Raises _Left."""
    if run not in claims:
        claims[run] = ""
        try:
            stack.enter_context(claim(folder, run[0], run[1], [run[2]]))
        except DataError as error:
            claims[run] = str(error).removesuffix(".")
    if claims[run]:
        raise _Left(claims[run])


@dataclass(slots=True)
class _Reader:
    """Reads the replies of one result after the other."""

    journal: Journal
    codebook: Codebook
    summary: ReparseSummary

    def read(self, result: Mapping[str, Any], identity: Identity, conversation: Conversation) -> dict[str, Any]:
        """The result with what today's reader makes of its replies. Raises _Left."""
        settings = _settings(result, identity)
        calls, stamp = self._plan(result, conversation, settings)
        rules = Rules(self.codebook, settings.max_tokens, settings.max_reasks)
        job = self._job(calls, self._chains_of(calls, settings), rules, key=(identity[0], identity[3]))
        asked_again = job.close()
        fresh = assembled(job, conversation, settings, stamp, (0, 0))
        turns, dropped = _turns(result["turns"], fresh["turns"])
        again = {**result, **{name: fresh[name] for name in OF_REPLIES}, "turns": turns}
        votes: list[Record] = []
        voted = view_of(again).voted
        for scale in dict.fromkeys(scale for scales in voted.values() for scale in scales.values()):
            job = self._votes(again, conversation, settings.model_copy(update={"judge_scale": scale}), rules)
            asked_again += job.close()
            votes += job.records.values()
        self.summary.asked_again += asked_again
        self.summary.votes_dropped += dropped
        # What the judges took is what it was: reading takes nothing, and moves no vote to another scale.
        voted_turns = with_votes(again, votes, result.get("judge_models") or [])["turns"]
        turns = [
            {
                name: old.get(name) if name == SCALE_BY_JUDGE else value
                for name, value in new.items()
                if name != SCALE_BY_JUDGE or name in old
            }
            for old, new in zip(turns, voted_turns, strict=True)
        ]
        read: dict[str, Any] = json.loads(json.dumps({**again, "turns": turns}))  # as it would be read from its file
        return read

    def _plan(
        self, result: Mapping[str, Any], conversation: Conversation, settings: RunSettings
    ) -> tuple[tuple[Call, ...], Stamp]:
        """Today's calls of a result, if they are those that it was made with. Raises _Left."""
        try:
            plan = BENCHMARK.plan(conversation, settings.modes[0], self.codebook, settings)
        except AttuneBenchError as error:
            raise _Left(str(error)) from error
        today = Stamp(settings.parameters, prompt_set_sha256(), self.codebook.sha256, calls_sha256(plan), {})
        if named := differences(view_of(result), today):
            raise _Left(f"it was made with other {', '.join(named)}")
        if {turn["turnNumber"] for turn in result["turns"]} != {turn.number for turn in conversation.turns}:
            raise _Left("its turns are not those of the conversation")
        return plan, today

    def _chains_of(self, calls: Sequence[Call], settings: RunSettings) -> dict[str, list[Entry]]:
        """Call id → the replies to that call, all from the one address that gave all of them. Raises _Left."""
        addresses: dict[tuple[str, str], dict[str, list[Entry]]] = {}
        for call in calls:
            for address, chain in self._chains(call, settings, settings.em.model).items():
                if address[0] == settings.em.provider:
                    addresses.setdefault(address, {})[call.id] = chain
        if not addresses:
            raise _Left("the journal has none of its replies")
        most = max(map(len, addresses.values()))
        if most < len(calls):
            raise _Left(f"the journal lacks the replies to {len(calls) - most} of its {len(calls)} calls")
        whole = [chains for chains in addresses.values() if len(chains) == most]
        return max(whole, key=lambda chains: max(chain[0].sent_at for chain in chains.values()))

    def _chains(self, call: Call, settings: RunSettings, model: str) -> dict[tuple[str, str], list[Entry]]:
        """(provider, address) → the latest replies to this very call, in the order of their asks."""
        parameters = json.dumps(settings.request_parameters(judge=call.judge is not None), sort_keys=True)
        names = identities(call)
        of_a_call = f"call_id IN ({', '.join('?' * len(names))}) AND model = ? AND parameters = ?"
        asked = (*names, model, parameters)
        digests = (prompt_digest(call.messages), schema_digest(call.schema))
        chains: dict[tuple[str, str], list[list[Entry]]] = {}
        for entry in sorted(self.journal.entries(of_a_call, asked), key=lambda entry: (entry.sent_at, entry.ask)):
            there = chains.setdefault((entry.provider, entry.base_url), [])
            if entry.ask == 0:
                there.append([])
            # Each ask goes on with the latest chain that waits for it.
            if waiting := [chain for chain in there if len(chain) == entry.ask]:
                waiting[-1].append(entry)
        fitting = {
            address: [chain for chain in there if (chain[0].prompt_sha256, chain[0].schema_sha256) == digests]
            for address, there in chains.items()
        }
        return {address: there[-1] for address, there in fitting.items() if there}

    def _votes(self, result: Mapping[str, Any], conversation: Conversation, settings: RunSettings, rules: Rules) -> Job:
        """The votes on the settings' scale that both the result and the journal have, each as a call of its judge's
        place in the result."""
        judges = result.get("judge_models") or ()
        named = tuple(ModelSettings(provider="results", model=judge) for judge in judges)
        told = settings.model_copy(update={"judges": named})
        drafts, votes = drafts_of(result), votes_in(result)
        calls: list[Call] = []
        chains: dict[str, list[Entry]] = {}
        for call in BENCHMARK.plan(conversation, settings.modes[0], self.codebook, told):
            judge = judges[call.judge] if call.judge is not None else ""
            vote = votes[call.turn].get(judge) if judge else None
            if vote is None or vote.scale != settings.scale or call.turn not in drafts:
                continue
            whole = replace(with_draft(call, drafts[call.turn]), needs=None)
            if found := self._chains(whole, settings, judge):
                chains[call.id] = max(found.values(), key=lambda chain: chain[0].sent_at)
                calls.append(whole)
        return self._job(calls, chains, rules)

    @staticmethod
    def _job(
        calls: Sequence[Call], chains: Mapping[str, Sequence[Entry]], rules: Rules, key: tuple[str, ...] = ()
    ) -> Job:
        """The calls with their replies, found by the number of the ask alone: a re-prompt may read otherwise today."""

        def known(call: Call, ask: Ask) -> Entry | None:
            chain = chains[call.id]
            return chain[ask.number] if ask.number < len(chain) else None

        return Job(key, calls, rules, known=known, exhaust=True)


def _settings(result: Mapping[str, Any], identity: Identity) -> RunSettings:
    """What the run of a result was told, as far as it shaped what was asked. Raises _Left."""
    there = view_of(result)
    parameters = there.stamp.parameters
    told = {name: value for name, value in parameters.items() if name in RunSettings.model_fields}
    em = ModelSettings(provider=identity[1], model=identity[2])
    try:
        settings = RunSettings.model_validate({**told, "em": em, "modes": (identity[3],)})
    except ValidationError as error:
        raise _Left("its parameters are none that a run can have") from error
    if not there.whole or settings.parameters != dict(parameters):
        raise _Left("it does not say with which parameters it was made, or lacks turns")
    return settings


def _turns(before: Sequence[Mapping[str, Any]], fresh: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The turns with today's answers, and how many votes went because they are on another draft."""
    by_number = {turn["turnNumber"]: turn for turn in fresh}
    turns, dropped = [], 0
    for old in before:
        new = by_number[old["turnNumber"]]
        turn = {**old, **{name: new[name] for names in _TURN_KEYS for name in names if name not in VOTE_KEYS}}
        if turn[DRAFT] != old.get(DRAFT):
            dropped += len(old.get(SCORES_BY_JUDGE) or {})
            turn |= {name: {} for name in VOTE_KEYS}
        turns.append(turn)
    return turns, dropped


def _count(changed: Changed, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Add what is different in a result, by call and by item."""
    blocks = [
        ({name: old.get(name) for name in names}, {name: new[name] for name in names})
        for old, new in zip(before["turns"], after["turns"], strict=True)
        for names in _TURN_KEYS
    ]
    blocks.append((before.get("post_conversation") or {}, after["post_conversation"]))
    changed.results += 1
    changed.calls += sum(old != new for old, new in blocks)
    changed.items += sum(_items_changed(old, new) for old, new in blocks)


def _items_changed(old: Any, new: Any) -> int:
    """Answers that differ. A block of none is the same as no block; reasons and sums are no answers."""
    if isinstance(old or new, Mapping) and isinstance(old or {}, Mapping) and isinstance(new or {}, Mapping):
        old, new = old or {}, new or {}
        names = [name for name in {**old, **new} if not name.endswith("reasoning") and not name.startswith("total")]
        return sum(_items_changed(old.get(name), new.get(name)) for name in names)
    return int(old != new)
