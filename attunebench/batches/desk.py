"""Between a run and its batch services: submissions that are never lost sight of, and patience with the line.

Whatever may cost money is in the ledger before it is sent. A submission of which nobody knows whether it became a batch
is looked for at the service before anything like it is sent again. Knows no call, no journal and no answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from attunebench.batches.ledger import Ledger, Submission
from attunebench.batches.requests import Origin
from attunebench.batches.service import Batch, RefusedError, Service
from attunebench.errors import UNBILLED, ConfigurationError, TransientError, Trouble
from attunebench.runner.events import Observer
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.backends.providers import Endpoint
    from attunebench.batches.parts import Part
    from attunebench.runner.settings import RunSettings

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

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


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What a run by batches is told beside a run's settings.

    `interval`: seconds between two looks at what is under way. `discount` is the share of a live call's price that a
    batch saves, None for what is known of the provider. `cancel`: what is under way is cancelled, what is done of it
    collected, and nothing new is sent. `origin` is noted for whoever plans again.
    """

    interval: float = 60.0
    discount: float | None = None
    cancel: bool = False
    origin: Origin = field(default_factory=Origin)


class OutageError(Exception):
    """The service is out of reach; what is under way goes on there."""


class InterruptedRunError(Exception):
    """The user wants to leave."""


@dataclass(slots=True, eq=False)
class UnderWay:
    """A batch that may be under way: what was submitted, the `part` that it was (None where an earlier process has sent
    it), and the batch as it was seen last, None for not at all."""

    submission: Submission
    part: Part | None = None
    batch: Batch | None = None
    looks: int = 0
    """How often it was looked at for what it does not show."""

    @property
    def id(self) -> str | None:
        """None while nobody knows it."""
        return self.submission.batch


class Watcher(Observer):
    """An observer that also hears of batches. By itself it does nothing."""

    def looked(self, batches: Sequence[UnderWay], seconds: float) -> None:
        """The batches were looked at, and will be again in so many seconds."""


