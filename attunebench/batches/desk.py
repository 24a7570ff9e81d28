"""Between a run and its batch services: submissions that are never lost sight of, and patience with the network.

Whatever may cost money is in the ledger before it is sent. A submission of which nobody knows whether it became a batch
is looked for at the service before anything like it is sent again. Knows no call, no journal and no answer.
"""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from attunebench.batches.ledger import Ledger, Submission
from attunebench.batches.requests import Origin
from attunebench.batches.service import Batch, RefusedError, Service
from attunebench.errors import UNBILLED, ConfigurationError, TransientError, Trouble
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
"""Bytes of a file of answers: for each of its requests, and beside that."""
MOST_LOST = 5
"""Submissions in a row of which nothing came, before the service counts as out of order."""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The options of a run by batches beside a run's settings.

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


class TooLongError(Exception):
    """A file has more bytes than the answers to its requests can have."""


@dataclass(slots=True, eq=False)
class UnderWay:
    """A batch that may be under way at a service: what was submitted, the `file` of it (None where an earlier process
    has sent it), the batch as it was seen last (None for not at all), and how often it was looked at for what it does
    not show."""

    service: Service
    submission: Submission
    file: RequestFile | None = None
    batch: Batch | None = None
    looks: int = 0

    @property
    def id(self) -> str | None:
        """None while nobody knows it."""
        return self.submission.batch


class Watcher(Observer):
    """An observer that also hears of batches. By itself it does nothing."""

    def looked(self, batches: Sequence[UnderWay], seconds: float) -> None:
        """The batches were looked at, and will be again in so many seconds."""


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
        """Take over what an earlier process has submitted. Raises ConfigurationError where that cannot be found out."""
        # An earlier run may have had judges that this one has not.
        em = self._services[self._settings.em.model]
        self.under_way += [UnderWay(self._services.get(each.model, em), each) for each in submissions]
        for each in [each for each in self.under_way if each.id is None]:
            await self._find(each)

    async def submit(self, file: RequestFile) -> bool:
        """Hand a file to its service; False where certainly no batch came of it, so that it may be tried again.

        Raises RefusedError (TooMuchError among them), after which there is none either.
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
            self._watcher.warned(f"{error} Whether batch {mark} was made is looked up before anything is sent again.")
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
        """Ask the service to do nothing more of it, which tells in the next look what came of that."""
        with suppress(ConfigurationError):  # it has ended by itself, or is not there
            await self._patiently(partial(sent.service.cancel, sent.id or ""))

    async def end(self, sent: UnderWay, how: str) -> None:
        """Nothing more is to be had of it: strike it off, and take the uploaded file away."""
        self._ledger.ended(sent.submission, how)
        self.under_way.remove(sent)
        with suppress(TransientError, ConfigurationError):  # it costs nothing, and the service forgets it in time
            await sent.service.delete(sent.submission.file)

    async def pause(self) -> None:
        """Show what is under way, and wait until the next look."""
        self._watcher.looked(tuple(self.under_way), self._options.interval)
        await sleep(self._options.interval)

    async def _find(self, sent: UnderWay) -> None:
        """Find the batch of a submission without an id; where the service has made none, the submission is ended."""
        for number in range(LOOKS):
            if number:
                await sleep(self._options.interval)
            if found := await self._patiently(partial(self._matching, sent)):
                # The list begins with the newest; a second one is nothing that this program has asked for.
                self._identify(sent, min(found, key=lambda batch: (batch.status == "failed", batch.created or 0)))
                return
        await self.end(sent, "never made")

    async def _matching(self, sent: UnderWay) -> list[Batch]:
        """The service's batches that have a submission's mark or file."""
        mark, file = sent.submission.mark, sent.submission.file
        try:
            batches = [each async for each in sent.service.batches()]
        except ConfigurationError as error:
            if self._options.cancel:  # what cannot be found is not to be waited for
                return []
            raise ConfigurationError(
                f"Whether the service made a batch of {mark} cannot be found out: {error} Until it can, nothing is "
                f"sent again. Look at the provider's for one whose metadata say attunebench: {mark}; if there is "
                "none, the same command with --cancel goes on without it."
            ) from error
        return [each for each in batches if each.mark == mark or each.input_file == file]

    def _begin(self, service: Service, file: RequestFile, number: int, uploaded: str) -> UnderWay:
        """It is on the disk before it is sent."""
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
            at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )
        self._ledger.submitting(submission)
        self.under_way.append(UnderWay(service, submission, file))
        return self.under_way[-1]

    def _identify(self, sent: UnderWay, batch: Batch) -> None:
        """The id goes to the disk before anything else is done."""
        sent.submission, sent.batch = replace(sent.submission, batch=batch.id), batch
        self._ledger.submitted(sent.submission)

    async def _patiently(self, act: Callable[[], Awaitable[T]], only: Collection[Trouble] | None = None) -> T:
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
                self._watcher.pausing(self._settings.em.model, str(error), wait)
            await sleep(wait)
