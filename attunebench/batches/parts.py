"""What waits to be handed to a batch service: parts of request files, cut smaller where the service takes no more.

Decides what goes next and in what size; sends nothing.
"""

from __future__ import annotations

import tempfile
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from attunebench.errors import ConfigurationError

if TYPE_CHECKING:
    from attunebench.batches.planning import Planned

SMALLEST = 10
"""Requests: batches are not cut below that, since each of them may take hours."""
MOST_REFUSALS = 5
"""How often a service may refuse the smallest batch before the run ends."""


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of a request file: the rows `start` to `stop` of a model in the table `tag`. `first`: the line in the file
    that the row `start` is, counted from 0."""

    tag: str
    model: str
    start: int
    stop: int
    path: Path
    first: int = 0

    @property
    def requests(self) -> int:
        return self.stop - self.start

    def cut(self, requests: int) -> tuple[Part, Part]:
        """The first so many requests, and the others."""
        middle = self.start + requests
        return replace(self, stop=middle), replace(self, start=middle, first=self.first + requests)

    @contextmanager
    def content(self) -> Iterator[tuple[BinaryIO, int]]:
        """Its lines as a file, and their bytes in all."""
        with self.path.open("rb") as whole, tempfile.TemporaryFile() as file:
            file.writelines(islice(whole, self.first, self.first + self.requests))
            size = file.tell()
            file.seek(0)
            yield file, size


def parts_of(planned: Planned) -> list[Part]:
    """A part for each file of a plan."""
    parts, reached = [], Counter[str]()
    for file in planned.files:
        start = reached[file.model]
        reached[file.model] += file.lines
        parts.append(Part(planned.tag, file.model, start, reached[file.model], file.path))
    return parts


class Queue:
    """Parts in the order in which they go. A model whose service has refused one for being too much gets one at a
    time from then on."""

    def __init__(self) -> None:
        self._parts: deque[Part] = deque()
        self._one_by_one: set[str] = set()
        self._most: dict[str, int] = {}
        self._refused = Counter[str]()

    def __len__(self) -> int:
        return len(self._parts)

    def put(self, parts: Iterable[Part]) -> None:
        """Add these behind the others."""
        self._parts.extend(parts)

    def put_back(self, part: Part) -> None:
        """It goes first after all."""
        self._parts.appendleft(part)

    def drop(self) -> None:
        """Nothing more is sent."""
        self._parts.clear()

    def take(self, under_way: Collection[str]) -> Part | None:
        """What goes next, while batches of the models `under_way` are; None where there is nothing now."""
        for number, part in enumerate(self._parts):
            if part.model in self._one_by_one and part.model in under_way:
                continue
            del self._parts[number]
            most = self._most.get(part.model, part.requests)
            if part.requests > most:
                part, rest = part.cut(most)
                self._parts.insert(number, rest)
            return part
        return None

    def too_much(self, part: Part, *, alone: bool) -> str:
        """The service refuses a part for its size, `alone` where no other batch of ours is under way to this model.

        It waits for those that are, or is cut in two; says which. Raises ConfigurationError where it cannot be smaller.
        """
        model = part.model
        self._one_by_one.add(model)
        self.put_back(part)
        if not alone:
            return "its requests wait until earlier batches have ended"
        if part.requests > SMALLEST:
            self._most[model] = max(SMALLEST, -(-part.requests // 2))
            return f"they go on in batches of {self._most[model]:,}, one after the other"
        self._refused[model] += 1
        if self._refused[model] >= MOST_REFUSALS:
            raise ConfigurationError(
                f"The batch service does not take even {part.requests} requests to {model} at a time: other batches of "
                "your account may fill its queue, or its limit is too small. Repeat the command later, or run without "
                "--batch."
            )
        return "the batch is as small as it may be, and is tried again later"
