"""The published subsets by the numbers of their files (`published_subsets.json`), and what names of files say."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import PurePath
from typing import NamedTuple

from attunebench.codebook import FILE_NAME as CODEBOOK
from attunebench.errors import UsageError

_CONVERSATION = re.compile(r"conversation_(0|[1-9][0-9]{0,8})\.json")
_PAPER = re.compile(
    r"(readme|licen[cs]e|copying|notice|citation|datasheet)([-_][a-z0-9]+){0,3}(\.(md|txt|rst|cff|bib))?", re.IGNORECASE
)
_LARGEST_PAPER = 1 << 20
_MOST_NUMBERS = 100_000


def conversation_number(name: str) -> int | None:
    """The number of a file that is named exactly as a published conversation is; else None."""
    match = _CONVERSATION.fullmatch(name)
    return int(match[1]) if match else None


def subset_file_name(number: int) -> str:
    """The published file name of a conversation number."""
    return f"conversation_{number}.json"


def is_companion(name: str, size: int = 0) -> bool:
    """Whether a file is the codebook, or a licence or readme of a usual size, which lie beside conversations."""
    return name == CODEBOOK or (_PAPER.fullmatch(name) is not None and size <= _LARGEST_PAPER)


def belongs_to_data(path: PurePath, size: int) -> bool:
    """Whether a file in a folder or archive is a conversation or a companion, and neither hidden nor added by macOS."""
    if any(part.startswith(".") or part == "__MACOSX" for part in path.parts):
        return False
    return conversation_number(path.name) is not None or is_companion(path.name, size)


@cache
def published_subsets() -> Mapping[str, frozenset[int]]:
    """Subset name → file numbers, the largest subset first."""
    text = (resources.files("attunebench.datasets") / "published_subsets.json").read_text(encoding="utf-8")
    return {name: frozenset(numbers) for name, numbers in json.loads(text).items()}


def subset_called(name: str) -> tuple[str, frozenset[int]]:
    """The published name and the file numbers of a subset, in any letter case. UsageError where there is none."""
    for known, numbers in published_subsets().items():
        if known.lower() == name.strip().lower():
            return known, numbers
    raise UsageError(f"There is no data set '{name}'; choose one of {', '.join(published_subsets())}.")


def recognise(files: Iterable[str]) -> str | None:
    """The published subset whose numbers are exactly those of `files` (names or paths), else None.

    Only the numbers are compared: who needs certainty that the content is the published one compares digests.
    """
    numbers = {conversation_number(PurePath(file).name) for file in files}
    return next((name for name, known in published_subsets().items() if known == numbers), None)


class Match(NamedTuple):
    """How file numbers differ from those of a published subset; both differences in ascending order."""

    subset: str
    missing: tuple[int, ...]
    extra: tuple[int, ...]


def match_of(name: str, numbers: Collection[int]) -> Match:
    """The difference between the numbers and the subset called `name`. Raises UsageError for an unknown one."""
    subset, known = subset_called(name)
    return Match(subset, tuple(sorted(known - set(numbers))), tuple(sorted(set(numbers) - known)))


def nearest(numbers: Collection[int]) -> Match | None:
    """The subset that differs least from the numbers; None where none holds at least half of them."""
    matches = [match_of(name, numbers) for name in published_subsets()] if numbers else []
    near = [match for match in matches if 2 * len(match.extra) <= len(set(numbers))]
    return min(near, key=lambda match: len(match.missing) + len(match.extra), default=None)


def outside_text(numbers: Iterable[int]) -> str:
    """A sentence where a number is in a subset and not in the largest one, so that nobody looks for a mistake."""
    subsets = published_subsets()
    largest = next(iter(subsets))
    outside = {n: name for name, known in subsets.items() for n in set(numbers) & (known - subsets[largest])}
    return "".join(f" Number {number} is in {name} but not in {largest}." for number, name in sorted(outside.items()))


def lacking_text(source: str, numbers: Collection[int], missing: Collection[int]) -> str:
    """Which of the wanted numbers a source does not have, and what to do."""
    return (
        f"{source} lacks {len(missing)} of the {len(set(numbers))} conversations (conversation_<number>.json): "
        f"{spans(missing)}.{outside_text(missing)} Nothing was written; use --partial to copy the others, or name "
        "another source with --from."
    )


def spans(numbers: Iterable[int]) -> str:
    """ "5–43, 46, 49": every number, runs of three and more by their ends."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def parse_spans(text: str) -> frozenset[int]:
    """The numbers in a list such as "1-20,33". Raises UsageError that shows the part that is not one."""
    numbers: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        ends = re.fullmatch(r"([0-9]{1,9})(?:\s*[-–]\s*([0-9]{1,9}))?", part)
        if ends is None or (ends[2] and int(ends[2]) < int(ends[1])):
            raise UsageError(f"'{part}' is neither a file number nor a range; write them as 1-20,33.")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if last - first + len(numbers) >= _MOST_NUMBERS:
            raise UsageError(f"'{text}' has more than {_MOST_NUMBERS:,} file numbers; write a smaller range.")
        numbers.update(range(first, last + 1))
    if not numbers:
        raise UsageError("--numbers has no file number; write them as 1-20,33.")
    return frozenset(numbers)
