"""`attune-bench score`: how the command calls the scorer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from attunebench.scorer import folders

if TYPE_CHECKING:
    from conftest import Command


def test_the_number_of_files_decides_how_many_processes_score(
    cli: Command, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("run", "baseline", "majority", data)
    counts = list[int]()

    def processes_for(files: int) -> int:
        counts.append(files)
        return 1

    monkeypatch.setattr(folders, "processes_for", processes_for)
    assert 0 == cli("score", "-d", data, "--resamples", "5").status
    assert [len(list(Path("results").glob("[!_]*.json")))] == counts
