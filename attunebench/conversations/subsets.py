"""The published subsets, by name and by the numbers of their files. Knows no conversation's content.

The numbers are data in `published_subsets.json`; conversation number 106 is in Subsample100 and not in Sample200.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from attunebench.conversations.loading import file_number
from attunebench.errors import UsageError


@cache
def published_subsets() -> Mapping[str, frozenset[int]]:
    """Subset name → file numbers, the largest subset first."""
    text = (resources.files("attunebench.conversations") / "published_subsets.json").read_text(encoding="utf-8")
    return {name: frozenset(numbers) for name, numbers in json.loads(text).items()}


def subset_numbers(name: str) -> frozenset[int]:
    """The file numbers of the subset called `name`, in any letter case. Raises UsageError that names the known ones."""
    subsets = published_subsets()
    for known, numbers in subsets.items():
        if known.lower() == name.strip().lower():
            return numbers
    raise UsageError(f"There is no subset '{name}'; known are {', '.join(subsets)}.")


def subset_file_name(number: int) -> str:
    """The published file name of a conversation number."""
    return f"conversation_{number}.json"


def recognise(files: Iterable[str | Path]) -> str | None:
    """The published subset whose numbers are exactly those of `files` (names or paths), else None.

    Only the numbers are compared: who needs certainty that the content is the published one compares digests.
    """
    names = [Path(file).name for file in files]
    numbers = [file_number(name) for name in names]
    if any(number is None or name != subset_file_name(number) for number, name in zip(numbers, names, strict=True)):
        return None
    found = frozenset(numbers)
    return next((name for name, known in published_subsets().items() if known == found), None)
