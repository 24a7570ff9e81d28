"""What of a run's plan the journal knows already, and why the rest is new: "37 calls are new because …".

Compares digests that the journal keeps with every reply; sees no prompt of an earlier run. A call that was never asked
before, or of another model alone, is no news, and nothing is said of it. Judges' calls are left out: they lack their
drafts until those are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attunebench.journal import Hasher, Journal, RequestHash
    from attunebench.protocol.calls import Call, Kind

_KNOWN = """
SELECT prompt_sha256, schema_sha256, parameters, provider, base_url
FROM replies WHERE call_id = ? AND ask = 0 AND model = ?
"""
_OF_A_KIND = ("prompt", "answer schema")


@dataclass(slots=True)
class _Group:
    """Calls that are new for the same reasons."""

    calls: int = 0
    kinds: list[Kind] = field(default_factory=list)


class CacheReport:
    """Looks up planned calls one by one; memory does not grow with them. Without a journal nothing is known."""

    def __init__(self, journal: Journal | None, hashers: Sequence[Hasher | None]) -> None:
        self.journalled = 0
        """Calls whose first reply is in the journal."""
        self._journal = journal if journal is not None and journal.count() else None
        self._hashers = hashers
        self._groups: dict[tuple[str, ...], _Group] = {}

    def add(self, calls: Sequence[Call]) -> Sequence[Call]:
        """Look these up, and give them back."""
        self.unknown(calls)
        return calls

    def unknown(self, calls: Iterable[Call]) -> list[Call]:
        """Look these up; those come back of which the journal has no reply, as far as that is known."""
        return [call for call in calls if not self._is_known(call)]

    def sentences(self) -> list[str]:
        """Why calls are new that the journal has under another hash, the most frequent reason first."""
        groups = sorted(self._groups.items(), key=lambda item: -item[1].calls)
        return [_sentence(group, reasons) for reasons, group in groups]

    def _is_known(self, call: Call) -> bool:
        who = 0 if call.judge is None else call.judge + 1
        hasher = self._hashers[who] if who < len(self._hashers) else None
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
            group = self._groups.setdefault(reasons, _Group())
            group.calls += 1
            if call.kind not in group.kinds:
                group.kinds.append(call.kind)
        return False


def _differences(hasher: Hasher, hashed: RequestHash, row: Sequence[Any]) -> tuple[str, ...]:
    prompt, schema, parameters, provider, base_url = row
    named = [
        name
        for name, before, now in (("prompt", prompt, hashed.prompt), ("answer schema", schema, hashed.schema))
        if before != now
    ]
    named += _changed(_object(parameters), _object(hasher.parameters))
    for what, before, now in (("provider", provider, hasher.provider), ("address", base_url, hasher.base_url)):
        if before != now:
            named.append(f"the {what} ({before} before, {now} now)")
    return tuple(named)


def _object(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _changed(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [
        f"{name} ({_shown(before.get(name))} before, {_shown(value)} now)"
        for name, value in now.items()
        if before.get(name) != value or name not in before
    ]


def _sentence(group: _Group, reasons: Sequence[str]) -> str:
    named = [
        f"the {_joined(group.kinds)} {reason}{'s' if len(group.kinds) > 1 else ''}" if reason in _OF_A_KIND else reason
        for reason in reasons
    ]
    calls = "1 call is" if group.calls == 1 else f"{group.calls:,} calls are"
    return f"{calls} new because {_joined(named) or 'something in the request'} changed."


def _joined(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
