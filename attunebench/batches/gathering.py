"""What becomes of the batches that are under way: their answers into the journal, and what follows of how they ended.

Every end is one of few: answers and errors line by line, a refusal as a whole, a batch that somebody cancelled or the
service lost. A request is asked again a few times and then given up; nothing here goes round in circles. Plans nothing
and sends nothing.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from attunebench.backends.session import MOST_BYTES
from attunebench.batches.collecting import Collected, Collector, Tables
from attunebench.batches.service import NoSuchBatchError, TooLongError, unwritable
from attunebench.batches.table import Row, read_rows, table_path
from attunebench.errors import ConfigurationError, RejectedError
from attunebench.journal import Journal
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.backends.negotiation import Terms
    from attunebench.batches.desk import Desk, Watcher
    from attunebench.batches.ledger import Submission
    from attunebench.batches.parts import Part, Queue
    from attunebench.batches.service import Batch
    from attunebench.batches.till import Till
    from attunebench.errors import AttuneBenchError

MOST_BATCHES = 3
"""How many batches may bring no answer to one request before it is given up."""
MOST_REJECTIONS = 2
"""How many of them may reject it, where the model answers others."""
PATIENCE = 10
"""Looks at a batch that has ended and does not show all of its lines yet."""
_NO_LINE = "the service has no line for it"


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A request that brought no answer in `batches` batches, and why not the last time."""

    row: Row
    reason: str
    batches: int


