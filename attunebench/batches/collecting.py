"""Keeps every line of a response file that answers one of our requests in the journal, once, before it is used.

The first reply to a request stays, and a reply wins over an error, in any order. Rejections teach how to send requests
next time: on terms of their own, which become the server's unless other requests contradict them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import SecretStr

from attunebench.backends import wire
from attunebench.backends.base import Reply, Request
from attunebench.backends.caught import kept_headers, located, without_key
from attunebench.backends.faults import Fault, error_for, number
from attunebench.backends.negotiation import Terms, adapted, first_terms
from attunebench.backends.providers import NO_KEY, Endpoint
from attunebench.batches.records import records
from attunebench.batches.requests import Row, Table, tag_of
from attunebench.errors import AttuneBenchError, ConfigurationError, DataError, ItemError, RejectedError, TransientError
from attunebench.journal import Entry, Journal
from attunebench.protocol.calls import Asked, Call, Message
from attunebench.runner.budget import Cost
from attunebench.runner.clients import Place

NEVER_TAKEN = frozenset(("batch_expired", "batch_cancelled", "batch_cancelling", "batch_failed"))  # reached no model
_ANSWERED = frozenset(("response", "error", "generated_text", "__inference_error__"))  # an answer has at least one
_AT_ONCE = 500  # lines whose entries are written to disk together

NoReply = Terms | AttuneBenchError
"""Why a line brings no reply, or under which terms its request is asked again."""


class Line(NamedTuple):
    """One line with an id. `outcome`: the model's reply or what went wrong, None for a line that is a request;
    `request_id`: the engine's own name of it."""

    custom_id: str
    outcome: Reply | Fault | None = None
    request_id: str | None = None


def read_line(content: bytes) -> Line | None:
    """What a record says; None where it belongs to no request or response file (truncated, no JSON, no id).

    OpenAI's service and vLLM's `run-batch` write {custom_id, response {status_code, request_id, body}, error}; Ray Data
    LLM writes `generated_text` with its counts of tokens, and `__inference_error__` where a row failed. Tools that
    convert them may turn objects into strings, and missing values into a word or NaN."""
    try:
        data = wire.parse_body(content)
    except ValueError:
        return None
    custom_id = data.get("custom_id") if isinstance(data, Mapping) else None
    if not isinstance(custom_id, str):
        return None
    if _ANSWERED.isdisjoint(data):
        return Line(custom_id.strip())  # a request, or the row of one in a table that lies in the same folder
    response = _object(data.get("response"))
    response = response if isinstance(response, Mapping) else {}
    error = next((said for key in ("__inference_error__", "error") if wire.says_something(said := data.get(key))), None)
    status, body = int(number(response.get("status_code")) or 0), _object(response.get("body"))
    if error is None and isinstance(text := data.get("generated_text"), str):
        counts = {"prompt_tokens": data.get("num_input_tokens"), "completion_tokens": data.get("num_generated_tokens")}
        body = {"choices": [{"message": {"content": text}}], "usage": counts}
    unanswered = error is not None and not isinstance(body, Mapping)
    if unanswered or (status and not 200 <= status < 300):
        said = wire.error_in(body) or wire.error_in(error) or wire.error_in({"error": error or "no reason given"})
        assert said is not None, "an error that says something describes itself"
        # A bare string is an exception of the engine, whatever status comes with it: no verdict on the request, and no
        # reason to change it.
        bare = unanswered and isinstance(error, str)
        outcome: Reply | Fault = wire.fault_of_error(said, status=200 if bare else status or 200)
    else:
        outcome = wire.outcome_of_body(body)
    request_id = response.get("request_id")
    return Line(custom_id.strip(), outcome, request_id if isinstance(request_id, str) else None)


