"""File numbers of conversations in words, and which published subset they are near to. Reads no file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from attunebench.conversations.subsets import published_subsets, subset_numbers
from attunebench.errors import UsageError

_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Match:
    """How file numbers stand to a published subset; both differences in ascending order."""

    subset: str
    missing: tuple[int, ...]
    extra: tuple[int, ...]

    @property
    def exact(self) -> bool:
        return not self.missing and not self.extra


def subset_called(name: str) -> tuple[str, frozenset[int]]:
    """The published name and the file numbers of a subset. Raises UsageError where there is none of this name."""
    numbers = subset_numbers(name)
    return next(subset for subset, members in published_subsets().items() if members == numbers), numbers


def outside_text(numbers: Iterable[int]) -> str:
    """A sentence where a number is one that a subset has and the largest does not, so that nobody seeks a mistake."""
    largest, *others = published_subsets()
    for number in sorted(set(numbers) - subset_numbers(largest)):
        for subset in others:
            if number in subset_numbers(subset):
                return f" Number {number} is in {subset} and outside {largest}."
    return ""


def match_of(name: str, numbers: Collection[int]) -> Match:
    """How the numbers stand to the subset called `name`, in any letter case. Raises UsageError for an unknown one."""
    subset, known = subset_called(name)
    return Match(subset, tuple(sorted(known - set(numbers))), tuple(sorted(set(numbers) - known)))


def nearest(numbers: Collection[int]) -> Match | None:
    """The subset that differs least from the numbers; None where none holds at least half of them."""
    found = [match_of(name, numbers) for name in published_subsets()] if numbers else []
    near = [match for match in found if 2 * len(match.extra) <= len(set(numbers))]
    return min(near, key=lambda match: len(match.missing) + len(match.extra), default=None)


def spans(numbers: Iterable[int]) -> str:
    """ "5–43, 46 and 49": every number, runs of three and more by their ends."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = []
    for run in runs:
        words += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(number) for number in run]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


def parse_spans(text: str) -> frozenset[int]:
    """The numbers in a list such as "1-20,33". Raises UsageError that shows the part that is none."""
    numbers: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        ends = re.fullmatch(r"([0-9]{1,9})(?:\s*[-–]\s*([0-9]{1,9}))?", part)
        if ends is None or (ends[2] and int(ends[2]) < int(ends[1])):
            raise UsageError(f"'{part}' is no file number and no range of them; write them as 1-20,33.")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if last - first + len(numbers) >= _MOST:
            raise UsageError(f"'{text}' names over {_MOST:,} file numbers; write a smaller range.")
        numbers.update(range(first, last + 1))
    if not numbers:
        raise UsageError("There is no file number in --numbers; write them as 1-20,33.")
    return frozenset(numbers)
