"""What was submitted to a batch service: `_batches.jsonl` in the results folder, a line for each step, flushed to disk.

A submission is noted before it is sent, its batch's id before anything else is done, and its end after its answers are
in the journal, so a process that is killed at any moment leaves a record of all that may cost money."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attunebench.errors import DataError
from attunebench.journal.locks import try_lock
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.batches.service import Batch

PATIENCE = 30.0  # seconds that are waited for other processes' lines, each a matter of milliseconds


@dataclass(slots=True)
class Submission:
    """The rows `start` to `stop` of one model in the table of the plan `tag`, submitted as one batch.

    `file`: the id of the uploaded requests; `modes`: those of the run; `at`: ISO 8601, when it was about to be sent.
    `id` of the batch is None while it is unknown whether the service made one. Not in the ledger: the `batch` as last
    seen, and how often it was checked for missing answers (`looks`)."""

    tag: str
    part: int
    model: str
    start: int
    stop: int
    provider: str
    base_url: str
    em_model: str
    modes: Sequence[str]
    file: str
    at: str
    id: str | None = None
    batch: Batch | None = None
    looks: int = 0

    @property
    def mark(self) -> str:
        """Its name in the batch's metadata."""
        return f"{self.tag}.{self.part}"

    @property
    def name(self) -> str:
        """The service's name of it, or ours, for a terminal."""
        return printable(self.id or self.mark)

    @property
    def requests(self) -> int:
        return self.stop - self.start


_KEPT = [each.name for each in fields(Submission) if each.default is MISSING]


class Ledger:
    """The ledger of a results folder. Raises DataError where it is damaged or locked."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "_batches.jsonl"

    def open_for(self, provider: str, model: str, modes: tuple[str, ...]) -> list[Submission]:
        """What may still be under way of earlier runs of this model in any of these modes, in the order it was sent."""
        found: dict[str, Submission] = {}
        line = b""
        try:
            # What follows the last line break is a truncated line.
            lines = self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []
            for line in lines:
                data = json.loads(line)
                if data["step"] == "submitting":
                    sent = Submission(**{name: data[name] for name in _KEPT} | {"modes": tuple(data["modes"])})
                    found[sent.mark] = sent
                elif data["step"] == "submitted":
                    found[data["mark"]].id = str(data["batch"])
                else:
                    found.pop(data["mark"], None)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"Line {lines.index(line) + 1} of {self.path} cannot be read; it records batches in progress, which "
                "could be paid twice without it. Repair that line, or restore the file from a backup."
            ) from error
        mine = (each for each in found.values() if (each.provider, each.em_model) == (provider, model))
        return [each for each in mine if set(each.modes) & set(modes)]

    def note(self, step: Literal["submitting", "submitted", "ended"], sent: Submission, **facts: Any) -> None:
        """A step on disk: it is about to be sent; the id of its `batch` is known; or `how` it has ended, its answers in
        the journal, where there ever was a batch."""
        about = {name: getattr(sent, name) for name in _KEPT} if step == "submitting" else {"mark": sent.mark}
        # Runs of other models share the folder, and what one takes for a cut line may be another one's new one.
        release = try_lock(self.path.with_name(".attunebench-batches.lock"), PATIENCE)
        if release is None:
            raise DataError(
                f"{self.path} cannot be written, since another process has locked it for {PATIENCE:.0f} s; rerun the "
                "command: sent batches are recorded."
            )
        try:
            with self.path.open("a+b") as file:
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
                file.write(json.dumps({"step": step, **about, **facts}, ensure_ascii=True).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        finally:
            release()