def _object(value: Any) -> Any:
    """The object in a string; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        with suppress(ValueError):
            return wire.parse_body(value.encode("utf-8", "replace"))
    return value


def outcome_of_line(line: Line, row: Row, endpoint: Endpoint) -> Reply | Terms | AttuneBenchError:
    """The outcome of the request in `row`: a reply; the terms for asking again, where the server does not accept a part
    of the request; or the error (ItemError where it can never be answered, TransientError and RejectedError where it
    may be sent again unchanged, ConfigurationError where something has to be repaired first)."""
    terms, entry = row.terms, row.entry
    request = _request(entry.kind, entry.max_tokens, entry.ask, entry.parameters)
    assert line.outcome is not None, "this is a request, not an answer"
    if not isinstance(line.outcome, Fault):
        headers = kept_headers({"x-request-id": line.request_id}, endpoint) if line.request_id else {}
        reply = without_key(line.outcome, endpoint)
        return replace(reply, structured=terms.rung, notes=terms.notes(request), headers=headers)
    fault = located(line.outcome, endpoint, answered=True, reask=entry.ask)
    if NEVER_TAKEN.intersection(fault.code.split()):
        return TransientError(f"The batch ended before the request was run ({wire.tidy(fault.message or fault.code)}).")
    try:
        further = adapted(terms, request, fault)
    except ConfigurationError as error:
        return error
    return error_for(fault, endpoint) if further is None else further


@lru_cache(maxsize=1024)
def _request(kind: Any, max_tokens: int, ask: int, parameters: str) -> Request:
    """A request with all that its terms depend on, and no texts: many rows share one."""
    sent, messages = json.loads(parameters), (Message("system", ""), Message("user", ""))
    call = Call("", "", "default", 0, kind, messages, Asked(kind), {})
    temperature, seed = sent.get("temperature"), sent.get("seed")
    return Request(call, messages, max_tokens, temperature=temperature, seed=seed, timeout=0.0, reask=ask)


@dataclass(slots=True)
class Collected:
    """Counts of collected lines. Replies: `kept` are new (`replaced` of them in place of an error) and took what is
    `spent`; `known` were there before or came twice.

    Requests without a reply, by reason: `final` errors, `later` ones may be sent again unchanged, `stopped` ones need a
    repair first; `adapted` counts those that are sent again without what the server does not accept. Lines:
    `unreadable` ones belong to no response file (`pages` of them begin a web page), `asking` ones are requests,
    `foreign` ones answer nothing here, `damaged` ones have a damaged table. `talks`: (tag, conversation) of answers."""

    lines: int = 0
    kept: int = 0
    known: int = 0
    replaced: int = 0
    adapted: int = 0
    unreadable: int = 0
    pages: int = 0
    asking: int = 0
    foreign: int = 0
    final: Counter[str] = field(default_factory=Counter)
    later: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)
    damaged: Counter[str] = field(default_factory=Counter)
    talks: set[tuple[str, str]] = field(default_factory=set)
    spent: Cost = field(default_factory=Cost)

    @property
    def tags(self) -> set[str]:
        """Plans with an answer."""
        return {tag for tag, _ in self.talks}

    def add(self, other: Collected) -> None:
        for each in fields(self):
            ours, theirs = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, ours | theirs if isinstance(ours, set) else ours + theirs)


class Collector:
    """Reads the lines of one file after the other, and writes their replies in groups. `collected` counts them all.

    `tables`: by tag. `cost_of`: what a reply has cost in USD, None where it is unknown. `endpoint`: the server that was
    asked; its key is removed from lines. After `finish`, `unanswered` maps hashes of requests for which no line had a
    reply to what came instead. Its methods raise DataError where the journal cannot be written."""

    def __init__(
        self,
        tables: Mapping[str, Table],
        journal: Journal,
        cost_of: Callable[[Row, Reply], float | None],
        endpoint: Endpoint | None = None,
    ) -> None:
        self.collected = Collected()
        self.unanswered: dict[str, NoReply] = {}
        self._tables, self._journal = tables, journal
        self._cost_of, self._endpoint = cost_of, endpoint
        self._entries: dict[str, Entry] = {}
        self._without: dict[str, tuple[Row, NoReply]] = {}
        self._places: set[Place] = set()

    async def take(self, lines: Iterable[bytes]) -> Collected:
        """Keep the replies in these lines, which are in the journal when this returns; their counts."""
        counted = Collected()
        for content in records(lines):
            counted.lines += 1
            if (line := read_line(content)) is not None:
                self._take_line(line, counted)
            else:
                counted.unreadable += 1
                counted.pages += wire.looks_like_html(content)
            if len(self._entries) >= _AT_ONCE:
                await self._flush()
        await self._flush()
        self.collected.add(counted)
        return counted

    async def finish(self) -> None:
        """After the last line: keep the errors for which no line had a reply, and what was learned about servers."""
        journal, collected = self._journal, self.collected
        left = {key: each for key, each in self._without.items() if journal.state(key) is None}
        collected.known += len(self._without) - len(left)
        taken = {server: journal.constraints_taken(*server) for server in self._places}
        rejected: dict[Place, set[str]] = {server: set() for server in self._places}
        for key, (row, why) in left.items():
            server = row.place
            if isinstance(why, RejectedError) and not taken[server]:
                why = ConfigurationError(str(why))  # it has answered nobody: no request's own fault
            self.unanswered[key] = why
            if isinstance(why, Terms):
                collected.adapted += 1
                rejected[server] |= why.given_up
                ceiling = {} if why.ceiling is None else {"ceiling": why.ceiling}
                journal.learn(*row.own_place, {**why.as_memory(), **ceiling})
            elif isinstance(why, ItemError):
                self._entries[key] = replace(row.entry, error=str(why), error_outcome=why.outcome)
                collected.final[str(why)] += 1
            else:
                again = isinstance(why, TransientError | RejectedError)
                (collected.later if again else collected.stopped)[str(why)] += 1
        await self._flush()
        for server in self._places:
            known = first_terms("", "auto", journal.terms(*server)).given_up
            given_up = (known | rejected[server]) - taken[server]
            if given_up != known:
                journal.learn(*server, {"given_up": sorted(given_up)} if given_up else {})
        await journal.flush()  # the next round uses it

    def _take_line(self, line: Line, counted: Collected) -> None:
        tag = tag_of(line.custom_id) or ""
        try:
            row = self._tables[tag].find(line.custom_id) if tag in self._tables else None
        except DataError as error:
            counted.damaged[str(error)] += 1
            return
        if line.outcome is None:
            counted.asking += 1
        elif row is None:
            counted.foreign += 1
        else:
            counted.talks.add((tag, row.entry.conversation_id))
            self._places.add(row.place)
            self._take_answer(line, row, counted)

    def _take_answer(self, line: Line, row: Row, counted: Collected) -> None:
        key = row.entry.request_hash
        state = "reply" if key in self._entries else self._journal.state(key)
        provider, address, model = row.place
        endpoint = self._endpoint or Endpoint(provider, model, address or "its address", SecretStr(NO_KEY), "none")
        outcome = outcome_of_line(line, row, endpoint) if state != "reply" else None
        if isinstance(outcome, NoReply) and state is None:
            # Of several lines without a reply to one request, the first kind in this order counts.
            self._without[key] = min(
                self._without.get(key, (row, outcome)),
                (row, outcome),
                key=lambda each: [not isinstance(each[1], kind) for kind in (ItemError, Terms, RejectedError)],
            )
        elif outcome is None or isinstance(outcome, NoReply):
            counted.known += 1
        else:
            cost = self._cost_of(row, outcome)
            counted.kept += 1
            counted.replaced += state == "error"
            counted.spent.add(outcome.usage, cost)
            self._entries[key] = replace(row.entry, reply=replace(outcome, cost=cost))

    async def _flush(self) -> None:
        entries, self._entries = self._entries, {}
        await asyncio.gather(*map(self._journal.keep, entries.values()))