class Desk:
    """What is under way at the services of one run, in the order in which it was sent.

    `services` by model; `sleep` is asyncio's, or a test's. After `interrupt` all that waits, now or later, raises
    InterruptedRunError.
    """

    def __init__(
        self,
        services: Mapping[str, Service],
        settings: RunSettings,
        options: BatchOptions,
        watcher: Watcher,
        sleep: Sleep,
    ) -> None:
        self.under_way: list[UnderWay] = []
        self._services = services
        self._settings = settings
        self._ledger = Ledger(settings.output)
        self._options = options
        self._watcher = watcher
        self._sleep = sleep
        self._interrupted = asyncio.Event()
        self._numbers = Counter[str]()
        self._lost = 0

    def interrupt(self) -> None:
        self._interrupted.set()

    @property
    def models(self) -> set[str]:
        """Those that have a batch under way."""
        return {each.submission.model for each in self.under_way}

    async def resume(self, submissions: Sequence[Submission]) -> None:
        """Take over what an earlier process has submitted. Raises ConfigurationError where that cannot be found out."""
        self.under_way += map(UnderWay, submissions)
        await self._find_unknown()

    async def submit(self, part: Part) -> bool:
        """Hand a part to its service; False where certainly no batch came of it, so that it may be tried again.

        Raises RefusedError (TooMuchError among them), after which there is none either.
        """
        service = self._services[part.model]
        self._numbers[part.tag] += 1
        mark = f"{part.tag}.{self._numbers[part.tag]}"

        async def upload() -> str:
            with part.content() as (file, size):
                return await service.upload(file, f"attunebench-{mark}.jsonl", size)

        file = await self._patiently(upload, part.model)
        self._check()
        sent = self._begun(part, file, service.endpoint)
        try:
            batch = await self._patiently(lambda: service.create(file, mark), part.model, only=UNBILLED)
        except RefusedError:
            await self.end(sent, "refused")
            raise
        except TransientError as error:
            self._watcher.warned(f"{error} Whether batch {mark} was made is looked up before anything is sent again.")
            await self._find_unknown()
            if sent in self.under_way:
                return True
            self._lost += 1
            if self._lost == MOST_LOST:
                raise OutageError(f"{error} The service made none of {MOST_LOST} batches in a row.") from error
            return False
        self._lost = 0
        self._made(sent, batch)
        return True

    def endpoint(self, sent: UnderWay) -> Endpoint:
        """Who was asked."""
        return replace(self._service(sent).endpoint, model=sent.submission.model)

    async def look(self, sent: UnderWay) -> Batch:
        """Its batch as it is now. Raises NoSuchBatchError and OutageError."""
        service, batch = self._service(sent), sent.id or ""
        sent.batch = await self._patiently(lambda: service.look(batch), sent.submission.model)
        return sent.batch

    async def fetch(self, sent: UnderWay, batch: Batch, into: BinaryIO) -> None:
        """Write all lines of a batch that has ended. Raises NoSuchBatchError where a file is gone, TooLongError for one
        that is longer than answers can be, and DataError where there is no room."""
        service, most = self._service(sent), MOST_AROUND + MOST_AN_ANSWER * sent.submission.requests
        for file in batch.files:
            begin = into.tell()

            async def download(file: str = file, begin: int = begin) -> None:
                into.seek(begin)
                into.truncate()
                await service.download(file, into, most)

            await self._patiently(download, sent.submission.model)

    async def cancel(self, sent: UnderWay) -> None:
        """Ask the service to do nothing more of it, which tells in the next look what came of that."""
        service, batch = self._service(sent), sent.id or ""
        with suppress(ConfigurationError):  # it has ended by itself, or is not there
            await self._patiently(lambda: service.cancel(batch), sent.submission.model)

    async def end(self, sent: UnderWay, how: str) -> None:
        """Nothing more is to be had of it: strike it off, and take the uploaded file away."""
        self._ledger.ended(sent.submission, how)
        self.under_way.remove(sent)
        with suppress(TransientError, ConfigurationError):  # it costs nothing, and the service forgets it in time
            await self._service(sent).delete(sent.submission.file)

    async def pause(self) -> None:
        """Show what is under way, and wait until the next look."""
        self._watcher.looked(tuple(self.under_way), self._options.interval)
        await self._wait(self._options.interval)

    async def _find_unknown(self) -> None:
        """Find the batches of submissions without an id; those that the service has not made are ended."""
        for number in range(LOOKS):
            by_model: dict[str, list[UnderWay]] = {}
            for each in self.under_way:
                if each.id is None:
                    by_model.setdefault(each.submission.model, []).append(each)
            if not by_model:
                return
            if number:
                await self._wait(self._options.interval)
            for model, unknown in by_model.items():
                await self._patiently(partial(self._search, unknown), model)
        for each in [each for each in self.under_way if each.id is None]:
            await self.end(each, "never made")

    async def _search(self, unknown: Sequence[UnderWay]) -> None:
        """Go through all batches of a service for these submissions to one model."""
        found: dict[str, list[Batch]] = {}
        try:
            async for batch in self._service(unknown[0]).batches():
                self._check()
                for sent in (each.submission for each in unknown):
                    if batch.mark == sent.mark or (batch.input_file is not None and batch.input_file == sent.file):
                        found.setdefault(sent.mark, []).append(batch)
        except ConfigurationError as error:
            if self._options.cancel:  # what cannot be found is not to be waited for
                return
            marks = ", ".join(each.submission.mark for each in unknown)
            raise ConfigurationError(
                f"Whether the service made a batch of {marks} cannot be found out: {error} Until it can, nothing is "
                f"sent again. Look at the provider's for one whose metadata say attunebench: {marks}; if there is "
                "none, the same command with --cancel goes on without it."
            ) from error
        for each in unknown:
            if batches := found.get(each.submission.mark):
                # The list begins with the newest; a second one is nothing that this program has asked for.
                self._made(each, min(batches, key=lambda batch: (batch.status == "failed", batch.created or 0)))
                if len(batches) > 1:
                    ids = ", ".join(printable(batch.id) for batch in batches)
                    self._watcher.warned(
                        f"Attention: the service has several batches of {each.submission.mark}: {ids}."
                    )

    def _begun(self, part: Part, file: str, endpoint: Endpoint) -> UnderWay:
        """It is on the disk before it is sent."""
        submission = Submission(
            tag=part.tag,
            part=self._numbers[part.tag],
            model=part.model,
            start=part.start,
            stop=part.stop,
            provider=endpoint.provider,
            base_url=endpoint.base_url,
            em_model=self._settings.em.model,
            modes=self._settings.modes,
            file=file,
            at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )
        self._ledger.submitting(submission)
        sent = UnderWay(submission, part)
        self.under_way.append(sent)
        return sent

    def _made(self, sent: UnderWay, batch: Batch) -> None:
        """The id goes to the disk before anything else is done."""
        known = replace(sent.submission, batch=batch.id)
        self._ledger.submitted(known)
        sent.submission, sent.batch = known, batch

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
                wait = max(asked, min(LONGEST_WAIT, self._options.interval * 2.0 ** (number - 1)))
                self._watcher.pausing(about, str(error), wait)
            await self._wait(wait)

    async def _wait(self, seconds: float) -> None:
        self._check()
        waits = [asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(self._interrupted.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        self._check()

    def _check(self) -> None:
        if self._interrupted.is_set():
            raise InterruptedRunError

    def _service(self, sent: UnderWay) -> Service:
        """Its model's; an earlier run may have had judges that this one has not."""
        return self._services.get(sent.submission.model, self._services[self._settings.em.model])
