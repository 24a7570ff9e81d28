"""Where each model stands in the leaderboard: its tier, and the places that other conversations would give it.

Asks `comparison` for it; tells only those groups that it can rank. Draws nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attunebench.errors import DataError
from attunebench.reports.model import Group, Standing
from attunebench.reports.source import mapping
from attunebench.text import counted

if TYPE_CHECKING:
    from attunebench.analyses.model import Settings
    from attunebench.comparison import Ranking
    from attunebench.scores.table import ScoreTable

_METRIC = "composite"
_ENOUGH = 20
"""`analyses.model.SMALL`, which is not imported here: a report of a few conversations needs no arrays, and is quick."""


def with_standings(groups: Sequence[Group], scores: Mapping[str, Any]) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The groups with their standing by Composite among the models of their mode, and sentences that explain it.

    As `compare` ranks them by default: models, or baselines where there is no model. A mode with a single one has no
    standings, nor have scores of so few conversations that nothing could be claimed.
    """
    if max(Counter(group.mode for group in groups).values()) < 2:
        return tuple(groups), ()
    if sorted(group.n for group in groups)[-2] < _ENOUGH:
        sentence = (
            f"No tiers: under {_ENOUGH} conversations are too few to claim that one model is better than another."
        )
        return tuple(groups), (sentence,)
    rankings = _rankings(scores)
    found = {key: standing for ranking in rankings for key, standing in _standings(ranking).items()}
    placed = tuple(replace(group, standing=found.get((group.provider, group.model, group.mode))) for group in groups)
    return placed, (_explained(rankings),) if found else ()


def _rankings(scores: Mapping[str, Any]) -> list[Ranking]:
    from attunebench.comparison import tiers_of

    study, settings = _study(scores), _settings(scores)
    parts = [study.of_mode(mode) for mode in study.modes] if study else []
    return [tiers_of(part, _METRIC, settings) for part in parts if len(part.groups) > 1]


def _study(scores: Mapping[str, Any]) -> ScoreTable | None:
    """The models of the scores; None where the file keeps no conversation that could be ranked by."""
    from attunebench.scores.loading import score_table

    try:
        study = score_table({"metadata": {}, **scores}).models()
    except (DataError, KeyError, TypeError):
        # What a report shows comes from the aggregates; a file with odd conversations still has these.
        return None
    return study if len(study.groups) > 1 else None


def _settings(scores: Mapping[str, Any]) -> Settings:
    """As the intervals of the scores were made."""
    from attunebench.analyses.model import Settings

    made = mapping(mapping(scores.get("metadata")).get("intervals"))
    seed = made.get("seed")
    return Settings(seed=seed if type(seed) is int else 0, by_participant=made.get("unit") == "participant")


def _standings(ranking: Ranking) -> dict[tuple[str, str, str], Standing]:
    found = {}
    for members in ranking.tiers:
        for i in members:
            tier = None if ranking.small else int(ranking.tier[i])
            found[ranking.groups[i].key] = Standing(tier, int(ranking.stability.low[i]), int(ranking.stability.high[i]))
    return found


def _explained(rankings: Sequence[Ranking]) -> str:
    counts = " and ".join(counted(tests, "pair") for tests in sorted({ranking.pairs.tests for ranking in rankings}))
    none = (
        ""
        if not any(ranking.small for ranking in rankings)
        else " – is too few conversations or participants in common for a claim."
    )
    return (
        "Tier: models that are not told apart from the first of their tier share it (Holm over "
        f"{counts}, α {rankings[0].pairs.alpha:g}); in brackets the places that resampled conversations give.{none} "
        "`attune-bench compare` shows the pairs."
    )
