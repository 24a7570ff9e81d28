"""Where each model stands in the leaderboard: its tier, and the places that other conversations would give it.

Asks `comparison` for it; tells only those groups that it can rank. Draws nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attunebench.analyses.base import SMALL, Settings
from attunebench.reports.model import Group, Standing, settings_of
from attunebench.text import counted

if TYPE_CHECKING:
    from attunebench.comparison import Ranking


def with_standings(groups: Sequence[Group], scores: Mapping[str, Any]) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The groups with their standing by Composite among the models of their mode, and sentences that explain it.

    As `compare` ranks them by default: models, or baselines where there is no model. A mode with a single one has no
    standings, nor have scores of so few conversations that nothing could be claimed.
    """
    if max(Counter(group.mode for group in groups).values()) < 2:
        return tuple(groups), ()
    if sorted(group.n for group in groups)[-2] < SMALL:
        sentence = f"No tiers: under {SMALL} conversations are too few to claim that one model is better than another."
        return tuple(groups), (sentence,)
    rankings = _rankings(scores)
    found = {}
    for ranking in rankings:
        for i in (place for members in ranking.tiers for place in members):
            tier = None if ranking.small else int(ranking.tier[i])
            found[ranking.groups[i].key] = Standing(tier, int(ranking.stability.low[i]), int(ranking.stability.high[i]))
    placed = tuple(replace(group, standing=found.get(group.key)) for group in groups)
    return placed, (_explained(rankings),) if found else ()


def _rankings(scores: Mapping[str, Any]) -> list[Ranking]:
    """A ranking of each mode that has several models; none where the file keeps no conversation to rank by."""
    from attunebench.comparison import tiers_of
    from attunebench.scores.loading import score_table

    if not scores["conversations"]:
        return []
    table = score_table(scores).models()
    # As `compare` ranks by default, whatever number of resamples the intervals of the scores have.
    settings = replace(settings_of(scores["metadata"]), resamples=Settings().resamples)
    parts = [table.of_mode(mode) for mode in table.modes]
    return [tiers_of(part, "composite", settings) for part in parts if len(part.groups) > 1]


def _explained(rankings: Sequence[Ranking]) -> str:
    counts = " and ".join(counted(tests, "pair") for tests in sorted({ranking.pairs.tests for ranking in rankings}))
    small = any(ranking.small for ranking in rankings)
    none = " – is too few conversations or participants in common for a claim." if small else ""
    return (
        "Tier: models that do not differ significantly from the first of their tier share it (Holm over "
        f"{counts}, α {rankings[0].pairs.alpha:g}); in brackets the places that resampled conversations give.{none} "
        "`attune-bench compare` shows the pairs."
    )
