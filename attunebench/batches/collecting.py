"""Answers into the journal: every line of any response file that is an answer to one of our requests is kept, once.

First the money is made safe, then anything else is looked at: what a line says is in the journal before conversations
are loaded, prompts compared or results made. The order of lines and files changes nothing: the first reply to a request
stays, and any reply wins over an error.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from attunebench.backends.negotiation import Terms
from attunebench.backends.providers import NO_KEY, Endpoint
from attunebench.backends.wire import looks_like_html
from attunebench.batches.answers import Line, Rejection, outcome_of_line, read_lines
from attunebench.batches.learning import Learning
from attunebench.batches.records import records
from attunebench.batches.requests import tag_of
from attunebench.batches.table import Row, Table, table_path
from attunebench.errors import (
    AttuneBenchError,
    ConfigurationError,
    DataError,
    ItemError,
    RejectedError,
    TransientError,
)
from attunebench.protocol.calls import Usage

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.journal import Journal

_AT_ONCE = 500
"""Lines whose entries go to the disk together."""
_MOST_REASONS = 1000
"""Reasons that are told apart; what a server says of each request by number would fill the memory."""
OTHER_REASONS = "Other reasons."

CostOf = Callable[[Row, "Reply"], "float | None"]
"""What a reply has cost in USD, None where it is unknown."""


Unanswered = Callable[[Row, "AttuneBenchError | Terms"], None]
"""Told of each line that brings no answer: why, or under which terms its request is asked again."""


def _stated_cost(_row: Row, reply: Reply) -> float | None:
    return reply.cost


def _unheard(_row: Row, _why: AttuneBenchError | Terms) -> None: ...


@dataclass(slots=True)
class Collected:
    """What lines came to. `kept` replies are new in the journal, `known` ones were there before or came twice;
    `replaced` counts those of `kept` that took the place of an error. `final` errors, by reason, are new too.

    `later`: lines whose request may be asked again as it is, by reason; `stopped`: those that cannot be asked until
    something is mended, by reason; `adapted` counts requests that are asked again otherwise, since the server does not
    take a part of them. `unreadable` lines are no lines of a response file (`pages` of them begin a web page), `asking`
    ones are requests, `foreign` ones answer no request of this folder, and those of `damaged` tables, by table, cannot
    be told. `cost`: USD as far as it is known, `unpriced` counts the replies of which it is not.
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
    tags: set[str] = field(default_factory=set)
    talks: set[tuple[str, str]] = field(default_factory=set)
    """(tag, conversation) of each line that answers a request."""
    mended: set[str] = field(default_factory=set)
    """Conversations in which a reply took the place of an error."""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced: int = 0

    def add(self, other: Collected) -> None:
        """Count what the other one counts."""
        for each in fields(self):
            ours, theirs = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, ours | theirs if isinstance(ours, set) else ours + theirs)