class Gathering:
    """Gathers for one run. `busy`: hashes of requests that are planned or under way, so not to be planned again."""

    def __init__(self, folder: Path, desk: Desk, till: Till, queue: Queue, watcher: Watcher) -> None:
        self.busy: set[str] = set()
        self.given_up: dict[str, GivenUp] = {}
        self.stop: ConfigurationError | None = None
        """Why nothing more may be sent, raised when the rest is in."""
        self.cancelled = False
        """Whether somebody else has cancelled a batch of ours."""
        self._folder = folder
        self._desk = desk
        self._till = till
        self._queue = queue
        self._watcher = watcher
        self._batches = Counter[str]()
        self._looks = Counter[str]()

    @property
    def halted(self) -> bool:
        """Whether nothing more is to be sent."""
        return self.stop is not None or self.cancelled

    def wants(self, request_hash: str) -> bool:
        """Whether a request that is open may be sent: it is not under way, and not given up."""
        return request_hash not in self.busy and request_hash not in self.given_up

    def take_over(self) -> None:
        """What is under way is busy, whoever has sent it. Raises DataError where a table is damaged."""
        for submission in self._desk.under_way:
            self.busy.update(row.request_hash for row in self._rows(submission))

    def halt(self, error: ConfigurationError) -> None:
        """Send nothing more; the first reason is the one that is told."""
        if self.stop is None and len(self._desk.under_way) > 1:
            self._watcher.warned(f"{error} Nothing more is sent; what is under way is waited for.")
        self.stop = self.stop or error
        self._queue.drop()

    def too_much(self, part: Part, said: str) -> None:
        """A part was refused for its size: it goes on smaller or later."""
        try:
            then = self._queue.too_much(part, alone=part.model not in self._desk.models)
        except ConfigurationError as error:
            self.halt(error)
        else:
            self._watcher.warned(f"{printable(said).rstrip('.')}; {then} ({part.requests:,} requests).")

    async def look(self) -> bool:
        """Look at everything under way; whether something has ended, so that there may be more to ask."""
        ended = [await self._look(submission) for submission in tuple(self._desk.under_way)]
        return any(ended)

    async def cancel_all(self) -> None:
        """Have the services do nothing more."""
        for submission in tuple(self._desk.under_way):
            await self._cancel(submission)

    async def _cancel(self, submission: Submission) -> None:
        try:
            await self._desk.cancel(submission)
        except ConfigurationError:
            return  # it has ended by itself, or is not there: looking at it tells

    async def _look(self, submission: Submission) -> bool:
        try:
            batch = await self._desk.look(submission)
        except NoSuchBatchError as error:
            return await self._not_there(submission, error)
        if not batch.ended:
            return False
        if batch.full:
            return await self._refused_as_too_much(submission, batch)
        if batch.status != "failed" and batch.lacks_files and self._may_look_again(submission):
            return False
        return await self._collect(submission, batch)

    async def _not_there(self, submission: Submission, error: NoSuchBatchError) -> bool:
        if self._desk.giving_up:
            self._watcher.warned(f"{error} It is given up.")
            await self._end(submission, "gone")
            return True
        if self._desk.part(submission) is not None and self._may_look_again(submission):
            return False  # made a moment ago, by this process: it will be known everywhere in a while
        self._desk.set_aside(submission)
        self.halt(
            ConfigurationError(
                f"{error} It was sent at {submission.at} with {submission.requests:,} requests: is the key of the same "
                "account and project as then? Nothing is sent again while it may still answer; where it is lost for "
                "good, the same command with --cancel gives it up."
            )
        )
        return False

    async def _refused_as_too_much(self, submission: Submission, batch: Batch) -> bool:
        part = self._desk.part(submission)
        await self._desk.end(submission, "too much")
        if part is None:  # an earlier process sent it: its requests are planned anew
            self._free(submission)
            return True
        if not self.halted:
            self.too_much(part, "; ".join(map(str, batch.problems)))
        return False

    async def _collect(self, submission: Submission, batch: Batch) -> bool:
        why: dict[str, AttuneBenchError | Terms] = {}
        try:
            collected = await self._lines_of(submission, batch, why)
        except TooLongError as error:
            if not self._desk.giving_up:
                return self._too_long(submission, batch, error)
            collected, left = Collected(), self._unanswered(submission)
        except NoSuchBatchError as error:
            if self._may_look_again(submission):
                return False
            self.halt(
                ConfigurationError(
                    f"{error} So the answers of batch {printable(batch.id)} are gone; repeat the command to have its "
                    "requests asked, and paid, once more."
                )
            )
            collected, left = Collected(), self._unanswered(submission)
        else:
            left = self._unanswered(submission)
            told_of = submission.requests - sum(row.request_hash not in why for row in left)
            if told_of < min(batch.completed, submission.requests):
                if self._may_look_again(submission):
                    return False
                if not self._desk.giving_up:
                    return self._leave(submission, batch, told_of)
        self._draw_conclusions(submission, batch, collected, left, why)
        await self._end(submission, batch.status)
        return True

    def _too_long(self, submission: Submission, batch: Batch, error: TooLongError) -> bool:
        """Nothing of it is taken."""
        self._desk.set_aside(submission)
        self.halt(
            ConfigurationError(
                f"{error}, too much for {submission.requests:,} requests, so nothing of batch {printable(batch.id)} "
                "was read. Check the address; the same command with --cancel gives the batch up."
            )
        )
        return False

    def _leave(self, submission: Submission, batch: Batch, told_of: int) -> bool:
        """Answers that the service counts, and may charge, are not to be had: they may come, and are not bought anew.

        True: what there is makes results.
        """
        self._desk.set_aside(submission)
        self.halt(
            ConfigurationError(
                f"The service counts {batch.completed:,} requests of batch {printable(batch.id)} as answered, and its "
                f"files have lines for {told_of:,}. These are kept, and nothing is sent again while the others may "
                "come: repeat the command later; where they are lost for good, the same command with --cancel gives "
                "them up."
            )
        )
        return True

    async def _lines_of(
        self, submission: Submission, batch: Batch, why: dict[str, AttuneBenchError | Terms]
    ) -> Collected:
        """Every line of the batch's files into the journal; of those that bring no answer, `why` by hash."""
        if not batch.files:
            return Collected()
        with self._fetched_into() as file:
            await self._desk.fetch(submission, batch, file)
            file.seek(0)
            with Journal.open(self._folder) as journal:
                collector = Collector(
                    Tables(self._folder),
                    journal,
                    sent_at=batch.when,
                    cost_of=self._till.cost,
                    unanswered=lambda row, reason: why.update({row.request_hash: reason}),
                    endpoint=self._desk.endpoint(submission),
                )
                collected = await collector.take(iter(partial(file.readline, MOST_BYTES), b""))
                collected.add(await collector.finish())
                return collected

    @contextmanager
    def _fetched_into(self) -> Iterator[BinaryIO]:
        """A file without a name in the results folder. Raises DataError where there is no room for it."""
        try:
            with tempfile.TemporaryFile(dir=self._folder, prefix=".attunebench-") as file:
                yield file
        except OSError as error:  # also from closing it, where the disk has filled up
            raise unwritable(error) from error

    def _draw_conclusions(
        self,
        submission: Submission,
        batch: Batch,
        collected: Collected,
        left: list[Row],
        why: Mapping[str, AttuneBenchError | Terms],
    ) -> None:
        """Stop, give up or go on, by how the batch ended and what its lines said; `left` got no answer."""
        name = f"Batch {printable(batch.id)} ({printable(submission.model)})"
        if batch.status == "failed":
            said = "; ".join(map(str, batch.problems[:5])) or "the service gives no reason"
            self.halt(ConfigurationError(f"{name} failed: {said.rstrip('.')}. Nothing of it was answered or charged."))
            return
        if batch.status == "cancelled" and not self._desk.giving_up:
            self.cancelled = True
            self._queue.drop()
        if batch.status != "completed":
            answered = submission.requests - len(left)
            self._watcher.warned(f"{name} {batch.status}: {answered:,} of {submission.requests:,} requests answered.")
        if collected.stopped:
            reason, count = collected.stopped.most_common(1)[0]
            self.halt(
                ConfigurationError(f"{reason.rstrip('.')}. So said {count:,} lines of {name[0].lower()}{name[1:]}.")
            )
        if batch.status != "cancelled":
            self._count(name, left, why)

    def _count(self, name: str, left: list[Row], why: Mapping[str, AttuneBenchError | Terms]) -> None:
        """Requests without an answer: each is given up when it was so too often."""
        reasons = Counter[str]()
        for row in left:
            reason = why.get(row.request_hash, _NO_LINE)
            if not isinstance(reason, str | Exception):  # asked otherwise from now on
                continue
            self._batches[row.request_hash] += 1
            reasons[str(reason)] += 1
            most = MOST_REJECTIONS if isinstance(reason, RejectedError) else MOST_BATCHES
            if self._batches[row.request_hash] >= most:
                self.given_up[row.request_hash] = GivenUp(row, str(reason), most)
        for reason, count in reasons.most_common(3):
            self._watcher.warned(f"{name}: {count:,} requests without an answer: {printable(reason)}")

    async def _end(self, submission: Submission, how: str) -> None:
        self._free(submission)
        await self._desk.end(submission, how)

    def _free(self, submission: Submission) -> None:
        for row in self._rows(submission):
            self.busy.discard(row.request_hash)
            self._till.release(row.request_hash)

    def _unanswered(self, submission: Submission) -> list[Row]:
        """The rows of which the journal knows nothing."""
        with Journal.read(self._folder) as journal:
            return [row for row in self._rows(submission) if journal.state(row.request_hash) is None]

    def _rows(self, submission: Submission) -> list[Row]:
        """The rows that were submitted, in their order."""
        rows = read_rows(table_path(self._folder, submission.tag)).values()
        return list(islice((row for row in rows if row.model == submission.model), submission.start, submission.stop))

    def _may_look_again(self, submission: Submission) -> bool:
        """Whether a batch that has ended is worth another look before it is taken as it is."""
        self._looks[submission.mark] += 1
        return self._looks[submission.mark] < PATIENCE
