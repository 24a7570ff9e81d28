"""What of a run's plan the journal knows already, and why the rest is new: "37 calls are new because …".

Compares digests that the journal keeps with every reply; sees no prompt of an earlier run. A call that was never asked
before, or of another model alone, is no news, and nothing is said of it. Judges' calls are left out: they lack their
drafts until those are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attunebench.journal.entries import json_object
from attunebench.runner.fingerprint import shown

if TYPE_CHECKING:
    from attunebench.journal import Hasher, Journal, RequestHash
    from attunebench.protocol.calls import Call, Kind

_KNOWN = """
SELECT prompt_sha256, schema_sha256, parameters, provider, base_url
FROM replies WHERE call_id = ? AND ask = 0 AND model = ?
"""
_OF_A_KIND = ("prompt", "answer schema")


class CacheReport:
    """Looks up planned calls one by one; memory does not grow with them. Without a journal nothing is known."""

    def __init__(self, journal: Journal | None, hashers: Sequence[Hasher | None]) -> None:
        self.journalled = 0
        """Calls whose first reply is in the journal."""
        self._journal = journal if journal is not None and journal.count() else None
        self._hashers = hashers
        self._new: dict[tuple[str, ...], Counter[Kind]] = {}
        """Reasons → calls that are new for them, by kind."""

    def add(self, calls: Sequence[Call]) -> Sequence[Call]:
        """Look these up, and give them back."""
        self.unknown(calls)
        return calls

    def unknown(self, calls: Iterable[Call]) -> list[Call]:
        """Look these up; those come back of which the journal has no reply, as far as that is known."""
        return [call for call in calls if not self._is_known(call)]

    def sentences(self) -> list[str]:
        """Why calls are new that the journal has under another hash, the most frequent reason first."""
        sentences = []
        for reasons, kinds in sorted(self._new.items(), key=lambda group: -group[1].total()):
            plural = "s" if len(kinds) > 1 else ""
            named = [f"the {_joined(list(kinds))} {each}{plural}" if each in _OF_A_KIND else each for each in reasons]
            calls = "1 call is" if kinds.total() == 1 else f"{kinds.total():,} calls are"
            sentences.append(f"{calls} new because {_joined(named) or 'something in the request'} changed.")
        return sentences

    def _is_known(self, call: Call) -> bool:
        hasher = self._hashers[call.who] if call.who < len(self._hashers) else None
        if self._journal is None or hasher is None or call.slot is not None:
            return False
        hashed = hasher(call, call.messages, 0)
        if self._journal.state(*hashed.all) is not None:
            self.journalled += 1
            return True
        known = list(self._journal.select(_KNOWN, (call.identity, hasher.model))) if call.judge is None else []
        if known:
            # Of several that are like it, the one that differs least says most plainly what was changed.
            reasons = min((_differences(hasher, hashed, row) for row in reversed(known)), key=len)
            self._new.setdefault(reasons, Counter())[call.kind] += 1
        return False


def _differences(hasher: Hasher, hashed: RequestHash, row: Sequence[Any]) -> tuple[str, ...]:
    prompt, schema, parameters, provider, base_url = row
    digests = zip(_OF_A_KIND, (prompt, schema), (hashed.prompt, hashed.schema), strict=True)
    before = {**json_object(parameters), "the provider": provider, "the address": base_url}
    now = {**json_object(hasher.parameters), "the provider": hasher.provider, "the address": hasher.base_url}
    return (
        *(what for what, old, new in digests if old != new),
        *(
            f"{name} ({shown(before.get(name))} before, {shown(new)} now)"
            for name, new in now.items()
            if name not in before or before[name] != new
        ),
    )


def _joined(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
