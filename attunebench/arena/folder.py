"""The files of an arena. One writer has one file, so that nobody overwrites what another wrote:

histories.jsonl              what replies answer
replies/NAME.jsonl           one file for each source of replies: a model that was asked, results, people
pairs.jsonl                  which replies are compared
verdicts/NAME.jsonl          one file for each judge, or for people
arena.json                   how all of this was made
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from attunebench.arena.objects import History, Line, Pair, Reply, Verdict, as_line
from attunebench.errors import DataError
from attunebench.files import atomic_write
from attunebench.jsonfile import dump_json

L = TypeVar("L", bound=Line)


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


def read_lines(path: Path, kind: type[L]) -> list[L]:
    """The objects of a JSONL file. Raises DataError that names the file and the line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from None
    lines = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            lines.append(kind.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise DataError(f"{path}, line {number}: {where and f'{where}: '}{first['msg']}.") from None
    return lines


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """Write a JSONL file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        for line in lines:
            file.write(dump_json(as_line(line)) + b"\n")


def read_arena(folder: Path) -> Arena:
    """The arena in a folder. Raises DataError where there is none, or where a file cannot be used."""
    path = folder / "histories.jsonl"
    if not path.is_file():
        raise DataError(f"There is no arena in {folder}: histories.jsonl is missing.")
    histories = {one.id: one for one in read_lines(path, History)}
    replies = [one for file in sorted(folder.glob("replies/*.jsonl")) for one in read_lines(file, Reply)]
    pairs = read_lines(folder / "pairs.jsonl", Pair) if (folder / "pairs.jsonl").is_file() else []
    verdicts = [one for file in sorted(folder.glob("verdicts/*.jsonl")) for one in read_lines(file, Verdict)]
    return Arena(
        histories,
        {(one.history, one.author): one for one in replies},
        {one.id: one for one in pairs},
        verdicts,
    )
