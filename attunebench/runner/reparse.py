"""Read the journalled replies of results again with today's reader, and rewrite what comes out otherwise. No network.

Owns which replies belong to a result and what of its file they decide. A result keeps all that no reply says; one whose
replies are not all there, or whose prompts are no longer today's, is left as it is and named: a reply is never read as
the answer to another question.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from attunebench._version import __version__
from attunebench.errors import AttuneBenchError, DataError
from attunebench.journal import Hasher, Journal, claim
from attunebench.journal.hashes import prompt_digest, schema_digest
from attunebench.judging import BINARY_BY_JUDGE, SCALE_BY_JUDGE, SCORES_BY_JUDGE, scale_of
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.assemble import RunFacts, add_votes, assemble
from attunebench.protocol.plan import with_draft
from attunebench.runner.files import Identity, identity_of, read_object, write_json
from attunebench.runner.replay import Fold, folded
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.runner.stamps import Stamp, calls_sha256, differences, found_in
from attunebench.runner.task import BENCHMARK

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.journal import Entry
    from attunebench.protocol.calls import Call
    from attunebench.runner.results import QuickScores

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
_OF_A_CALL = "call_id = ? AND model = ? AND parameters = ?"


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
        reparser = _Reparser(journal, codebook)
        claims: dict[tuple[str, str, str], str] = {}
        for path in sorted(folder.glob("*.json")):
            result = read_object(path)
            identity = identity_of(result) if result is not None else None
            if result is None or identity is None or identity[1] == "baseline":
                continue
            try:
                _hold(stack, claims, folder, identity[1:])
                again = reparser.read(result, identity, by_id)
            except _Left as reason:
                summary.left[path.name] = str(reason)
                continue
            summary.asked_again += again.asked_again
            summary.votes_dropped += again.votes_dropped
            if changed := any(again.result[name] != result.get(name) for name in _ANSWERS):
                _count(summary.changed.setdefault(identity[2], Changed()), result, again.result)
            if changed:
                write_json(path, _finished(again.result, by_id[identity[0]], quick_scores))
            else:
                summary.unchanged += 1
    return summary


class _Left(Exception):  # noqa: N818 (no error: the result stays)
    """Why a result stays as it is."""


@dataclass(frozen=True, slots=True)
class _Again:
    """A result as its replies are read today."""

    result: dict[str, Any]
    asked_again: int
    votes_dropped: int


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


class _Reparser:
    """Reads the replies of one result after the other."""

    def __init__(self, journal: Journal, codebook: Codebook) -> None:
        self._journal = journal
        self._codebook = codebook
        self._prompt_set = prompt_set_sha256()

    def read(self, result: Mapping[str, Any], identity: Identity, conversations: Mapping[str, Conversation]) -> _Again:
        """The result with what today's reader makes of its replies. Raises _Left."""
        conversation = conversations.get(identity[0])
        if conversation is None:
            raise _Left("its conversation is not among those given")
        settings = _settings(result, identity)
        own = self._plan(result, conversation, settings)
        chains = self._chains_of(own, settings)
        folds = {call.id: self._fold(call, chains[call.id], settings) for call in own}
        records = {name: fold.record() for name, fold in folds.items()}
        fresh = assemble(conversation, settings.modes[0], records, _facts(settings))
        turns, dropped = _turns(result["turns"], fresh["turns"])
        again = {**result, **{name: fresh[name] for name in _OF_REPLIES}, "turns": turns}
        votes = [
            fold
            for scale in dict.fromkeys(scale for votes in found_in(again).voted.values() for scale in votes.values())
            for fold in self._votes(again, conversation, settings.model_copy(update={"judge_scale": scale}))
        ]
        voted = add_votes(again, (fold.record() for fold in votes), result.get("judge_models") or [])
        asked_again = sum(fold.next() is not None for fold in (*folds.values(), *votes))
        # As it would be read from its file again. What the judges took is what it was: reading takes nothing.
        turns = [_with_scales_of(old, new) for old, new in zip(turns, voted["turns"], strict=True)]
        again = json.loads(json.dumps({**again, "turns": turns}))
        return _Again(again, asked_again, dropped)

    def _plan(self, result: Mapping[str, Any], conversation: Conversation, settings: RunSettings) -> tuple[Call, ...]:
        """Today's calls of a result, if they are those that it was made with. Raises _Left."""
        try:
            plan = BENCHMARK.plan(conversation, settings.modes[0], self._codebook, settings)
        except AttuneBenchError as error:
            raise _Left(str(error)) from error
        today = Stamp(
            parameters=settings.parameters,
            prompt_set_sha256=self._prompt_set,
            codebook_sha256=self._codebook.sha256,
            calls_sha256=calls_sha256(plan),
            judge_calls_sha256=None,
            judge_scale=settings.scale,
        )
        if named := differences(found_in(result), today, judged=False):
            raise _Left(f"it was made with other {', '.join(named)}")
        if {turn["turnNumber"] for turn in result["turns"]} != {turn.number for turn in conversation.turns}:
            raise _Left("its turns are not those of the conversation")
        return plan

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
        parameters = Hasher(
            provider="", base_url="", model="", parameters=settings.request_parameters(judge=call.judge is not None)
        ).parameters
        entries = self._journal.entries(_OF_A_CALL, (call.id, model, parameters))
        by_address: dict[tuple[str, str], list[Entry]] = {}
        for entry in sorted(entries, key=lambda entry: (entry.sent_at, entry.ask)):
            by_address.setdefault((entry.provider, entry.base_url), []).append(entry)
        asked = (prompt_digest(call.messages), schema_digest(call.schema))
        return {
            address: chain
            for address, entries_there in by_address.items()
            for chain in _by_first_ask(entries_there)
            if (chain[0].prompt_sha256, chain[0].schema_sha256) == asked
        }

    def _votes(self, result: Mapping[str, Any], conversation: Conversation, settings: RunSettings) -> Iterator[Fold]:
        """The votes on the settings' scale that both the result and the journal have, each as a call of its judge's
        place in the result."""
        judges = result.get("judge_models") or ()
        named = [ModelSettings(provider="results", model=judge) for judge in judges]
        told = settings.model_copy(update={"judges": tuple(named)})
        plan = BENCHMARK.plan(conversation, settings.modes[0], self._codebook, told)
        for turn in result["turns"]:
            draft, votes = turn.get("em_drafted_response"), turn.get(_VOTES[0]) or {}
            planned = [call for call in plan if call.judge is not None and call.turn == turn["turnNumber"]]
            calls = [with_draft(call, draft) for call in planned] if votes and draft is not None else []
            for call in calls:
                judge = judges[call.judge or 0]
                # Judges are asked the same, and one may have had another place in the run that asked it.
                chains = [chain for each in calls for chain in self._chains(each, settings, judge).values()]
                on_scale = scale_of((turn.get(SCALE_BY_JUDGE) or {}).get(judge)) == settings.scale
                if judge in votes and on_scale and chains:
                    yield self._fold(call, max(chains, key=lambda chain: chain[0].sent_at), settings)

    def _fold(self, call: Call, chain: Sequence[Entry], settings: RunSettings) -> Fold:
        limits = {"max_tokens": settings.max_tokens, "max_reasks": settings.max_reasks}
        return folded(call, chain, self._codebook, **limits)


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


def _facts(settings: RunSettings) -> RunFacts:
    """Facts for a result of which only the answers are taken."""
    return RunFacts(
        provider=settings.em.provider,
        em_model=settings.em.model,
        run_timestamp="",
        attunebench_version=__version__,
        prompt_set_sha256="",
        codebook_sha256="",
    )


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


def _finished(
    result: Mapping[str, Any], conversation: Conversation, quick_scores: QuickScores | None
) -> dict[str, Any]:
    """The result as it is written: with its scores, and when and by which version it was read again."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    finished = {**result, "reparsed": {"timestamp": now, "attunebench_version": __version__}}
    if quick_scores is not None:
        finished["scores"] = dict(quick_scores(conversation, finished))
    return finished
