"""Which files of a source make up a published subset: by number, wherever they lie, and what goes with them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from attunebench.codebook import FILE_NAME as CODEBOOK
from attunebench.datasets.entries import Entry

_CONVERSATION = re.compile(r"conversation_(0|[1-9][0-9]{0,8})\.json")
_PAPER = re.compile(r"(readme|licen[cs]e|copying|notice|citation|datasheet)([-_][a-z0-9]+){0,3}", re.IGNORECASE)
_PAPER_ENDINGS = (".md", ".txt", ".rst", ".cff", ".bib")
LARGEST_PAPER = 1 << 20
"""Bytes of a licence or readme that is taken along."""
MOST_PAPERS = 12


@dataclass(frozen=True, slots=True)
class Choice:
    """What to take. `candidates`: number → files that may be it, the likeliest first; more than one must be alike.

    `companions`: file name → the codebook, licences and readmes that lie nearest above the conversations.
    `missing`: wanted numbers that the source does not have.
    """

    candidates: Mapping[int, tuple[Entry, ...]]
    companions: Mapping[str, Entry]
    missing: tuple[int, ...]


def choose(entries: Sequence[Entry], subset: str, numbers: Iterable[int]) -> Choice:
    """The files of the numbers. Those in a folder that is named as the subset is (in any letter case) come alone."""
    wanted = frozenset(numbers)
    found: dict[int, list[Entry]] = {}
    for entry in entries:
        number = conversation_number(entry.name)
        if number in wanted and not entry.hidden:
            found.setdefault(number, []).append(entry)
    candidates = {number: _decided(found[number], subset) for number in sorted(found)}
    taken = [same[0] for same in candidates.values()]
    return Choice(candidates, _companions(entries, taken), tuple(sorted(wanted - found.keys())))


def conversation_number(name: str) -> int | None:
    """The number of a file that is named as a published conversation is, exactly; else None."""
    match = _CONVERSATION.fullmatch(name)
    return int(match[1]) if match else None


def is_companion(name: str) -> bool:
    """Whether a file of this name is a codebook, a licence or a readme, which lie beside conversations."""
    if name == CODEBOOK:
        return True
    stem = next((name[: -len(end)] for end in _PAPER_ENDINGS if name.lower().endswith(end)), name)
    return _PAPER.fullmatch(stem) is not None


def _decided(same: list[Entry], subset: str) -> tuple[Entry, ...]:
    named = [entry for entry in same if subset.lower() in (folder.lower() for folder in entry.folders)]
    return tuple(sorted(named or same, key=lambda entry: (len(entry.folders), entry.path)))


def _companions(entries: Sequence[Entry], taken: Sequence[Entry]) -> dict[str, Entry]:
    """Of each name the file that lies deepest among the folders in which, at some depth, something taken lies."""
    above = {entry.folders[:depth] for entry in taken for depth in range(len(entry.folders) + 1)}
    nearest: dict[str, Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.path):  # of equally near ones always the same
        if entry.folders not in above or not is_companion(entry.name) or entry.hidden:
            continue
        if entry.name != CODEBOOK and entry.size > LARGEST_PAPER:
            continue
        known = nearest.get(entry.name)
        if known is None or len(entry.folders) > len(known.folders):
            nearest[entry.name] = entry
    papers = sorted(name for name in nearest if name != CODEBOOK)[:MOST_PAPERS]
    return {name: nearest[name] for name in sorted({*papers, *({CODEBOOK} & nearest.keys())})}
