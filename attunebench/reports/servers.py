"""What servers made of what was asked, in sentences: parameters not taken, formats not held, other models answering.

Owns the words for it; a run's closing lines use them too. Shows no score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attunebench.reports.model import Group
from attunebench.results.schema import worth_telling
from attunebench.text import counted, listed

_WITHOUT_EFFECT = frozenset(("accept-encoding",))
_HELD_BY = {"schema": "a JSON schema", "object": "JSON mode", "text": "the prompt alone"}


def adaptation(parameter: str, how: str) -> str:
    """What became of a parameter, in a clause; "" where no answer differs for it, or the format's note tells it."""
    if parameter in _WITHOUT_EFFECT or parameter.startswith("response_format") or how == "sent under its other name":
        return ""
    if how == "not accepted":
        return f"{parameter} was not applied (not accepted by the server)"
    if parameter == "system":
        return f"the system text was {how}"
    return f"{parameter} was {how}"


def held_by(rungs: Iterable[str]) -> str:
    """How answers were held to their format, strongest first: "a JSON schema and the prompt alone"."""
    used = set(rungs)
    return " and ".join(words for rung, words in _HELD_BY.items() if rung in used)


def warnings_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """That a model was answered for by another one, or by several models or providers."""
    another: list[str] = []
    several: list[str] = []
    providers: list[str] = []
    for (_, asked), seen in _observed(groups).items():
        names, hosts = (
            sum((Counter(one.get(kind) or {}) for one in seen), Counter[str]())
            for kind in ("models_reported", "providers_reported")
        )
        if telling := worth_telling(asked, names):
            (several if len(telling) > 1 else another).append(f"{asked} ({_with_counts(names)})")
        if len(hosts) > 1:
            providers.append(f"{asked} ({_with_counts(hosts)})")
    found = {
        "A different model answered than was requested": another,
        "More than one model ID answered": several,
        "More than one provider answered, and providers run a model differently": providers,
    }
    return tuple(f"{what}: {listed(who)}." for what, who in found.items() if who)


def remarks_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """Short notes for under a leaderboard: parameters that were not applied, and formats that were not enforced."""
    found: dict[str, list[str]] = {}
    held: dict[str, list[str]] = {}
    for (_, asked), seen in _observed(groups).items():
        adapted = (
            (parameter, how) for one in seen for parameter, hows in (one.get("adapted") or {}).items() for how in hows
        )
        for clause in filter(None, (adaptation(*pair) for pair in adapted)):
            found.setdefault(clause, []).append(asked)
        if words := held_by(rung for one in seen for rung in one.get("structured_used") or ()):
            held.setdefault(words, []).append(asked)
    remarks = [f"{clause[0].upper()}{clause[1:]}: {listed(dict.fromkeys(who))}." for clause, who in found.items()]
    # Where a schema did not hold all answers, formats explain a part of what was not answered.
    if set(held) - {_HELD_BY["schema"]}:
        ways = held if len(held) == 1 else [f"{how}: {listed(who)}" for how, who in held.items()]
        remarks.append(f"The answer format was enforced by {'; by '.join(ways)}.")
    return tuple(remarks)


def _observed(groups: Sequence[Group]) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """What the server of each (provider, model) answered, the same in every mode. Baselines have none."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for group in groups:
        if group.provider != "baseline":
            found.setdefault((group.provider, group.model), []).append(group.observed)
    return found


def _with_counts(counts: Counter[str]) -> str:
    """ "x in 30 results and y in 1 result"; one name needs no count."""
    if len(counts) == 1:
        return next(iter(counts))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return listed(f"{name} in {counted(count, 'result')}" for name, count in ordered)
