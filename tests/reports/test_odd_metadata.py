"""Scores files that somebody has changed: what stands in them where nobody looks ends no report with a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_scores import plain_scores

from attunebench.errors import DataError
from attunebench.reports import build_report
from attunebench.reports.merging import merged_scores
from attunebench.scores import Scores, read_scores


def changed(folder: Path, metadata: dict[str, Any] | None = None, **others: Any) -> Scores:
    """Scores of a model as they are read from a file with other values."""
    scores = plain_scores({"a": {"composite": np.ones(3)}})
    path = folder / "scores.json"
    path.write_text(json.dumps({**scores, **others, "metadata": {**scores["metadata"], **(metadata or {})}}))
    return read_scores(path)


@pytest.mark.parametrize(
    "metadata",
    [
        {"published": [1]},
        {"published": [{"file": "x"}]},
        {"published": "x"},
    ],
)
def test_odd_facts_are_passed_over(metadata: dict[str, Any], tmp_path: Path) -> None:
    report = build_report(changed(tmp_path, metadata))
    assert ["a"] == [group.model for group in report.groups]


@pytest.mark.parametrize(
    "others",
    [
        {"aggregates": [3]},
        {"metadata": {"settings": 7}},
        {"metadata": {"votes_left_out": [{"n_results": "many"}]}},
        {"left_out": [1]},
        {"left_out": {"unreadable": 7}},
    ],
)
def test_a_file_that_no_table_can_show_is_refused_beside_another(others: dict[str, Any], tmp_path: Path) -> None:
    odd = changed(tmp_path, **others)
    good: Any = plain_scores({"b": {"composite": np.ones(3)}})
    with pytest.raises(DataError, match=r"odd\.json"):
        merged_scores([good, odd], ["good.json", "odd.json"])
