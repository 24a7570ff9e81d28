"""What waits to be handed to a batch service: parts of request files, cut smaller where the service takes no more.

Decides what goes next and in what size; sends nothing.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

from attunebench.errors import ConfigurationError

if TYPE_CHECKING:
    from attunebench.batches.requests import Plan, RequestFile

SMALLEST = 10
"""Requests: batches are not cut below that, since each of them may take hours."""
MOST_REFUSALS = 5
"""How often a service may refuse the smallest batch before the run ends."""


@dataclass(frozen=True, slots=True)
class Part:
    """Requests of one file: the rows `start` to `stop` of its model in the table `tag`."""

    tag: str
    file: RequestFile
    start: int
    stop: int

    @property
    def model(self) -> str:
        return self.file.model

    @property
    def requests(self) -> int:
        return self.stop - self.start

    @contextmanager
    def content(self) -> Iterator[tuple[BinaryIO, int]]:
        """Its lines as a file, and their bytes in all."""
        first = self.start - self.file.start
        with self.file.path.open("rb") as whole, tempfile.TemporaryFile() as file:
            file.writelines(islice(whole, first, first + self.requests))
            size = file.tell()
            file.seek(0)
            yield file, size


class Queue:
    """`parts` in the order in which they go. A model whose service has refused one for being too much gets one at a
    time from then on."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._most: dict[str, float] = {}
        """Model → requests that a batch may have, of those that get one at a time."""
        self._refused = Counter[str]()

    def put(self, plan: Plan) -> None:
        """Add a plan's requests behind the others."""
        self.parts += [Part(plan.tag, file, file.start, file.start + file.lines) for file in plan.files]

    def take(self, under_way: Collection[str]) -> Part | None:
        """What goes next, while batches of the models `under_way` are; None where there is nothing now."""
        for number, part in enumerate(self.parts):
            if part.model in self._most and part.model in under_way:
                continue
            end = int(min(part.stop, part.start + self._most.get(part.model, part.requests)))
            self.parts[number : number + 1] = [replace(part, start=end)] if end < part.stop else []
            return replace(part, stop=end)
        return None

    def too_much(self, part: Part, *, alone: bool) -> str:
        """The service refuses a part for its size, `alone` where no other batch of ours is under way to this model.

        It waits for those that are, or is cut in two; says which. Raises ConfigurationError where it cannot be smaller.
        """
        model = part.model
        self._most.setdefault(model, float("inf"))
        self.parts.insert(0, part)
        if not alone:
            return "its requests wait until earlier batches have ended"
        if part.requests > SMALLEST:
            self._most[model] = half = max(SMALLEST, -(-part.requests // 2))
            return f"they go on in batches of {half:,}, one after the other"
        self._refused[model] += 1
        if self._refused[model] >= MOST_REFUSALS:
            raise ConfigurationError(
                f"The batch service does not take even {part.requests} requests to {model} at a time: other batches of "
                "your account may fill its queue, or its limit is too small. Repeat the command later, or run without "
                "--batch."
            )
        return "the batch is as small as it may be, and is tried again later"
