"""Collects answers: every line of a response file that answers one of our requests is kept in the journal, once.

A line is in the journal before it is used. The first reply to a request stays, and a reply wins over an error, in any
order of lines and files. Also learns from rejections how to send requests next time: on terms of their own, which
become the server's unless other requests contradict them (an engine may reject one schema for its size and accept all
others).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from attunebench.backends.negotiation import Terms, first_terms
from attunebench.backends.providers import NO_KEY, Endpoint
from attunebench.backends.wire import looks_like_html
from attunebench.batches.answers import Line, Rejection, outcome_of_line, read_line, tag_of
from attunebench.batches.records import records
from attunebench.batches.requests import Row, Table, table_path
from attunebench.errors import (
    AttuneBenchError,
    ConfigurationError,
    DataError,
    ItemError,
    RejectedError,
    TransientError,
)
from attunebench.protocol.calls import Usage
from attunebench.runner.clients import Place

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.journal import Entry, Journal

_AT_ONCE = 500
"""Lines whose entries are written to disk together."""

NoReply = Terms | Rejection | AttuneBenchError
"""Why a line brings no reply, or under which terms its request is asked again."""


@dataclass(slots=True)
class Collected:
    """Counts of collected lines. `kept` replies are new in the journal, `known` ones were there before or came twice;
    `replaced` counts those of `kept` that replaced an error. `final` errors, by reason, are new too.

    `later`: requests without a reply that may be sent again unchanged, by reason; `stopped`: those that require a
    repair first, by reason; `adapted` counts requests that are sent again in another form, since the server does not
    accept a part of them. `unreadable` lines belong to no response file (`pages` of them begin a web page), `asking`
    ones are requests, `foreign` ones answer no request of this folder, and those of `damaged` tables, by table, cannot
    be matched. `cost`: USD as far as it is known, `unpriced` counts the replies without a known cost.
    """

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
    """(tag, conversation) of each line that answers a request."""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced: int = 0

    @property
    def tags(self) -> set[str]:
        """Plans with an answer."""
        return {tag for tag, _ in self.talks}

    def add(self, other: Collected) -> None:
        """Add the counts of another one."""
        for each in fields(self):
            ours, theirs = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, ours | theirs if isinstance(ours, set) else ours + theirs)


class Tables:
    """The tables of a results folder, each opened when the first of its ids is met."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tables: dict[str, Table | str | None] = {}
        """By tag; for a damaged one its problem, so that it is not read again for each line."""

    def of(self, tag: str) -> Table | None:
        """The table of a plan; None where this folder has no such plan. Raises DataError for a damaged one."""
        if tag not in self._tables:
            path = table_path(self._folder, tag)
            try:
                self._tables[tag] = Table(path) if path.exists() else None
            except DataError as error:
                self._tables[tag] = str(error)
        table = self._tables[tag]
        if isinstance(table, str):
            raise DataError(table)
        return table

    def find(self, custom_id: str) -> Row | None:
        """The row of a request; None where no plan here has it. Raises DataError where its table is damaged."""
        tag = tag_of(custom_id)
        table = self.of(tag) if tag is not None else None
        return table.find(custom_id) if table is not None else None