class Tables:
    """The tables of a results folder, each opened when the first of its ids is met."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tables: dict[str, Table | str] = {}
        """By tag; of a damaged one what is wrong with it."""

    def find(self, custom_id: str) -> Row | None:
        """The row of an id; None for one of no plan of this folder. Raises DataError for a damaged table."""
        tag = tag_of(custom_id)
        table = self.of(tag) if tag is not None else None
        return table.find(custom_id) if table is not None else None

    def of(self, tag: str) -> Table | None:
        """The table of a plan. Raises DataError for a damaged one."""
        if tag not in self._tables:
            path = table_path(self._folder, tag)
            if not path.exists():
                return None
            try:
                self._tables[tag] = Table(path)
            except DataError as error:  # not read anew for each of its lines
                self._tables[tag] = str(error)
        table = self._tables[tag]
        if isinstance(table, str):
            raise DataError(table)
        return table


class Collector:
    """Takes the lines of one file after the other, and writes their entries in groups.

    `sent_at`: ISO 8601, when the requests left; the time of their plan where nothing is given. `unanswered` hears of
    each request that got no answer, and why. `endpoint`: who was asked, with the key that no line may repeat. Its
    methods raise DataError where the journal cannot be written.
    """

    def __init__(
        self,
        tables: Tables,
        journal: Journal,
        *,
        sent_at: str = "",
        cost_of: CostOf = _stated_cost,
        unanswered: Unanswered = _unheard,
        endpoint: Endpoint | None = None,
    ) -> None:
        self._collected = Collected()
        self._tables = tables
        self._journal = journal
        self._sent_at = sent_at
        self._cost_of = cost_of
        self._unanswered = unanswered
        self._asked = endpoint
        self._endpoints: dict[tuple[str, str, str], Endpoint] = {}
        self._writing: dict[str, asyncio.Task[None]] = {}
        self._hopeless: dict[str, tuple[str, ItemError]] = {}
        self._rejected: dict[str, tuple[str, Rejection]] = {}
        self._taken: dict[tuple[str, str, str], set[str]] = {}
        self._learning = Learning(journal)

    async def take(self, lines: Iterable[bytes]) -> Collected:
        """Keep the replies in these lines, which are in the journal when this returns, and count the lines."""
        self._collected = collected = Collected()
        for content in records(lines):
            self._take(content)
            if len(self._writing) >= _AT_ONCE:
                await self._flush()
        await self._flush()
        return collected

    async def finish(self) -> Collected:
        """After the last line: keep the errors for which no line had a reply, settle whose fault rejections are, and
        keep what was learned of servers."""
        self._collected = collected = Collected()
        for request_hash, (custom_id, error) in self._hopeless.items():
            if self._journal.state(request_hash) is not None:
                collected.known += 1
                continue
            if (row := self._tables.find(custom_id)) is not None:
                _count(collected.final, str(error))
                self._keep(row, None, error)
            if len(self._writing) >= _AT_ONCE:
                await self._flush()
        await self._flush()
        self._hopeless.clear()
        self._settle_rejections()
        self._learning.write()
        return collected

    def _take(self, content: bytes) -> None:
        lines = read_lines(content)
        for line in lines:
            self._take_line(line)
        if not lines:
            self._collected.lines += 1
            self._collected.unreadable += 1
            self._collected.pages += looks_like_html(content)

    def _take_line(self, line: Line) -> None:
        collected = self._collected
        collected.lines += 1
        try:
            row = self._tables.find(line.custom_id)
        except DataError as error:
            collected.damaged[str(error)] += 1
            return
        if line.asks:
            collected.asking += 1
        elif row is None:
            collected.foreign += 1
        else:
            tag = tag_of(line.custom_id) or ""
            collected.tags.add(tag)
            collected.talks.add((tag, row.conversation_id))
            self._take_answer(line, row)

    def _take_answer(self, line: Line, row: Row) -> None:
        state = "reply" if row.request_hash in self._writing else self._journal.state(row.request_hash)
        outcome = outcome_of_line(line, row, self._endpoint(row)) if state != "reply" else None
        if outcome is None or (state == "error" and isinstance(outcome, Terms | Rejection | AttuneBenchError)):
            self._collected.known += 1
        elif isinstance(outcome, Rejection):
            self._rejected.setdefault(row.request_hash, (row.custom_id, outcome))
        elif isinstance(outcome, Terms | AttuneBenchError):
            self._take_no_reply(row, outcome)
        else:
            if state == "error":
                self._collected.replaced += 1
                self._collected.mended.add(row.conversation_id)
            self._take_reply(row, outcome)

    def _take_reply(self, row: Row, reply: Reply) -> None:
        self._learning.answered(row, reply)
        cost = self._cost_of(row, reply)
        self._collected.kept += 1
        self._collected.usage += reply.usage
        self._collected.cost += cost or 0.0
        self._collected.unpriced += cost is None
        self._keep(row, replace(reply, cost=cost), None)

    def _take_no_reply(self, row: Row, why: Terms | AttuneBenchError) -> None:
        if isinstance(why, ItemError):
            # A reply may follow.
            self._hopeless.setdefault(row.request_hash, (row.custom_id, why))
            return
        self._unanswered(row, why)
        if isinstance(why, Terms):
            self._collected.adapted += 1
            self._learning.rejected(row, why)
        elif isinstance(why, TransientError | RejectedError):
            _count(self._collected.later, str(why))
        else:
            assert isinstance(why, ConfigurationError), why
            _count(self._collected.stopped, str(why))

    def _settle_rejections(self) -> None:
        """Where this model has answered others a rejection is its request's own, which is asked again as it is. Where
        several are rejected alike and none was answered with it, the constraint of their output may be to blame."""
        alike = Counter(str(rejection.error) for _, rejection in self._rejected.values())
        for request_hash, (custom_id, rejection) in self._rejected.items():
            row = self._tables.find(custom_id)
            if row is None or self._journal.state(request_hash) is not None:
                continue
            place = (row.provider, row.base_url, row.model)
            if place not in self._taken:
                self._taken[place] = self._journal.constraints_taken(*place)
            taken = self._taken[place]
            if rejection.guess is not None and rejection.constraint not in taken and alike[str(rejection.error)] > 1:
                self._take_no_reply(row, rejection.guess)
            else:
                known = bool(taken) or rejection.guess is not None
                self._take_no_reply(row, rejection.error if known else ConfigurationError(str(rejection.error)))
        self._rejected.clear()
        self._taken.clear()

    def _keep(self, row: Row, reply: Reply | None, error: ItemError | None) -> None:
        table = self._tables.of(tag_of(row.custom_id) or "")
        sent_at = self._sent_at or (table.head.created if table is not None else "")
        entry = row.entry(sent_at=sent_at, reply=reply, error=error)
        self._writing[row.request_hash] = asyncio.ensure_future(self._journal.keep(entry))

    async def _flush(self) -> None:
        writing, self._writing = self._writing, {}
        await asyncio.gather(*writing.values())

    def _endpoint(self, row: Row) -> Endpoint:
        if self._asked is not None:
            return self._asked
        place = (row.provider, row.base_url, row.model)
        if place not in self._endpoints:
            address = row.base_url or "its address"
            self._endpoints[place] = Endpoint(row.provider, row.model, address, SecretStr(NO_KEY), "none")
        return self._endpoints[place]


def _count(reasons: Counter[str], reason: str) -> None:
    reasons[reason if reason in reasons or len(reasons) < _MOST_REASONS else OTHER_REASONS] += 1
