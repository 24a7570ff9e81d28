"""Is a result that is there the one that this run would make? Digests of what is asked, and what differs.

What changes no prompt and no parameter re-buys nothing: a corrected label leaves these hashes as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attunebench
from attunebench.journal import call_digest
from attunebench.judging import JudgeScale
from attunebench.protocol.calls import Call
from attunebench.results.schema import Stamp
from attunebench.results.votes import View

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.runner.settings import RunSettings
    from attunebench.runner.task import Task

SCALE = "judge scale"
"""How `other_scale` begins."""


class Stamping:
    """Stamps what a run of the task with these settings makes.

    A stamp's `plan_sha256` is of all that calls are made of. Planning is pure: the same file, templates, codebook,
    strategy and code make the same calls. Where any of these is another one, the calls themselves decide.
    """

    def __init__(self, settings: RunSettings, codebook: Codebook, task: Task) -> None:
        self._settings = settings
        self._prompt_set, self._codebook = task.prompt_set_sha256, codebook.sha256
        self._made_of = (_code_sha256(), self._prompt_set, self._codebook, settings.panas_strategy, *task.plan_inputs)

    def __call__(self, calls: Sequence[Call], source_sha256: str) -> Stamp:
        """The stamp of these calls, all that are planned of the conversation in the file with this digest."""
        stamp = self.unplanned(calls_sha256(call for call in calls if call.judge is None), source_sha256)
        if not self._settings.judges:
            return stamp
        # Every judge is asked the same; one judge's calls stand for all, so that their number changes nothing.
        judges = calls_sha256(call for call in calls if call.judge == 0)
        return replace(stamp, judge_calls_sha256={self._settings.scale: judges})

    def unplanned(self, calls_sha256: str, source_sha256: str) -> Stamp:
        """The stamp of the file's calls where these are known to have that digest; judges' calls aside."""
        return Stamp(
            parameters=self._settings.parameters,
            prompt_set_sha256=self._prompt_set,
            codebook_sha256=self._codebook,
            calls_sha256=calls_sha256,
            judge_calls_sha256={},
            plan_sha256=sha256("\0".join([source_sha256, *self._made_of]).encode()).hexdigest(),
        )


@cache
def _code_sha256() -> str:
    """The digest of the sources of everything between a conversation's file and its calls."""
    package = Path(attunebench.__file__).parent
    folders = [sorted((package / name).rglob("*.py")) for name in ("protocol", "prompts", "conversations")]
    files = [*chain(*folders), *(package / f"{name}.py" for name in ("codebook", "coerce", "constants", "text"))]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def calls_sha256(calls: Iterable[Call]) -> str:
    """A digest of what is asked, in an order of its own (by call id)."""
    ordered = sorted(calls, key=lambda call: call.id)
    return sha256("".join(map(call_digest, ordered)).encode()).hexdigest()


def differences(there: View, wanted: Stamp) -> list[str]:
    """The settings in which an existing result differs from what this run would make, each with both values.

    Empty means that the result is this run's own, but for votes on another scale (`other_scale`). Votes matter only
    where the run has judges and the file has votes on its scale.
    """
    if not there.whole:
        return ["turns (damaged in the file)"]
    stamp = there.stamp
    named = [
        f"{key} ({shown(stamp.parameters.get(key))} there, {shown(value)} now)"
        for key, value in wanted.parameters.items()
        if stamp.parameters.get(key) != value or key not in stamp.parameters
    ]
    if stamp.calls_sha256 is None:
        named.append("prompts (the file does not record which were used)")
    elif stamp.calls_sha256 != wanted.calls_sha256:
        templates = stamp.prompt_set_sha256 != wanted.prompt_set_sha256
        codebook = stamp.codebook_sha256 != wanted.codebook_sha256
        named += ["prompt templates"] * templates + ["codebook"] * codebook
        named += [] if templates or codebook else ["conversation texts"]
    scales = {scale for votes in there.voted.values() for scale in votes.values()}
    asked = wanted.judge_calls_sha256.items()
    if any(scale in scales and stamp.judge_calls_sha256.get(scale) != digest for scale, digest in asked):
        named.append("judge prompts or reference replies")
    return named


def other_scale(there: View, judges: Sequence[str], wanted: JudgeScale) -> str | None:
    """That votes of these judges are on another scale than is wanted, as `differences` would say it."""
    others = {scale for judge in judges for scale in there.voted.get(judge, {}).values()} - {wanted}
    return f"{SCALE} ({', '.join(sorted(others))} there, {wanted} now)" if others else None


def shown(value: Any) -> str:
    """A setting's value in a sentence."""
    return "none" if value is None else str(value)
