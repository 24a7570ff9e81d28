"""The files of an arena. One writer has one file, so that nobody overwrites what another wrote:

histories.jsonl              what replies answer
replies/NAME.jsonl           one file for each source of replies: a model that was asked, results, people
pairs.jsonl                  which replies are compared
verdicts/NAME.jsonl          one file for each judge, or for people
arena.json                   how all of this was made, step by step
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from attunebench.arena.objects import History, Line, Pair, Reply, Verdict, as_line, errors_at, objects_in
from attunebench.errors import DataError, UsageError
from attunebench.files import atomic_write
from attunebench.jsonfile import dump_json, read_json
from attunebench.text import counted, printable

L = TypeVar("L", bound=Line)
Lines = list[tuple[str, L]]
"""Objects, each with the name of its file."""
_SAYS: Mapping[type[Line], tuple[str, str, tuple[str, ...]]] = {
    History: ("history", "histories", ("turns", "slice")),
    Reply: ("reply", "replies", ("kind", "text")),
    Pair: ("pair", "pairs", ("history", "left", "right")),
    Verdict: ("verdict", "verdicts", ("preference", "dimensions")),
}
"""One, several, and in what lines of one key may contradict each other; in other fields the first one counts."""
_GROUPS = ("people", "judges", "all people")
"""What raters, and authors who are people, are called together."""
_PATIENCE = 30.0  # seconds: an arena is held for as long as it takes to read and write a file of it


@dataclass(frozen=True)
class Arena:
    """Everything that is in an arena's folder. `replies` by (history, author); `problems`: sentences on lines that
    contradict each other or name what is not there, and do not count."""

    histories: Mapping[str, History]
    replies: Mapping[tuple[str, str], Reply] = field(default_factory=dict)
    pairs: Mapping[str, Pair] = field(default_factory=dict)
    verdicts: Sequence[Verdict] = ()
    made: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def notices(self) -> tuple[str, ...]:
        """What has to be said wherever numbers of this arena are shown, by the steps that made it."""
        steps = (step for step in self.made.get("steps", ()) if isinstance(step, Mapping))
        return tuple(step["notice"] for step in steps if isinstance(step.get("notice"), str))


def read_lines(path: Path, kind: type[L]) -> list[L]:
    """The objects of a JSONL file; none where there is no file. Raises DataError that names the file and the line."""
    lines = []
    for where, entry in objects_in(path) if path.is_symlink() or path.exists() else ():
        with errors_at(where):
            lines.append(kind.model_validate(entry))
    return lines


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """Write a JSONL file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        for line in lines:
            file.write(dump_json(as_line(line)) + b"\n")


def lines_file(folder: Path, part: str, name: str) -> Path:
    """Where a writer of this name keeps its lines; `part` is replies or verdicts. No two names share a file."""
    plain = re.sub(r"[^a-z0-9._+@-]+", "-", name.lower())[:80].strip(".-") or "unnamed"
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return folder / part / f"{plain if plain == name else f'{plain}_{digest}'}.jsonl"


def note_step(folder: Path, step: Mapping[str, Any]) -> None:
    """Add to arena.json how something was made, unless it says so already. Raises as `change_made`."""
    added = json.loads(json.dumps(step))

    def with_step(made: Mapping[str, Any]) -> Mapping[str, Any]:
        steps = made.get("steps", [])
        return made if added in steps else {**made, "schema_version": 1, "steps": [*steps, added]}

    change_made(folder, with_step)