class Collector:
    """Reads the lines of one file after the other, and writes their replies in groups. `collected` counts them all.

    `cost_of`: what a reply has cost in USD, None where it is unknown. `endpoint`: the server that was asked; its key is
    removed from lines. Its methods raise DataError where the journal cannot be written.

    After `finish`, `unanswered` maps hashes of requests for which no line had a reply to what came instead.
    """

    def __init__(
        self,
        tables: Tables,
        journal: Journal,
        cost_of: Callable[[Row, Reply], float | None],
        endpoint: Endpoint | None = None,
    ) -> None:
        self.collected = Collected()
        self.unanswered: dict[str, NoReply] = {}
        self._tables = tables
        self._journal = journal
        self._cost_of = cost_of
        self._endpoint = endpoint
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
                counted.pages += looks_like_html(content)
            if len(self._entries) >= _AT_ONCE:
                await self._flush()
        await self._flush()
        self.collected.add(counted)
        return counted

    async def finish(self) -> None:
        """After the last line: keep the errors for which no line had a reply, settle what caused rejections, and keep
        what was learned about servers."""
        journal, collected = self._journal, self.collected
        left = {key: each for key, each in self._without.items() if journal.state(key) is None}
        collected.known += len(self._without) - len(left)
        taken = {place: journal.constraints_taken(*place) for place in self._places}
        rejected: dict[Place, set[str]] = {place: set() for place in self._places}
        alike = Counter(str(why.error) for _, why in left.values() if isinstance(why, Rejection))
        for key, (row, why) in left.items():
            if isinstance(why, Rejection):
                why = _settled(why, taken[row.place], alone=alike[str(why.error)] == 1)
            self.unanswered[key] = why
            if isinstance(why, Terms):
                collected.adapted += 1
                rejected[row.place] |= why.given_up
                ceiling = {} if why.ceiling is None else {"ceiling": why.ceiling}
                journal.learn(*row.own_place, {**why.as_memory(), **ceiling})
                continue
            if isinstance(why, ItemError):
                self._entries[key] = replace(row.entry, error=str(why), error_outcome=why.outcome)
                reasons = collected.final
            else:
                again = isinstance(why, TransientError | RejectedError)
                reasons = collected.later if again else collected.stopped
            reasons[str(why)] += 1
        await self._flush()
        for place in self._places:
            known = first_terms("", "auto", journal.terms(*place)).given_up
            given_up = (known | rejected[place]) - taken[place]
            if given_up != known:
                journal.learn(*place, {"given_up": sorted(given_up)} if given_up else {})
        await journal.flush()  # the next round uses it

    def _take_line(self, line: Line, counted: Collected) -> None:
        try:
            row = self._tables.find(line.custom_id)
        except DataError as error:
            counted.damaged[str(error)] += 1
            return
        if line.outcome is None:
            counted.asking += 1
        elif row is None:
            counted.foreign += 1
        else:
            counted.talks.add((tag_of(line.custom_id) or "", row.entry.conversation_id))
            self._places.add(row.place)
            self._take_answer(line, row, counted)

    def _take_answer(self, line: Line, row: Row, counted: Collected) -> None:
        key = row.entry.request_hash
        state = "reply" if key in self._entries else self._journal.state(key)
        provider, address, model = row.place
        endpoint = self._endpoint or Endpoint(provider, model, address or "its address", SecretStr(NO_KEY), "none")
        outcome = outcome_of_line(line, row, endpoint) if state != "reply" else None
        if isinstance(outcome, NoReply) and state is None:
            this = (row, outcome)
            self._without[key] = min(self._without.get(key, this), this, key=_rank)
        elif outcome is None or isinstance(outcome, NoReply):
            counted.known += 1
        else:
            cost = self._cost_of(row, outcome)
            counted.kept += 1
            counted.replaced += state == "error"
            counted.usage += outcome.usage
            counted.cost += cost or 0.0
            counted.unpriced += cost is None
            self._entries[key] = replace(row.entry, reply=replace(outcome, cost=cost))

    async def _flush(self) -> None:
        entries, self._entries = self._entries, {}
        await asyncio.gather(*map(self._journal.keep, entries.values()))


def _rank(unanswered: tuple[Row, NoReply]) -> list[bool]:
    """Of several lines without a reply to one request, the first in this order counts."""
    return [not isinstance(unanswered[1], kind) for kind in (ItemError, Terms, Rejection)]


def _settled(rejection: Rejection, taken: Collection[str], *, alone: bool) -> Terms | AttuneBenchError:
    """Where this model has answered other requests, a rejection is the request's own; it is sent again unchanged. Where
    several are rejected and none was answered under their output constraint, that may be the cause."""
    if rejection.guess is not None and rejection.constraint not in taken and not alone:
        return rejection.guess
    return rejection.error if taken or rejection.guess is not None else ConfigurationError(str(rejection.error))
