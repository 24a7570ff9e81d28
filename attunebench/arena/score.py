"""Everything that is computed of an arena, as analyses in the order of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from attunebench.analyses.table import Analysis, Missing
from attunebench.arena.acts import acts
from attunebench.arena.agreement import agreement
from attunebench.arena.beside import beside
from attunebench.arena.bias import bias
from attunebench.arena.folder import Arena
from attunebench.arena.people import people
from attunebench.arena.ratings import ratings
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import VerdictTable, table_of


class Part(NamedTuple):
    """An analysis of an arena: what it is called, what it asks, and what answers it."""

    title: str
    question: str
    analyse: Callable[[Arena, VerdictTable, ArenaSettings], Analysis]


PARTS: Mapping[str, Part] = {
    "arena-ratings": Part("Ratings", "Which authors write better replies?", ratings),
    "arena-people": Part("People against models", "Do people or models write better replies?", people),
    "arena-agreement": Part("Agreement", "Do people agree on the better reply, and judges with them?", agreement),
    "arena-acts": Part("Support acts", "Which acts do raters cite, and which do replies perform?", acts),
    "arena-bias": Part("Bias of judges", "What sways judges besides the quality of replies?", bias),
    "arena-beside": Part("Ratings, latency and size", "Do faster or larger models have higher ratings?", beside),
}


def score_arena(arena: Arena, settings: ArenaSettings | None = None) -> list[Analysis]:
    """Every analysis; one that has nothing to show says why. What is wrong with the files stands at the first."""
    settings, table, analyses = settings or ArenaSettings(), table_of(arena), list[Analysis]()
    for name, (title, question, analyse) in PARTS.items():
        try:
            found = analyse(arena, table, settings)
        except Missing as reason:
            found = Analysis(missing=str(reason))
        analyses.append(replace(found, name=name, title=title, question=question))
    analyses[0] = replace(analyses[0], warnings=(*arena.notices, *arena.problems, *analyses[0].warnings))
    return analyses