def change_made(folder: Path, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
    """Change what arena.json says. Raises DataError where it cannot be read."""
    path = folder / "arena.json"
    with _held(folder):
        before = _made(path)
        if (made := change(before)) != before:
            with atomic_write(path) as file:
                file.write(json.dumps(made, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The arena, for one process that changes a file of several writers. DataError where another one does not end."""
    from attunebench.journal.locks import try_lock

    folder.mkdir(parents=True, exist_ok=True)
    release = try_lock(lock := folder / ".attunebench-arena.lock", _PATIENCE)
    if release is None:
        raise DataError(f"{lock} has been locked by another process for {_PATIENCE:.0f} s; repeat the command.")
    try:
        yield
    finally:
        release()


def read_arena(folder: Path) -> Arena:
    """The arena in a folder. Raises DataError where there is none, or where a file cannot be used.

    Of lines that say the same one counts; of lines that contradict each other none does, since nobody knows which one
    is right.
    """
    if not (folder / "histories.jsonl").is_file():
        raise DataError(f"There is no arena in {folder}: histories.jsonl is missing. `arena new` creates one.")
    reading = _Reading(folder)
    histories = {one.id: one for _, one in reading.unique(reading.lines("histories.jsonl", History), attrgetter("id"))}
    found = reading.lines("replies/*.jsonl", Reply)
    found = reading.keep(found, lambda one: one.history in histories, "to a history that is not in the arena")
    found = reading.keep(found, lambda one: one.author != _GROUPS[-1], "whose author has the name of a group")
    found = reading.keep(found, _usual(found, "author", "kind"), "whose author is of another kind elsewhere")
    key = attrgetter("history", "author")
    replies: dict[tuple[str, str], Reply] = {key(one): one for _, one in reading.unique(found, key)}
    compared = reading.unique(reading.lines("pairs.jsonl", Pair), attrgetter("id"))
    compared = reading.keep(
        compared,
        lambda one: (one.history, one.left) in replies and (one.history, one.right) in replies,
        "whose replies are not in the arena",
    )
    pairs = {one.id: one for _, one in compared}
    given = reading.lines("verdicts/*.jsonl", Verdict)
    given = reading.keep(given, lambda one: one.pair in pairs, "on a pair that is not in the arena")
    given = reading.keep(given, _usual(given, "rater", "rater_kind"), "whose rater is of another kind elsewhere")
    given = reading.keep(
        given, lambda one: one.rater_kind == "human" or one.rater not in _GROUPS, "whose judge has the name of a group"
    )
    checks = [one for _, one in given if one.check]  # may be repeated, and enter no other number
    counting = reading.unique([line for line in given if not line[1].check], attrgetter("pair", "rater", "order"))
    verdicts = [*(one for _, one in counting), *checks]
    return Arena(histories, replies, pairs, verdicts, _made(folder / "arena.json"), tuple(reading.problems))


def refuse_foreign(folder: Path) -> None:
    """Raises UsageError where something other than an arena is there."""
    if folder.is_file() or (not (folder / "histories.jsonl").is_file() and any(folder.glob("[!.]*"))):
        raise UsageError(f"{folder} is neither empty nor an arena, so nothing was written; name another folder.")


def add_histories(folder: Path, histories: Iterable[History]) -> int:
    """Add histories to an arena, which is made where there is none, and count those that are new. Of a history that is
    there the slice and tags are replaced. Raises DataError where its messages differ: replies answer those, and
    UsageError where the folder is of something else."""
    refuse_foreign(folder)
    path = folder / "histories.jsonl"
    with _held(folder):
        known = {one.id: one for one in read_lines(path, History)}
        before = len(known)
        for one in histories:
            if (old := known.setdefault(one.id, one)).turns != one.turns:
                raise DataError(
                    f"Two histories with the id {one.id!r} have different messages, and histories of an arena cannot "
                    "change; use another id, or create a new arena."
                )
            known[one.id] = one if one.source == old.source else old
        write_lines(path, known.values())
    return len(known) - before


def add_replies(folder: Path, name: str, replies: Iterable[Reply]) -> int:
    """Add replies to an arena, in the file of this name, and count those that are new. Raises DataError where an author
    has another reply to a history: verdicts may have been given on it."""
    path, new = lines_file(folder, "replies", name), dict[tuple[str, str], Reply]()
    with _held(folder):
        known = read_arena(folder).replies
        for one in replies:
            old = new.setdefault((one.history, one.author), known.get((one.history, one.author), one))
            if old.text != one.text:
                raise DataError(
                    f"{one.author!r} already has another reply to history {one.history!r}, which may have been "
                    "compared; use another author name, or create a new arena."
                )
        there = read_lines(path, Reply)
        old_texts = {(one.history, one.author, one.text) for one in there}  # also of those that do not count
        if added := [one for key, one in new.items() if key not in known and (*key, one.text) not in old_texts]:
            write_lines(path, [*there, *added])
    return len(added)


def add_pairs(folder: Path, pairs: Iterable[Pair]) -> int:
    """Add pairs to an arena, and count those that are new; pairs that are there stay as they are."""
    path = folder / "pairs.jsonl"
    with _held(folder):
        known = read_lines(path, Pair)
        ids = {one.id for one in known}
        if added := [one for one in pairs if one.id not in ids]:
            write_lines(path, [*known, *added])
    return len(added)


class _Reading:
    """Reads lines and leaves out those that cannot count; `problems` has a sentence on each kind in each file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.problems: list[str] = []

    def lines(self, pattern: str, kind: type[L]) -> Lines[L]:
        paths = [path for path in sorted(self._folder.glob(pattern)) if not path.name.startswith(".")]
        return [(str(path.relative_to(self._folder)), one) for path in paths for one in read_lines(path, kind)]

    def keep(self, lines: Lines[L], counts: Callable[[L], bool], why: str) -> Lines[L]:
        """The lines that count."""
        kept: Lines[L] = []
        others: Lines[L] = []
        for line in lines:
            (kept if counts(line[1]) else others).append(line)
        self._note(others, f"{why} is left out", f"{why} are left out")
        return kept

    def unique(self, lines: Lines[L], key: Callable[[L], Hashable]) -> Lines[L]:
        """The lines without repetitions and contradictions: several different ones of one key."""
        says = attrgetter(*_SAYS[type(lines[0][1])][2]) if lines else id
        first: dict[Hashable, tuple[str, L]] = {}
        repeated: Lines[L] = []
        opposed: dict[Hashable, Lines[L]] = {}
        for line in lines:
            if (before := first.setdefault(key(line[1]), line)) is line:
                continue
            if says(before[1]) == says(line[1]):
                repeated.append(line)
            else:
                opposed.setdefault(key(line[1]), [before]).append(line)
        self._note(repeated, "repeating an earlier line is left out", "repeating an earlier line are left out")
        contradicting = [line for group in opposed.values() for line in group]
        why = "contradicting another line"
        self._note(contradicting, f"{why} is left out", f"{why} are left out")
        return [line for name, line in first.items() if name not in opposed]

    def _note(self, lines: Lines[L], one: str, several: str) -> None:
        by_file: dict[str, list[L]] = defaultdict(list)
        for file, line in lines:
            by_file[file].append(line)
        for file, group in by_file.items():
            n = counted(len(group), *_SAYS[type(group[0])][:2])
            example = printable(dump_json(as_line(group[0])).decode("utf-8", "replace"), 120)
            self.problems.append(f"{file}: {n} {one if len(group) == 1 else several} (first: {example}).")


def _usual(lines: Lines[L], name: str, kind: str) -> Callable[[L], bool]:
    """Whether a line gives its author (rater) the kind that most of its lines do: there can be one only."""
    name_of, kind_of = attrgetter(name), attrgetter(kind)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for _, line in lines:
        kinds[name_of(line)][kind_of(line)] += 1
    usual = {who: counts.most_common(1)[0][0] for who, counts in kinds.items()}
    return lambda line: kind_of(line) == usual[name_of(line)]


def _made(path: Path) -> Mapping[str, Any]:
    """What arena.json says; nothing where there is none."""
    if not path.exists():
        return {}
    content, _ = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("steps", []), list):
        raise DataError(f"{path}: expected an object with a list of steps.")
    return content
