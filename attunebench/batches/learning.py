"""What response files tell of servers: which parts of a request they do not take, and what of it holds for all.

A request that was rejected is put otherwise the next time, on terms of its own. They become the server's where no other
request tells against it: an engine may reject one schema for its size, and take all the others. Knows no line's format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attunebench.backends.negotiation import NOTES, Concession, Terms

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.batches.table import Row
    from attunebench.journal import Journal

Place = tuple[str, str, str]
"""(provider, address, model)"""

_OF_PLACE = (
    "SELECT DISTINCT structured, parameters, notes FROM replies "
    "WHERE provider = ? AND base_url = ? AND model = ? AND error_outcome IS NULL"
)


def own_terms(terms: Terms, journal: Journal, place: Place, request_hash: str) -> Terms:
    """The terms of one request: the server's, and what the request itself was rejected for."""
    known = journal.terms(*_of_request(place, request_hash))
    if not known:
        return terms
    ceiling = known.get("ceiling")
    given_up = Terms.from_memory(known, terms.structured, terms.limit_name).given_up
    return replace(terms, given_up=terms.given_up | given_up, ceiling=ceiling if isinstance(ceiling, int) else None)


class Learning:
    """Hears of each answer and each rejection; `write` at the end, when the answers are in the journal.

    The outcome does not depend on the order in which it heard of them.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._rejected: dict[Place, frozenset[Concession]] = {}
        self._taken: dict[Place, frozenset[Concession]] = {}

    def rejected(self, row: Row, terms: Terms) -> None:
        """The request is asked again under these terms."""
        place = (row.provider, row.base_url, row.model)
        learned = {**terms.as_memory(), **({"ceiling": terms.ceiling} if terms.ceiling is not None else {})}
        self._journal.learn(*_of_request(place, row.request_hash), learned)
        self._rejected[place] = self._rejected.get(place, frozenset()) | terms.given_up

    def answered(self, row: Row, reply: Reply) -> None:
        """The request was taken as it was put."""
        place = (row.provider, row.base_url, row.model)
        taken = _taken(reply.structured, _object(row.parameters), reply.notes)
        self._taken[place] = self._taken.get(place, frozenset()) | taken

    def write(self) -> None:
        """Keep what is true of a server as far as the answers go."""
        for place in {**self._rejected, **self._taken}:
            memory = self._journal.terms(*place)
            known = Terms.from_memory(memory, "auto", "max_tokens").given_up
            taken = self._taken.get(place, frozenset())
            given_up = known - taken
            if rejected := self._rejected.get(place, frozenset()) - known - taken:
                given_up |= rejected - self._taken_before(place)
            if given_up != known:
                self._journal.learn(*place, {"given_up": sorted(given_up)} if given_up else {})

    def _taken_before(self, place: Place) -> frozenset[Concession]:
        taken: frozenset[Concession] = frozenset()
        for structured, parameters, notes in self._journal.select(_OF_PLACE, place):
            taken |= _taken(structured, _object(parameters), _object(notes))
        return taken


def _of_request(place: Place, request_hash: str) -> Place:
    """Where the journal has the terms of one request: no model is called by a hash."""
    return (place[0], place[1], request_hash)


def _taken(structured: str | None, parameters: Mapping[str, Any], notes: Mapping[str, Any]) -> frozenset[Concession]:
    """The parts that were sent with a request that was answered."""
    sent: dict[Concession, bool] = {
        "schema": structured == "schema",
        "object": structured == "object",
        "temperature": parameters.get("temperature") is not None,
        "seed": parameters.get("seed") is not None,
        "limit": True,
        "system": True,
    }
    formats = ("schema", "object")
    return frozenset(part for part, was in sent.items() if was and (part in formats or NOTES[part][0] not in notes))


@lru_cache(maxsize=1024)
def _object(text: str | None) -> Mapping[str, Any]:
    data = json.loads(text) if text else {}
    return data if isinstance(data, dict) else {}
