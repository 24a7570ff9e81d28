"""The framework's log of samples → the results in it. Needs nothing of the framework: a log is JSON, line by line.

The result of a document was made when it was scored, and is taken as it stands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attunebench.errors import DataError, UsageError
from attunebench.harness.importing import Source
from attunebench.jsonfile import parse_json


def sample_files(places: list[Path]) -> Iterator[Path]:
    """The logs at these places: files, and those that the framework wrote for our tasks in folders.

    Raises UsageError where there are none.
    """
    for place in places:
        files = [place] if place.is_file() else sorted(place.rglob("samples_attunebench*.jsonl"))
        if not files:
            raise UsageError(f"There is no log of samples in {place}; lm_eval writes one with --log_samples.")
        yield from files


def read_samples(path: Path) -> Source:
    """What is in a log. Raises DataError for a file that is no log of ours."""
    results: list[dict[str, Any]] = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            sample = parse_json(line.encode(), lenient=True)
        except ValueError:
            raise DataError(f"{path} is damaged in line {number}; nothing of it was imported.") from None
        found = sample.get("results") if isinstance(sample, dict) else None
        if not (isinstance(found, list) and found and all(isinstance(result, dict) for result in found)):
            raise DataError(
                f"{path} holds no results of attunebench in line {number}: it is of another task, or was made with "
                "--predict_only, which scores nothing."
            )
        results += found
    if not results:
        raise DataError(f"{path} holds no samples.")
    return Source(name=path.name, results=results)
