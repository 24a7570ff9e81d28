"""Between a run and its batch services: submissions that are never lost sight of, and patience with the line.

Whatever may cost money is in the ledger before it is sent. A submission of which nobody knows whether it became a batch
is looked for at the service before anything like it is sent again. Knows no call, no journal and no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

from attunebench.batches.ledger import Ledger, Submission
from attunebench.batches.service import Batch, RefusedError, Service
from attunebench.errors import UNBILLED, ConfigurationError, TransientError, Trouble
from attunebench.runner.events import Observer
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.backends.providers import Endpoint
    from attunebench.batches.parts import Part

T = TypeVar("T")

LOOKS = 3
"""How often a submission is looked for before it counts as never made: lists may lag behind."""
MOST_TRIES = 12
"""Failures in a row after which a service counts as out of reach."""
LONGEST_WAIT = 600.0
"""Seconds between two tries, unless the service asks for more."""
LONGEST_ASKED = 86400.0
"""Seconds: who is asked to wait for longer than that leaves, and may come back."""
MOST_AN_ANSWER, MOST_AROUND = 1 << 20, 16 << 20
"""Bytes of a file of answers: for each of its requests, and beside that."""
MOST_LOST = 5
"""Submissions in a row of which nothing came, before the service counts as out of order."""


class OutageError(Exception):
    """The service is out of reach; what is under way goes on there."""


class InterruptedRunError(Exception):
    """The user wants to leave."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A batch as it is shown. `id` is None while nobody knows it; `since`: ISO 8601, when it was sent."""

    id: str | None
    model: str
    status: str
    requests: int
    answered: int
    failed: int
    since: str


class Watcher(Observer, Protocol):
    """An observer that also hears of batches."""

    def looked(self, batches: Sequence[UnderWay], seconds: float) -> None:
        """The batches were looked at, and will be again in so many seconds."""


class SilentWatcher(Observer):
    """The watcher of those who do not watch."""

    def looked(self, batches: Sequence[UnderWay], seconds: float) -> None: ...


