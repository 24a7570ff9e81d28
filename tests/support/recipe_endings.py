"""How a run against a recipe has to end: one `Ending` for each recipe, in the tables of `recipe_endings_servers` and
`recipe_endings_bodies`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attunebench.selftest.answers import SAID

CALLS = 79
"""Calls of the three conversations of `recipe_server.DATA`, which a good server answers with one request each."""


@dataclass(frozen=True)
class Ending:
    """The recipe's name and what must come of a run over `DATA` in an empty folder.

    `status`: the exit status. `results`: result files. `skipped`: entries of the list of skipped conversations.
    `requests`: chat requests sent, all in all; None leaves it open. `counts`: sums over the results' `calls`, all of
    those that are not named are 0. `missing`: items without an answer, in all results. `draft`: what every draft says.
    `adapted`: the results' own field. `reads`: words that the user reads, `unread`: words that nobody reads.
    """

    recipe: str
    status: int = 0
    results: int = 3
    skipped: int = 0
    requests: int | None = CALLS
    counts: Mapping[str, int] = field(default_factory=dict)
    missing: int = 0
    draft: str | None = SAID
    adapted: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    unread: tuple[str, ...] = ("Traceback", "bug")
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Came:
    """What came of a run, in the terms of an `Ending`."""

    status: int
    results: int
    skipped: int
    requests: int | None
    counts: Mapping[str, int]
    missing: int
    drafts: set[str | None]
    adapted: Mapping[str, str]


def expected(ending: Ending) -> Came:
    """What must come of it."""
    drafts = {ending.draft} if ending.results else set()
    counts = dict.fromkeys(_COUNTS, 0) | dict(ending.counts)
    return Came(
        ending.status, ending.results, ending.skipped, ending.requests, counts, ending.missing, drafts, ending.adapted
    )


def what_came(ending: Ending, status: int, requests: int, results: list[Any], skipped: list[Any]) -> Came:
    """What came of it, by the files that were left."""
    calls = [result["calls"] for result in results]
    adapted = {key: value for result in results for key, value in result["adapted"].items()}
    drafts = {turn["em_drafted_response"] for result in results for turn in result["turns"]}
    return Came(
        status,
        len(results),
        len(skipped),
        None if ending.requests is None else requests,
        {name: sum(each[name] for each in calls) for name in _COUNTS},
        sum(each["expected_items"] - each["answered_items"] for each in calls),
        drafts if ending.draft is not None else {None} if results else set(),
        adapted,
    )


_COUNTS = ("reasked", "refused", "truncated")
