"""The results of a folder, read as scoring reads them, and everything else that was met on the way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attunebench.results.folder import Duplicate, Findings, find_duplicates, read_results
from attunebench.results.schema import Result


@dataclass(slots=True)
class ResultSet(Findings):
    """The results without duplicates, in order of their path."""

    results: tuple[Result, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()


def load_results(folder: str | Path) -> ResultSet:
    loaded = ResultSet()
    found = list(read_results(folder, loaded))
    loaded.duplicates = find_duplicates((result.key, result.source_file) for result in found)
    doubtful = {duplicate.key for duplicate in loaded.duplicates}
    loaded.results = tuple(result for result in found if result.key not in doubtful)
    return loaded
