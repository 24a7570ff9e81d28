"""Analyses written as whole JSON and read back: nothing that a renderer shows is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attunebench.analyses.table import Analysis, Cell, Chart, Drill, column, table, words
from attunebench.errors import DataError
from attunebench.reports.analyses import FORMATS, render
from attunebench.reports.analyses.machine import read_analyses, render_json

BEHIND = Drill(where=(("author", "lab0"), ("rater", "people")))
RATINGS = table(
    "ratings",
    "Ratings",
    words("author", ["lab0", Cell("lab1", mark="reference")]),
    column("elo", [Cell(1012.5, 990.25, 1030.5, n=40, p=0.5, small=True, mark="*", drill=BEHIND, digits=0), None]),
    column("share", [1, 0.5], "share won", "share", "Of pairs.", better=True, digits=2, rounds_down=True),
    caption="Over 40 histories.",
    notes=("A note.",),
    chart=Chart(
        "intervals", "author", ("elo",), lines={"even": 0.5, "chance": {"elo": 0.25}}, roles={"lab1": "person"}
    ),
    apart=1,
)
ANALYSES = [
    Analysis("arena-ratings", "Ratings", "Who?", "lab0.", "Not why.", (RATINGS,), ("Careful.",), ("Once.",)),
    Analysis("arena-people", "People", missing="There are no people."),
]


def whole(**about: Any) -> Any:
    return json.loads(render_json(ANALYSES, whole=True, **about))


def test_analyses_come_back_as_they_were() -> None:
    assert read_analyses(whole(), "file") == ANALYSES


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_says_the_same_of_what_was_read_back(format: str) -> None:
    assert render(read_analyses(whole(), "file"), format) == render(ANALYSES, format)


def test_more_keys_stand_beside_the_analyses() -> None:
    assert whole(arena={"folder": "arena"})["arena"] == {"folder": "arena"}


def _without(*path: Any) -> Any:
    document = whole()
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return document


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"schema_version": 99, "analyses": []},
        {"schema_version": 1, "analyses": "none"},
        {"schema_version": 1, "analyses": [None]},
        {"schema_version": 1, "analyses": [{"tables": 3}]},
        _without("analyses", 0, "tables", 0, "rows", 0, "elo"),
        _without("analyses", 0, "tables", 0, "columns", 0, "id"),
        _without("analyses", 0, "tables", 0, "title"),
    ],
)
def test_what_is_no_file_of_analyses_is_refused(document: Any) -> None:
    with pytest.raises(DataError):
        read_analyses(document, "file")


def test_a_cell_of_another_type_is_refused() -> None:
    document = whole()
    document["analyses"][0]["tables"][0]["rows"][0]["elo"] = {"value": [1]}
    with pytest.raises(DataError):
        read_analyses(document, "file")