class Clock:
    """Waits that an interruption ends. `sleep` is asyncio's, or a test's."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._sleep = sleep
        self._interrupted = asyncio.Event()

    def interrupt(self) -> None:
        """End the wait under way and all later ones."""
        self._interrupted.set()

    def check(self) -> None:
        """Raises InterruptedRunError after an interruption."""
        if self._interrupted.is_set():
            raise InterruptedRunError

    async def wait(self, seconds: float) -> None:
        """Raises InterruptedRunError where it is interrupted."""
        self.check()
        waits = [asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(self._interrupted.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        self.check()


class Desk:
    """What is under way at the services of one run.

    `services` by model; `interval` in seconds between two looks. With `giving_up` the user has said that what cannot be
    found is not to be waited for.
    """

    def __init__(
        self,
        services: Mapping[str, Service],
        ledger: Ledger,
        clock: Clock,
        watcher: Watcher,
        *,
        interval: float,
        giving_up: bool = False,
    ) -> None:
        self.under_way: list[Submission] = []
        self.seen: dict[str, Batch] = {}
        self.giving_up = giving_up
        self._services = services
        self._ledger = ledger
        self._clock = clock
        self._watcher = watcher
        self._interval = interval
        self._parts: dict[str, Part] = {}
        self._numbers: dict[str, int] = {}
        self._lost = 0

    @property
    def models(self) -> set[str]:
        """Those that have a batch under way."""
        return {each.model for each in self.under_way}

    def part(self, submission: Submission) -> Part | None:
        """The part that was submitted, where this process did it."""
        return self._parts.get(submission.mark)

    async def resume(self, submissions: Sequence[Submission]) -> None:
        """Take over what an earlier process has submitted. Raises ConfigurationError where that cannot be found out."""
        self.under_way += submissions
        await self._find_unknown()

    async def submit(self, part: Part, *, em_model: str, modes: tuple[str, ...]) -> bool:
        """Hand a part to its service; False where certainly no batch came of it, so that it may be tried again.

        Raises RefusedError (TooMuchError among them), after which there is none either.
        """
        service, mark = self._services[part.model], self._next_mark(part)
        name = f"attunebench-{mark}.jsonl"
        file = await self._patiently(lambda: _upload(service, part, name), part.model)
        self._clock.check()
        submission = Submission(
            tag=part.tag,
            part=self._numbers[part.tag],
            model=part.model,
            start=part.start,
            stop=part.stop,
            provider=service.endpoint.provider,
            base_url=service.endpoint.base_url,
            em_model=em_model,
            modes=modes,
            file=file,
            at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )
        self._ledger.submitting(submission)
        self.under_way.append(submission)
        self._parts[submission.mark] = part
        try:
            batch = await self._patiently(lambda: service.create(file, mark), part.model, only=UNBILLED)
        except RefusedError:
            await self.end(submission, "refused")
            raise
        except TransientError as error:
            self._watcher.warned(f"{error} Whether batch {mark} was made is looked up before anything is sent again.")
            if submission not in await self._find_unknown():
                return True
            self._lost += 1
            if self._lost == MOST_LOST:
                raise OutageError(f"{error} The service made none of {MOST_LOST} batches in a row.") from error
            return False
        self._lost = 0
        self._made(submission, batch)
        return True

    def endpoint(self, submission: Submission) -> Endpoint:
        """Who was asked."""
        return replace(self._service(submission).endpoint, model=submission.model)

    async def look(self, submission: Submission) -> Batch:
        """The submission's batch as it is now. Raises NoSuchBatchError and OutageError."""
        assert submission.batch is not None, "not found out yet"
        service, batch = self._service(submission), submission.batch
        self.seen[submission.mark] = seen = await self._patiently(lambda: service.look(batch), submission.model)
        return seen

    async def fetch(self, submission: Submission, batch: Batch, into: BinaryIO) -> None:
        """Write all lines of a batch that has ended. Raises NoSuchBatchError where a file is gone, TooLongError for one
        that is longer than answers can be, and DataError where there is no room."""
        service, most = self._service(submission), MOST_AROUND + MOST_AN_ANSWER * submission.requests
        for file in batch.files:
            begin = into.tell()
            await self._patiently(lambda f=file, b=begin: _download(service, f, into, b, most), submission.model)  # type: ignore[misc]

    async def cancel(self, submission: Submission) -> None:
        """Ask the service to do nothing more of it. What has ended by itself meanwhile stays as it is."""
        assert submission.batch is not None, "not found out yet"
        service, batch = self._service(submission), submission.batch
        await self._patiently(lambda: service.cancel(batch), submission.model)

    async def end(self, submission: Submission, how: str) -> None:
        """Nothing more is to be had of it: strike it off, and take the uploaded file away."""
        self._ledger.ended(submission, how)
        self.under_way = [each for each in self.under_way if each.mark != submission.mark]
        self.seen.pop(submission.mark, None)
        self._parts.pop(submission.mark, None)
        try:
            await self._service(submission).delete(submission.file)
        except (TransientError, ConfigurationError):
            return  # it costs nothing, and the service forgets it in time

    def set_aside(self, submission: Submission) -> None:
        """Look no more for it in this process; it stays in the ledger."""
        self.under_way = [each for each in self.under_way if each.mark != submission.mark]

    async def pause(self) -> None:
        """Show what is under way, and wait until the next look. Raises InterruptedRunError."""
        self._watcher.looked(self.shown(), self._interval)
        await self._clock.wait(self._interval)

    def shown(self) -> list[UnderWay]:
        """What is under way, in the order in which it was sent."""
        return [self._shown(each) for each in self.under_way]

    async def _find_unknown(self) -> list[Submission]:
        """Find the batches of submissions without an id; those that the service has not made are ended and returned."""
        for number in range(LOOKS):
            unknown = [each for each in self.under_way if each.batch is None]
            if not unknown:
                return []
            if number:
                await self._clock.wait(self._interval)
            for service in {id(found): found for found in map(self._service, unknown)}.values():
                mine = [each for each in unknown if self._service(each) is service]
                await self._patiently(lambda s=service, m=mine: self._search(s, m), mine[0].model)  # type: ignore[misc]
        unknown = [each for each in self.under_way if each.batch is None]
        for each in unknown:
            await self.end(each, "never made")
        return unknown

    async def _search(self, service: Service, unknown: Sequence[Submission]) -> None:
        """Go through all batches of the service for these."""
        found: dict[str, list[Batch]] = {}
        try:
            async for batch in service.batches():
                self._clock.check()
                for each in unknown:
                    if batch.mark == each.mark or (batch.input_file is not None and batch.input_file == each.file):
                        found.setdefault(each.mark, []).append(batch)
        except ConfigurationError as error:
            if self.giving_up:
                return
            marks = ", ".join(each.mark for each in unknown)
            raise ConfigurationError(
                f"Whether the service made a batch of {marks} cannot be found out: {error} Until it can, nothing is "
                f"sent again. Look at the provider's for one whose metadata say attunebench: {marks}; if there is "
                "none, the same command with --cancel goes on without it."
            ) from error
        for each in unknown:
            if batches := found.get(each.mark):
                # The list begins with the newest; a second one is nothing that this program has asked for.
                self._made(each, min(batches, key=lambda batch: (batch.status == "failed", batch.created or 0)))
                if len(batches) > 1:
                    ids = ", ".join(printable(batch.id) for batch in batches)
                    self._watcher.warned(f"Attention: the service has several batches of {each.mark}: {ids}.")

    def _made(self, submission: Submission, batch: Batch) -> None:
        """The id goes to the disk before anything else is done."""
        known = replace(submission, batch=batch.id)
        self._ledger.submitted(known)
        self.under_way = [known if each.mark == known.mark else each for each in self.under_way]
        self.seen[known.mark] = batch

    async def _patiently(
        self, act: Callable[[], Awaitable[T]], about: str, only: Collection[Trouble] | None = None
    ) -> T:
        """Again until it works; with `only` after troubles of these kinds alone. Raises OutageError in the end."""
        number = 0
        while True:
            try:
                return await act()
            except TransientError as error:
                if only is not None and error.kind not in only:
                    raise
                number += 1
                if number == MOST_TRIES:
                    raise OutageError(str(error)) from error
                asked = error.retry_after or 0.0
                if asked > LONGEST_ASKED:
                    days = f"{asked / 86400:,.0f} days"
                    raise OutageError(f"{error} It asks to wait for {days}: repeat the command then.") from error
                wait = max(asked, min(LONGEST_WAIT, self._interval * 2.0 ** (number - 1)))
                self._watcher.pausing(about, str(error), wait)
            await self._clock.wait(wait)

    def _service(self, submission: Submission) -> Service:
        """Its model's; an earlier run may have had judges that this one has not."""
        return self._services.get(submission.model) or next(iter(self._services.values()))

    def _next_mark(self, part: Part) -> str:
        self._numbers[part.tag] = number = self._numbers.get(part.tag, 0) + 1
        return f"{part.tag}.{number}"

    def _shown(self, submission: Submission) -> UnderWay:
        batch = self.seen.get(submission.mark)
        return UnderWay(
            id=submission.batch,
            model=submission.model,
            status=batch.status if batch else "not looked at yet",
            requests=submission.requests,
            answered=batch.completed if batch else 0,
            failed=batch.failed if batch else 0,
            since=submission.at,
        )


async def _upload(service: Service, part: Part, name: str) -> str:
    with part.content() as (file, size):
        return await service.upload(file, name, size)


async def _download(service: Service, file: str, into: BinaryIO, begin: int, most: int) -> None:
    into.seek(begin)
    into.truncate()
    await service.download(file, into, most)
