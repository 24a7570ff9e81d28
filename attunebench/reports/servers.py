"""What servers made of what was asked, in sentences: parameters not taken, formats not held, other models answering.

Owns the words for it; a run's closing lines use them too. Shows no score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attunebench.reports.model import Group
from attunebench.results.served import worth_telling

_NAMED_AT_MOST = 6
_WITHOUT_EFFECT = frozenset(("accept-encoding",))
_HELD_BY = {"schema": "a JSON schema", "object": "JSON mode", "text": "the prompt alone"}
_Answerers = dict[tuple[str, str], list[Group]]


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
    for (_, asked), members in _answerers(groups).items():
        names = _summed(group.models_reported for group in members)
        hosts = _summed(group.providers_reported for group in members)
        if telling := worth_telling(asked, names):
            (several if len(telling) > 1 else another).append(f"{asked} ({_counted(names)})")
        if len(hosts) > 1:
            providers.append(f"{asked} ({_counted(hosts)})")
    return tuple(
        f"{what}: {_listed(who)}."
        for what, who in (
            ("Another model answered than was asked", another),
            ("Answered by more than one model id", several),
            ("Answered by more than one provider, and providers run a model differently", providers),
        )
        if who
    )


def remarks_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """Short notes for under a leaderboard: parameters that were not applied, and formats that were not enforced."""
    found: dict[str, list[str]] = {}
    for (_, asked), members in _answerers(groups).items():
        for group in members:
            for parameter, hows in group.adapted.items():
                for clause in filter(None, (adaptation(parameter, how) for how in hows)):
                    found.setdefault(clause, []).append(asked)
    remarks = [f"{clause[0].upper()}{clause[1:]}: {_listed(dict.fromkeys(who))}." for clause, who in found.items()]
    return (*remarks, *_formats(groups))


def _formats(groups: Sequence[Group]) -> list[str]:
    """Said where a schema did not hold all answers: then formats explain a part of what was not answered."""
    held: dict[str, list[str]] = {}
    for (_, asked), members in _answerers(groups).items():
        if words := held_by(rung for group in members for rung in group.structured_used):
            held.setdefault(words, []).append(asked)
    if not set(held) - {_HELD_BY["schema"]}:
        return []
    if len(held) == 1:
        return [f"Answers were held to their format by {next(iter(held))}."]
    return [
        f"Answers were held to their format by {'; by '.join(f'{how}: {_listed(who)}' for how, who in held.items())}."
    ]


def _answerers(groups: Sequence[Group]) -> _Answerers:
    """The groups of each (provider, model): a server is the same in every mode. Baselines have none."""
    found: _Answerers = {}
    for group in groups:
        if group.provider != "baseline":
            found.setdefault((group.provider, group.model), []).append(group)
    return found


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total


def _counted(counts: Mapping[str, int]) -> str:
    """ "x in 30 results, y in 12"; the most frequent first. One name needs no count."""
    if len(counts) == 1:
        return next(iter(counts))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{name} in {count}" for name, count in ordered[:_NAMED_AT_MOST]]
    more = len(ordered) - _NAMED_AT_MOST
    if more > 0:
        return f"{', '.join(parts)} results and {more} more"
    return f"{', '.join(parts)} {'result each' if ordered[0][1] == 1 else 'results'}"


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _NAMED_AT_MOST
    return ", ".join(listed[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
