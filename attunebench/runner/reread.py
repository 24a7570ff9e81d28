"""Read the journalled replies of results again with today's reader, and rewrite what comes out otherwise. No network.

Owns which replies belong to a result and what of its file they decide. A result keeps all that no reply says; one whose
replies are not all there, or whose prompts are no longer today's, is left as it is and named: a reply is never read as
the answer to another question.
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
from attunebench.journal.hashes import prompt_digest, schema_digest
from attunebench.judging import BINARY_BY_JUDGE, SCALE_BY_JUDGE, SCORES_BY_JUDGE, scale_of
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.assemble import add_votes
from attunebench.protocol.plan import with_draft
from attunebench.runner.exchange import Rules
from attunebench.runner.files import Identity, identity_of, read_object, write_json
from attunebench.runner.job import Job
from attunebench.runner.run import assembled, now
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.runner.stamps import Stamp, calls_sha256, differences, found_in
from attunebench.runner.task import BENCHMARK

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.journal import Entry
    from attunebench.protocol.calls import Call, Record
    from attunebench.runner.exchange import Ask
    from attunebench.runner.job import Known
    from attunebench.runner.run import QuickScores

_OF_REPLIES = (
    "em_model_reported",
    "providers_reported",
    "structured_used",
    "adapted",
    "post_conversation",
    "calls",
    "usage",
    "api_cost",
    "duration_seconds",
)
_VOTES = (SCORES_BY_JUDGE, BINARY_BY_JUDGE)
_TURN_KEYS = {
    "draft": ("em_drafted_response", "response_reasoning"),
    "review": (
        "em_emotion_tags",
        "em_binary_om_assessment",
        "em_binary_human_prediction",
        "review_reasoning",
        "emotion_reasoning",
        "binary_reasoning",
    ),
    "binary_hp": ("em_binary_om_assessment_hp", "em_binary_human_prediction_hp", "binary_hp_reasoning"),
    "pairwise": ("em_pairwise_selections", "pairwise_reasoning"),
    "judge": _VOTES,
}
_ANSWERS = ("turns", "post_conversation", "calls")
"""Where these are equal the result stays, whatever the order in which sums were made."""
_OF_A_CALL = "(call_id = ? OR call_id LIKE ?) AND model = ? AND parameters = ?"


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


def reparse_results(
    folder: Path,
    conversations: Iterable[Conversation],
    codebook: Codebook,
    *,
    quick_scores: QuickScores | None = None,
) -> ReparseSummary:
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
            if quick_scores is not None:
                again["scores"] = dict(quick_scores(conversation, again))
            write_json(path, again)
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
            claims[run] = str(error)
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
        chains = self._chains_of(calls, settings)
        rules = Rules(self.codebook, settings.max_tokens, settings.max_reasks)
        job = Job(identity[::3], calls, rules, known=_in(chains), exhaust=True)
        asked_again = job.close()
        fresh = assembled(job, conversation, settings, stamp, (0, 0))
        turns, dropped = _turns(result["turns"], fresh["turns"])
        again = {**result, **{name: fresh[name] for name in _OF_REPLIES}, "turns": turns}
        records: list[Record] = []
        voted = found_in(again).voted
        for scale in dict.fromkeys(scale for votes in voted.values() for scale in votes.values()):
            votes = self._votes(again, conversation, settings.model_copy(update={"judge_scale": scale}), rules)
            asked_again += votes.close()
            records += votes.records.values()
        with_votes = add_votes(again, records, result.get("judge_models") or [])
        # As it would be read from its file again. What the judges took is what it was: reading takes nothing.
        turns = [_with_scales_of(old, new) for old, new in zip(turns, with_votes["turns"], strict=True)]
        self.summary.asked_again += asked_again
        self.summary.votes_dropped += dropped
        read: dict[str, Any] = json.loads(json.dumps({**again, "turns": turns}))
        return read

    def _plan(
        self, result: Mapping[str, Any], conversation: Conversation, settings: RunSettings
    ) -> tuple[tuple[Call, ...], Stamp]:
        """Today's calls of a result, if they are those that it was made with. Raises _Left."""
        try:
            plan = BENCHMARK.plan(conversation, settings.modes[0], self.codebook, settings)
        except AttuneBenchError as error:
            raise _Left(str(error)) from error
        today = Stamp(
            parameters=settings.parameters,
            prompt_set_sha256=prompt_set_sha256(),
            codebook_sha256=self.codebook.sha256,
            calls_sha256=calls_sha256(plan),
            judge_calls_sha256=None,
            judge_scale=settings.scale,
        )
        if named := differences(found_in(result), today, judged=False):
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
        """(provider, address) → the replies to this very call, in the order of their asks."""
        parameters = json.dumps(settings.request_parameters(judge=call.judge is not None), sort_keys=True)
        # Earlier versions kept a judge's replies under its place among the judges.
        asked = (call.identity, f"{call.identity}/%" if call.judge is not None else call.identity, model, parameters)
        by_address: dict[tuple[str, str], list[Entry]] = {}
        for entry in sorted(self.journal.entries(_OF_A_CALL, asked), key=lambda entry: (entry.sent_at, entry.ask)):
            by_address.setdefault((entry.provider, entry.base_url), []).append(entry)
        digests = (prompt_digest(call.messages), schema_digest(call.schema))
        return {
            address: chain
            for address, entries_there in by_address.items()
            for chain in _by_first_ask(entries_there)
            if (chain[0].prompt_sha256, chain[0].schema_sha256) == digests
        }

    def _votes(self, result: Mapping[str, Any], conversation: Conversation, settings: RunSettings, rules: Rules) -> Job:
        """The votes on the settings' scale that both the result and the journal have, each as a call of its judge's
        place in the result."""
        judges = result.get("judge_models") or ()
        named = tuple(ModelSettings(provider="results", model=judge) for judge in judges)
        plan = BENCHMARK.plan(
            conversation, settings.modes[0], self.codebook, settings.model_copy(update={"judges": named})
        )
        turns = {turn["turnNumber"]: turn for turn in result["turns"]}
        chains: dict[str, list[Entry]] = {}
        calls: list[Call] = []
        for call in (call for call in plan if call.judge is not None):
            turn, judge = turns[call.turn], judges[call.judge or 0]
            draft, votes = turn.get("em_drafted_response"), turn.get(_VOTES[0]) or {}
            on_scale = scale_of((turn.get(SCALE_BY_JUDGE) or {}).get(judge)) == settings.scale
            if draft is None or judge not in votes or not on_scale:
                continue
            whole = with_draft(call, draft)
            if found := self._chains(whole, settings, judge):
                chains[call.id] = max(found.values(), key=lambda chain: chain[0].sent_at)
                calls.append(replace(whole, needs=None))
        return Job((), calls, rules, known=_in(chains), exhaust=True)


