"""Answers into the journal: every line of any response file that is an answer to one of our requests is kept, once.

First the money is made safe, then anything else is looked at: what a line says is in the journal before conversations
are loaded, prompts compared or results made.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from attunebench.backends.negotiation import Terms
from attunebench.backends.providers import NO_KEY, Endpoint
from attunebench.batches.answers import outcome_of_line, read_line
from attunebench.batches.requests import tag_of
from attunebench.batches.table import Row, read_rows, table_path
from attunebench.errors import AttuneBenchError, ConfigurationError, DataError, ItemError, TransientError
from attunebench.protocol.calls import Usage

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.journal import Journal

_AT_ONCE = 500
"""Lines whose entries go to the disk together."""

CostOf = Callable[[Row, "Reply"], "float | None"]
"""What a reply has cost in USD, None where it is unknown."""


Unanswered = Callable[[Row, "AttuneBenchError | Terms"], None]
"""Told of each line that brings no answer: why, or under which terms its request is asked again."""


def _stated_cost(_row: Row, reply: Reply) -> float | None:
    return reply.cost


def _unheard(_row: Row, _why: AttuneBenchError | Terms) -> None: ...


@dataclass(slots=True)
class Collected:
    """What lines came to. `kept` replies and `final` errors are new in the journal, `known` was there before.

    `later`: lines whose request may be asked again as it is, by reason; `stopped`: those that cannot be asked until
    something is mended, by reason; `adapted` counts requests that are asked again otherwise, since the server does not
    take a part of them. `unreadable` lines are no lines of a response file, `foreign` ones answer no request of this
    folder.
    """

    lines: int = 0
    kept: int = 0
    final: int = 0
    known: int = 0
    adapted: int = 0
    unreadable: int = 0
    foreign: int = 0
    later: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)
    tags: set[str] = field(default_factory=set)
    usage: Usage = field(default_factory=Usage)


class Tables:
    """The tables of a results folder, each read when the first of its ids is met."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: dict[str, Mapping[str, Row]] = {}

    def find(self, custom_id: str) -> Row | None:
        """The row of an id; None for one of no plan of this folder. Raises DataError for a damaged table."""
        tag = tag_of(custom_id)
        if tag is None or not tag.isalnum():
            return None
        if tag not in self._rows:
            path = table_path(self._folder, tag)
            self._rows[tag] = read_rows(path) if path.exists() else {}
        return self._rows[tag].get(custom_id)


async def collect_lines(
    lines: Iterable[bytes],
    tables: Tables,
    journal: Journal,
    *,
    sent_at: str,
    cost_of: CostOf = _stated_cost,
    unanswered: Unanswered = _unheard,
) -> Collected:
    """Keep what these lines of response files say; each is in the journal when this returns.

    `sent_at`: ISO 8601, when the requests left as far as that is known. Raises DataError: a damaged table, a journal
    that cannot be written.
    """
    collector = _Collector(tables, journal, sent_at, cost_of, unanswered)
    await collector.take(lines)
    return collector.collected


class _Collector:
    """Takes lines one by one and writes their entries in groups."""

    def __init__(self, tables: Tables, journal: Journal, sent_at: str, cost_of: CostOf, unanswered: Unanswered) -> None:
        self.collected = Collected()
        self._tables = tables
        self._journal = journal
        self._sent_at = sent_at
        self._cost_of = cost_of
        self._unanswered = unanswered
        self._endpoints: dict[tuple[str, str, str], Endpoint] = {}
        self._writing: list[asyncio.Task[None]] = []
        self._seen: set[str] = set()
        self._learned: dict[tuple[str, str, str], Terms] = {}

    async def take(self, lines: Iterable[bytes]) -> None:
        for content in lines:
            if content.strip():
                self.collected.lines += 1
                self._take(content)
            if len(self._writing) >= _AT_ONCE:
                await self._flush()
        await self._flush()
        for place, terms in self._learned.items():
            self._journal.learn(*place, terms.as_memory())

    def _take(self, content: bytes) -> None:
        collected = self.collected
        line = read_line(content)
        if line is None:
            collected.unreadable += 1
            return
        row = self._tables.find(line.custom_id)
        if row is None:
            collected.foreign += 1
            return
        collected.tags.add(tag_of(line.custom_id) or "")
        if row.request_hash in self._seen or self._journal.find(row.request_hash) is not None:
            collected.known += 1
            return
        outcome = outcome_of_line(line, row, self._endpoint(row))
        if isinstance(outcome, Terms | TransientError | ConfigurationError):
            self._unanswered(row, outcome)
        if isinstance(outcome, Terms):
            self._learn(row, outcome)
        elif isinstance(outcome, AttuneBenchError):
            self._take_error(row, outcome)
        else:
            cost = self._cost_of(row, outcome)
            collected.kept += 1
            collected.usage += outcome.usage
            self._keep(row, replace(outcome, cost=cost), None)

    def _take_error(self, row: Row, error: AttuneBenchError) -> None:
        if isinstance(error, ItemError):
            self.collected.final += 1
            self._keep(row, None, error)
        elif isinstance(error, TransientError):
            self.collected.later[str(error)] += 1
        else:
            assert isinstance(error, ConfigurationError), error
            self.collected.stopped[str(error)] += 1

    def _keep(self, row: Row, reply: Reply | None, error: ItemError | None) -> None:
        self._seen.add(row.request_hash)
        entry = row.entry(sent_at=self._sent_at, reply=reply, error=error)
        self._writing.append(asyncio.ensure_future(self._journal.keep(entry)))

    async def _flush(self) -> None:
        writing, self._writing = self._writing, []
        await asyncio.gather(*writing)

    def _learn(self, row: Row, terms: Terms) -> None:
        self.collected.adapted += 1
        place = (row.provider, row.base_url, row.model)
        known = self._learned.get(place)
        self._learned[place] = terms if known is None else known.learned(terms)

    def _endpoint(self, row: Row) -> Endpoint:
        place = (row.provider, row.base_url, row.model)
        if place not in self._endpoints:
            self._endpoints[place] = Endpoint(row.provider, row.model, row.base_url, SecretStr(NO_KEY), "none")
        return self._endpoints[place]


def response_lines(paths: Iterable[Path]) -> Iterator[bytes]:
    """The lines of response files, one after the other. Raises DataError for one that cannot be read."""
    for path in paths:
        yield from _lines(path)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from error
