"""Read the journalled replies of results again with today's reader, and rewrite what comes out otherwise. No network.

Owns which replies belong to a result and what of its file they decide. A result keeps all that no reply says; one whose
replies are not all there, or whose prompts are no longer today's, is left as it is and named: a reply is never read as
the answer to another question.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attunebench._version import __version__
from attunebench.errors import AttuneBenchError, DataError
from attunebench.journal import Journal, claim
from attunebench.journal.hashes import prompt_digest, schema_digest
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.assemble import RunFacts, add_votes, assemble
from attunebench.protocol.plan import plan_conversation, with_draft
from attunebench.runner.files import identity_of, read_object, write_json
from attunebench.runner.replay import Fold, folded
from attunebench.runner.settings import REQUEST_PARAMETERS
from attunebench.runner.stamps import Stamp, calls_sha256, differences, found_in

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.journal import Entry
    from attunebench.protocol.calls import Call, Mode, Record
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
_VOTES = ("em_draft_judge_scores_by_model", "em_draft_binary_assessment_by_model")
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
_ANY_ADDRESS = "conversation_id = ? AND call_id = ? AND provider = ? AND model = ? AND parameters = ?"


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
                again = reparser.read(result, by_id)
            except _Left as reason:
                summary.left[path.name] = str(reason)
                continue
            _count(summary, result, again)
            if again.result == result:
                summary.unchanged += 1
            else:
                write_json(path, _finished(again.result, by_id[identity[0]], quick_scores))
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

    def read(self, result: Mapping[str, Any], conversations: Mapping[str, Conversation]) -> _Again:
        """The result with what today's reader makes of its replies. Raises _Left."""
        conversation = conversations.get(str(result["conversationId"]))
        if conversation is None:
            raise _Left("its conversation is not among those given")
        plan = self._plan(result, conversation)
        own = [call for call in plan if call.judge is None]
        chains = self._chains_of(own, result)
        folds = {call.id: self._fold(call, chains[call.id], result["parameters"]) for call in own}
        records = {name: fold.record() for name, fold in folds.items()}
        fresh = assemble(conversation, result["mode"], records, _facts(result))
        turns, dropped = _turns(result["turns"], fresh["turns"])
        again = {**result, **{name: fresh[name] for name in _OF_REPLIES}, "turns": turns}
        votes = list(self._votes(again, plan))
        voted = add_votes(again, (fold.record() for fold in votes), result.get("judge_models") or [])
        # Reading a vote again takes nothing: what the judges took is what it was.
        spent = {name: result[name] for name in ("judge_usage", "judge_api_cost") if name in result}
        kept = {name: value for name, value in voted.items() if name in again} | spent
        asked_again = sum(fold.next() is not None for fold in (*folds.values(), *votes))
        return _Again(json.loads(json.dumps(kept)), asked_again, dropped)

    def _plan(self, result: Mapping[str, Any], conversation: Conversation) -> tuple[Call, ...]:
        """Today's calls of a result, if they are those that it was made with."""
        found = found_in(result)
        missing = [name for name in (*REQUEST_PARAMETERS, "max_reasks") if name not in found.parameters]
        if missing or not found.whole:
            raise _Left(f"its file lacks {', '.join(missing) or 'whole turns'}")
        try:
            plan = plan_conversation(
                conversation,
                cast("Mode", result.get("mode")),
                self._codebook,
                judges=len(result.get("judge_models") or ()),
                panas_strategy=found.parameters.get("panas_strategy", "absolute"),
            )
        except AttuneBenchError as error:
            raise _Left(str(error)) from error
        today = Stamp(
            parameters=found.parameters,
            prompt_set_sha256=self._prompt_set,
            codebook_sha256=self._codebook.sha256,
            calls_sha256=calls_sha256(call for call in plan if call.judge is None),
            judge_calls_sha256=None,
        )
        if named := differences(found, today, judged=False):
            raise _Left(f"it was made with other {', '.join(named)}")
        return plan

    def _chains_of(self, calls: Sequence[Call], result: Mapping[str, Any]) -> dict[str, list[Entry]]:
        """Call id → the replies of that call, all from the one address that gave all of them."""
        addresses: dict[str, dict[str, list[Entry]]] = {}
        for call in calls:
            for address, chain in self._chains(call, result, str(result["em_model"]), str(result["provider"])).items():
                addresses.setdefault(address, {})[call.id] = chain
        if not addresses:
            raise _Left("the journal has none of its replies")
        most = max(map(len, addresses.values()))
        if most < len(calls):
            raise _Left(f"the journal lacks the replies to {len(calls) - most} of its {len(calls)} calls")
        whole = [chains for chains in addresses.values() if len(chains) == most]
        return max(whole, key=lambda chains: max(chain[0].sent_at for chain in chains.values()))

    def _chains(
        self, call: Call, result: Mapping[str, Any], model: str, provider: str | None
    ) -> dict[str, list[Entry]]:
        """Address → the replies to this very call in the order of their asks."""
        parameters = json.dumps({name: result["parameters"][name] for name in REQUEST_PARAMETERS}, sort_keys=True)
        where, values = "call_id = ? AND model = ? AND parameters = ?", [call.id, model, parameters]
        if provider is not None:
            where, values = f"{where} AND provider = ?", [*values, provider]
        entries = sorted(self._journal.entries(where, values), key=lambda entry: (entry.sent_at, entry.ask))
        asked = (prompt_digest(call.messages), schema_digest(call.schema))
        found: dict[str, list[Entry]] = {}
        for address in dict.fromkeys((entry.provider, entry.base_url) for entry in entries):
            for chain in _by_first_ask(entry for entry in entries if (entry.provider, entry.base_url) == address):
                if (chain[0].prompt_sha256, chain[0].schema_sha256) == asked:
                    found[" ".join(address)] = chain
        return found

    def _votes(self, result: Mapping[str, Any], plan: Sequence[Call]) -> Iterator[Fold]:
        """The votes that the result has and the journal too, as calls of the judge's place in the result's list."""
        drafts = {turn["turnNumber"]: turn for turn in result["turns"]}
        by_turn: dict[int, list[Call]] = {}
        for call in plan:
            turn = drafts.get(call.turn, {})
            if call.judge is not None and turn.get("em_drafted_response") is not None:
                by_turn.setdefault(call.turn, []).append(with_draft(call, turn["em_drafted_response"]))
        for number, calls in by_turn.items():
            for place, judge in enumerate(result.get("judge_models") or ()):
                if judge not in (drafts[number].get(_VOTES[0]) or {}):
                    continue
                # Judges are asked the same, and one may have had another place in the run that asked it.
                chains = [chain for call in calls for chain in self._chains(call, result, judge, None).values()]
                if chains:
                    chain = max(chains, key=lambda chain: chain[0].sent_at)
                    call = next(call for call in calls if call.judge == place)
                    yield self._fold(call, chain, result["parameters"])

    def _fold(self, call: Call, chain: Sequence[Entry], parameters: Mapping[str, Any]) -> Fold:
        return folded(
            call,
            chain,
            self._codebook,
            max_tokens=parameters["max_tokens"],
            max_reasks=parameters["max_reasks"],
        )
