"""Are results and journalled calls those of this run? What changes no prompt and no parameter re-buys nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attunebench
from attunebench.codebook import Codebook
from attunebench.journal import Hasher, Journal, RequestHash, call_digest
from attunebench.journal.entries import json_object
from attunebench.judging import JUDGE_SCALE, JudgeScale, scale_of
from attunebench.protocol.calls import Call, Kind
from attunebench.results.parsing import parse_result
from attunebench.results.schema import Stamp
from attunebench.results.votes import View
from attunebench.runner.files import identity_of, read_object
from attunebench.runner.settings import RunSettings

if TYPE_CHECKING:
    from attunebench.runner.work import Task

SCALE = "judge scale"  # how `other_scale` begins
_KNOWN = (
    "SELECT prompt_sha256, schema_sha256, parameters, provider, base_url FROM replies "
    "WHERE call_id = ? AND ask = 0 AND model = ?"
)
_JUDGED = "SELECT DISTINCT model, parameters FROM replies WHERE kind = 'judge'"


class Stamping:
    """Stamps what a run of the task with these settings makes. `plan_sha256` is of all that calls are made of: where it
    is the same, so are the calls; otherwise the calls themselves decide."""

    def __init__(self, settings: RunSettings, codebook: Codebook, task: Task) -> None:
        self._settings, self._digests = settings, (task.prompt_set_sha256, codebook.sha256)
        self._made_of = (_code_sha256(), *self._digests, settings.panas_strategy, *task.plan_inputs)

    def __call__(self, calls: Sequence[Call], source_sha256: str) -> Stamp:
        settings, own = self._settings, calls_sha256(call for call in calls if call.judge is None)
        # Every judge is asked the same; one judge's calls stand for all, so that their number changes nothing.
        judges = {settings.scale: calls_sha256(call for call in calls if call.judge == 0)} if settings.judges else {}
        return Stamp(settings.parameters, *self._digests, own, judges, self.plan_sha256(source_sha256))

    def plan_sha256(self, source_sha256: str) -> str:
        return sha256("\0".join([source_sha256, *self._made_of]).encode()).hexdigest()


@cache
def _code_sha256() -> str:
    package = Path(attunebench.__file__).parent
    folders = [sorted((package / name).rglob("*.py")) for name in ("protocol", "prompts", "conversations")]
    files = [*chain(*folders), *(package / f"{name}.py" for name in ("codebook", "coerce", "constants", "text"))]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def calls_sha256(calls: Iterable[Call]) -> str:
    ordered = sorted(calls, key=lambda call: call.id)
    return sha256("".join(map(call_digest, ordered)).encode()).hexdigest()


def differences(there: View, wanted: Stamp) -> list[str]:
    """The settings in which a result differs from what this run would make, each with both values; votes on another
    scale (`other_scale`) aside. Votes matter only where the run has judges and the file has votes on its scale."""
    if not there.whole:
        return ["turns (damaged in the file)"]
    stamp = there.stamp
    named = _changed(stamp.parameters, wanted.parameters, "there")
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


def other_scale(there: View, judges: Sequence[str], wanted: JudgeScale) -> list[str]:
    """Of votes of these judges on another scale than is wanted, as `differences` would say it."""
    others = {scale for judge in judges for scale in there.voted.get(judge, {}).values()} - {wanted}
    return [f"{SCALE} ({', '.join(sorted(others))} there, {wanted} now)"] if others else []


def settled(settings: RunSettings, tell: Callable[[str], None], *, within: bool = False) -> RunSettings:
    """The settings with the scale of their judges: where nobody names one, that of the paid votes in the folder.

    `tell` hears of it. The named judges' votes on drafts of the evaluated model count first, then their other votes,
    then those of others. `within`: subfolders count too."""
    if not settings.judges or settings.judge_scale is not None:
        return settings
    names, found = frozenset(judge.model for judge in settings.judges), dict[int, JudgeScale]()
    for model, judge, scale in _votes(settings.output, within):
        found.setdefault(2 if judge not in names else int(model != settings.em.model), scale)
        if 0 in found:
            break
    scale = found[min(found)] if found else JUDGE_SCALE
    if scale != JUDGE_SCALE:
        tell(
            f"Judges rate on the {scale} scale, like the votes in {settings.output}; --judge-scale {JUDGE_SCALE} "
            f"requests votes on the {JUDGE_SCALE} scale."
        )
    return settings.model_copy(update={"judge_scale": scale})


def _votes(folder: Path, within: bool) -> Iterator[tuple[str, str, JudgeScale]]:
    """(evaluated model or "", judge, scale) of all votes: in results, then in the journal."""
    for path in sorted(folder.rglob("*.json") if within else folder.glob("*.json")):
        data = read_object(path) or {}
        with suppress(ValueError):  # no result
            result = parse_result(data if identity_of(data) is not None else {})
            voters = ((result.em_model, who, turn.votes[who].scale) for turn in result.turns for who in turn.voters)
            yield from dict.fromkeys(voters)
    if folder.is_dir():
        with Journal.read(folder) as journal:
            for model, parameters in journal.select(_JUDGED):
                yield "", str(model), scale_of(json_object(str(parameters)).get("judge_scale"))


def _changed(before: Mapping[str, Any], now: Mapping[str, Any], when: str) -> list[str]:
    """The values that are others now or are new, each with both; `when` says where the former one stands."""
    changed = []
    for name, value in now.items():
        if name not in before or before[name] != value:
            then, today = ("none" if each is None else str(each) for each in (before.get(name), value))
            changed.append(f"{name} ({then} {when}, {today} now)")
    return changed


class CacheReport:
    """What of a plan the journal knows, and why the rest is new. `journalled` counts calls whose first reply is there.
    A call that was never asked before, or of another model, is no news; judges' calls lack their drafts yet."""

    def __init__(self, journal: Journal | None, hashers: Mapping[int, Hasher]) -> None:
        self.journalled = 0
        self._journal = journal if journal is not None and journal.count() else None
        self._hashers = hashers
        self._new: Counter[tuple[str, ...]] = Counter()  # reasons → calls that are new for them

    def unknown(self, calls: Iterable[Call]) -> list[Call]:
        """Those of which the journal has no reply, as far as that is known."""
        return [call for call in calls if not self._is_known(call)]

    def sentences(self) -> list[str]:
        """Why calls are new that the journal has under another hash, the most frequent reason first."""
        sentences = []
        for reasons, n in self._new.most_common():
            calls = "1 call is" if n == 1 else f"{n:,} calls are"
            sentences.append(f"{calls} new because {' and '.join(reasons) or 'something in the request'} changed.")
        return sentences

    def _is_known(self, call: Call) -> bool:
        hasher = self._hashers.get(call.who)
        if self._journal is None or hasher is None or call.slot is not None:
            return False
        hashed = hasher(call, call.messages, 0)
        if self._journal.state(*hashed.all) is not None:
            self.journalled += 1
            return True
        known = list(self._journal.select(_KNOWN, (call.identity, hasher.model))) if call.judge is None else []
        if known:
            # Of several that are like it, the one that differs least says most plainly what was changed.
            reasons = min((_differences(call.kind, hasher, hashed, row) for row in reversed(known)), key=len)
            self._new[reasons] += 1
        return False


def _differences(kind: Kind, hasher: Hasher, hashed: RequestHash, row: Sequence[Any]) -> tuple[str, ...]:
    prompt, schema, parameters, provider, base_url = row
    digests = ((f"the {kind} prompt", prompt, hashed.prompt), (f"the {kind} answer schema", schema, hashed.schema))
    before = {**json_object(parameters), "the provider": provider, "the address": base_url}
    now = {**json_object(hasher.parameters), "the provider": hasher.provider, "the address": hasher.base_url}
    return (*(what for what, old, new in digests if old != new), *_changed(before, now, "before"))