def _in(chains: Mapping[str, Sequence[Entry]]) -> Known:
    """Looks an ask up by its number alone: what today's reader would ask otherwise was asked as it was."""

    def known(call: Call, ask: Ask) -> Entry | None:
        chain = chains[call.id]
        return chain[ask.number] if ask.number < len(chain) else None

    return known


def _settings(result: Mapping[str, Any], identity: Identity) -> RunSettings:
    """What the run of a result was told, as far as it shaped what was asked. Raises _Left."""
    found = found_in(result)
    told = {name: value for name, value in found.parameters.items() if name in RunSettings.model_fields}
    em = ModelSettings(provider=identity[1], model=identity[2])
    try:
        settings = RunSettings.model_validate({**told, "em": em, "modes": (identity[3],)})
    except ValidationError as error:
        raise _Left("its parameters are none that a run can have") from error
    if not found.whole or settings.parameters != dict(found.parameters):
        raise _Left("it does not say with which parameters it was made, or lacks turns")
    return settings


def _by_first_ask(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Entries of one call in the order of time, as chains of ask 0, 1, 2 …: each ask goes on with the latest chain
    that waits for it."""
    chains: list[list[Entry]] = []
    for entry in entries:
        if entry.ask == 0:
            chains.append([])
        waiting = [chain for chain in chains if len(chain) == entry.ask]
        if waiting:
            waiting[-1].append(entry)
    return chains


def _turns(before: Sequence[Mapping[str, Any]], fresh: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The turns with today's answers, and how many votes went because they are on another draft."""
    by_number = {turn["turnNumber"]: turn for turn in fresh}
    turns, dropped = [], 0
    for old in before:
        new = by_number[old["turnNumber"]]
        turn = {**old, **{name: new[name] for kind, names in _TURN_KEYS.items() if kind != "judge" for name in names}}
        if turn["em_drafted_response"] != old.get("em_drafted_response"):
            dropped += len(old.get(_VOTES[0]) or {})
            turn |= {name: {} for name in (*_VOTES, SCALE_BY_JUDGE)}
        turns.append(turn)
    return turns, dropped


def _with_scales_of(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The turn as it was read again, its votes' scales as they were stated: reading moves no vote to another scale."""
    stated = {SCALE_BY_JUDGE: old[SCALE_BY_JUDGE]} if SCALE_BY_JUDGE in old else {}
    return {name: value for name, value in new.items() if name != SCALE_BY_JUDGE} | stated


def _count(changed: Changed, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Add what is different in a result, by call and by item."""
    blocks = [
        ({name: old.get(name) for name in names}, {name: new[name] for name in names})
        for old, new in zip(before["turns"], after["turns"], strict=True)
        for names in _TURN_KEYS.values()
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
