"""Between a run and its batch services: tracks every submission and retries network errors.

Whatever may cost money is in the ledger before it is sent. If it is unknown whether a submission became a batch, the
service is searched before anything like it is sent again. Knows no call, no journal and no answer.
"""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from attunebench.batches.ledger import Ledger, Submission
from attunebench.batches.requests import Origin
from attunebench.batches.service import Batch, RefusedError, Service
from attunebench.errors import UNBILLED, ConfigurationError, TransientError, Trouble
from attunebench.results.schema import now
from attunebench.runner.events import Observer

if TYPE_CHECKING:
    from attunebench.batches.requests import RequestFile
    from attunebench.runner.settings import RunSettings

T = TypeVar("T")

LOOKS = 3
"""How often a submission is looked for before it counts as never made: lists may lag behind."""
MOST_TRIES = 12
"""Failures in a row after which a service counts as out of reach."""
LONGEST_WAIT = 600.0
"""Seconds between two tries, unless the service asks for more."""
LONGEST_ASKED = 86400.0
"""Seconds: where a service asks for a longer wait than that, the run ends."""
MOST_AN_ANSWER, MOST_AROUND = 1 << 20, 16 << 20
"""The most bytes of a file of answers: for each request, and in addition."""
MOST_LOST = 5
"""Submissions in a row without a batch, after which the service counts as broken."""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The options of a run by batches beside a run's settings.

    `interval`: seconds between two checks of what is under way. `discount` is the share of a live call's price that a
    batch saves, None for what is known of the provider. `cancel`: cancel what is under way, collect what is done of it,
    and send nothing new. `origin` is noted for whoever plans again.
    """

    interval: float = 60.0
    discount: float | None = None
    cancel: bool = False
    origin: Origin = field(default_factory=Origin)


class OutageError(Exception):
    """The service is out of reach; what is under way goes on there."""


class TooLongError(Exception):
    """A file has more bytes than the answers to its requests can have."""


@dataclass(slots=True, eq=False)
class UnderWay:
    """A batch that may be under way at a service: what was submitted, the `file` of it (None where an earlier process
    has sent it), the batch as last seen (None for never), and how often it was checked for missing answers."""

    service: Service
    submission: Submission
    file: RequestFile | None = None
    batch: Batch | None = None
    looks: int = 0

    @property
    def id(self) -> str | None:
        """None while it is unknown."""
        return self.submission.batch


class Watcher(Observer):
    """An observer that also receives batch events. Does nothing by default."""

    def looked(self, batches: Sequence[UnderWay], seconds: float) -> None:
        """The batches were checked; the next check is in so many seconds."""


class Desk:
    """What is `under_way` at the `services` (by model) of one run, in the order in which it was sent."""

    def __init__(
        self, services: Mapping[str, Service], settings: RunSettings, options: BatchOptions, watcher: Watcher
    ) -> None:
        self.under_way: list[UnderWay] = []
        self._services = services
        self._settings = settings
        self._ledger = Ledger(settings.output)
        self._options = options
        self._watcher = watcher
        self._numbers = count(1)
        self._lost = 0

    @property
    def models(self) -> set[str]:
        """Those that have a batch under way."""
        return {each.submission.model for each in self.under_way}

    async def resume(self, submissions: Sequence[Submission]) -> None:
        """Take over what an earlier process has submitted. Raises ConfigurationError where its state is unknown."""
        # An earlier run may have had judges that this one has not.
        em = self._services[self._settings.em.model]
        self.under_way += [UnderWay(self._services.get(each.model, em), each) for each in submissions]
        for each in [each for each in self.under_way if each.id is None]:
            await self._find(each)

    async def submit(self, file: RequestFile) -> bool:
        """Submit a file to its service; False where certainly no batch was made, so that it may be tried again.

        Raises RefusedError (including TooMuchError), after which there is none either.
        """
        service, number = self._services[file.model], next(self._numbers)

        async def upload() -> str:
            with file.path.open("rb") as content:
                return await service.upload(content, f"attunebench-{file.tag}.{number}.jsonl", file.bytes)

        sent = self._begin(service, file, number, await self._patiently(upload))
        mark = sent.submission.mark
        try:
            made = await self._patiently(partial(service.create, sent.submission.file, mark), only=UNBILLED)
            self._identify(sent, made)
        except RefusedError:
            await self.end(sent, "refused")
            raise
        except TransientError as error:
            self._watcher.warned(f"{error} The service is searched for batch {mark} before anything is sent again.")
            await self._find(sent)
            if sent not in self.under_way:
                self._lost += 1
                if self._lost == MOST_LOST:
                    raise OutageError(f"{error} The service made none of {MOST_LOST} batches in a row.") from error
                return False
        self._lost = 0
        return True

    async def look(self, sent: UnderWay) -> Batch:
        """Its batch as it is now. Raises NoSuchBatchError and OutageError."""
        sent.batch = await self._patiently(partial(sent.service.look, sent.id or ""))
        return sent.batch

    async def fetch(self, sent: UnderWay, batch: Batch, into: BinaryIO) -> None:
        """Write all lines of a batch that has ended. Raises NoSuchBatchError where a file is gone, TooLongError, and
        OSError where there is no room."""
        service, most = sent.service, MOST_AROUND + MOST_AN_ANSWER * sent.submission.requests

        async def download(file: str, begin: int) -> None:
            into.seek(begin)
            into.truncate()
            async with aclosing(service.download(file)) as parts:
                async for part in parts:
                    into.write(part)
                    if into.tell() - begin > most:
                        raise TooLongError(f"The answers of {service.endpoint.host} exceed {most >> 20:,} MB")
            into.write(b"\n")

        for file in batch.files:
            await self._patiently(partial(download, file, into.tell()))

    async def cancel(self, sent: UnderWay) -> None:
        """Ask the service to cancel it; the next check shows the outcome."""
        with suppress(ConfigurationError):  # it has ended by itself, or is not there
            await self._patiently(partial(sent.service.cancel, sent.id or ""))

    async def end(self, sent: UnderWay, how: str) -> None:
        """It has ended: record that, and delete the uploaded file."""
        self._ledger.ended(sent.submission, how)
        self.under_way.remove(sent)
        with suppress(TransientError, ConfigurationError):  # the file costs nothing, and the service deletes it in time
            await sent.service.delete(sent.submission.file)

    async def pause(self) -> None:
        """Show what is under way, and wait until the next check."""
        self._watcher.looked(tuple(self.under_way), self._options.interval)
        await sleep(self._options.interval)

    async def _find(self, sent: UnderWay) -> None:
        """Find the batch of a submission without an id; where the service has made none, the submission is ended."""
        for number in range(LOOKS):
            if number:
                await sleep(self._options.interval)
            if found := await self._patiently(partial(self._matching, sent)):
                # The list begins with the newest; this program never requested a second one.
                self._identify(sent, min(found, key=lambda batch: (batch.status == "failed", batch.created or 0)))
                return
        await self.end(sent, "never made")

    async def _matching(self, sent: UnderWay) -> list[Batch]:
        """The service's batches that have a submission's mark or file."""
        mark, file = sent.submission.mark, sent.submission.file
        try:
            batches = [each async for each in sent.service.batches()]
        except ConfigurationError as error:
            if self._options.cancel:  # do not wait for what cannot be found
                return []
            raise ConfigurationError(
                f"It is unknown whether the service made batch {mark}: {error} Until it is known, nothing is sent "
                f"again. Look for a batch with the metadata attunebench: {mark} at the provider; if there is none, "
                "the same command with --cancel continues without it."
            ) from error
        return [each for each in batches if each.mark == mark or each.input_file == file]

    def _begin(self, service: Service, file: RequestFile, number: int, uploaded: str) -> UnderWay:
        """Record a submission on disk before it is sent."""
        submission = Submission(
            tag=file.tag,
            part=number,
            model=file.model,
            start=file.start,
            stop=file.start + file.lines,
            provider=service.endpoint.provider,
            base_url=service.endpoint.base_url,
            em_model=self._settings.em.model,
            modes=self._settings.modes,
            file=uploaded,
            at=now(),
        )
        self._ledger.submitting(submission)
        self.under_way.append(UnderWay(service, submission, file))
        return self.under_way[-1]

    def _identify(self, sent: UnderWay, batch: Batch) -> None:
        """Record the batch's id on disk before anything else is done."""
        sent.submission, sent.batch = replace(sent.submission, batch=batch.id), batch
        self._ledger.submitted(sent.submission)

    async def _patiently(self, act: Callable[[], Awaitable[T]], only: Collection[Trouble] | None = None) -> T:
        """Retry until it works; with `only`, after errors of these kinds alone. Raises OutageError in the end."""
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
                self._watcher.pausing(self._settings.em.model, str(error), wait)
            await sleep(wait)
