"""A whole comparison: every metric in every mode, modes against each other, other weights; as analyses and as arrays.

Puts the parts together and says in sentences what they found. Reads and draws nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses.common import counted, digits_of, judges_text, label_of, listed, number
from attunebench.analyses.model import Analysis, Cell, Column, Settings, Table, legend, text
from attunebench.analyses.testing import reach_text
from attunebench.analyses.units import shared_people_text
from attunebench.comparison.choosing import chosen_groups, refuse_too_little
from attunebench.comparison.modes import ModeEffects, mode_effects
from attunebench.comparison.ranking import Ranking, tiers_of
from attunebench.comparison.tables import modes_table, pairs_table, tiers_table, weights_table
from attunebench.comparison.weights import weight_effects
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import cards_of, metric
from attunebench.scores.compatibility import warnings_or_refusal
from attunebench.scores.references import standing
from attunebench.scores.table import ReferenceValues, ScoreTable
from attunebench.statistics.bootstrap import Estimates, estimate_ratios, mean_as_ratio, resample_weights
from attunebench.statistics.intervals import with_wilson
from attunebench.statistics.ranks import WeightSensitivity

DEFAULT_METRICS = ("composite", "pairwise_accuracy")
_WEIGHTED = "composite"
_SAID_AT_MOST = 4
"""More rankings than this, and other modes, are left to the table: nobody reads a paragraph of numbers."""
_FIRM = 0.95
"""The order of two is firm if it holds under so large a share of other weights."""
_CANNOT = (
    "That two models are equal: a pair that is not told apart may still differ by less than could have been found (the "
    "MDE). Nor how models would do with other people, topics or labels than these."
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared. `analyses` is all of it as tables and sentences, the answer first.

    The rest are the arrays behind them: `rankings` (with their `pairs`) by metric and mode, `modes` against the primary
    one, `weights` (how the Composite's ranking moves with the weights of its pillars) by mode.
    """

    analyses: tuple[Analysis, ...]
    rankings: Mapping[tuple[str, str], Ranking]
    modes: tuple[ModeEffects, ...]
    weights: Mapping[str, WeightSensitivity]
    warnings: tuple[str, ...]


def compare(
    study: ScoreTable, settings: Settings | None = None, *, models: Sequence[str] = (), force: bool = False
) -> Comparison:
    """Compare all models of a study, pair by pair, in `settings.metrics` (Composite and Pairwise where it is empty).

    Each mode is compared for itself, or `settings.mode` alone; where there are several, each model is also compared
    with itself in the primary mode. `models` takes these alone. Pure: the same study and settings give the same.

    UsageError: unknown metric, mode or model, or a single model. DataError: no two have two conversations in common, or
    they differ in labels, definitions or judges, which `force` turns into warnings.
    """
    settings = settings or Settings()
    metric_ids = tuple(metric(metric_id).id for metric_id in settings.metrics or DEFAULT_METRICS)
    chosen = chosen_groups(study, settings, models)
    refuse_too_little(chosen)
    warnings = list(warnings_or_refusal(chosen, metric_ids, force=force))
    by_mode = {mode: chosen.of_mode(mode) for mode in chosen.modes}
    by_mode = {mode: part for mode, part in by_mode.items() if len(part.groups) > 1}
    rankings = {
        (metric_id, mode): tiers_of(part, metric_id, settings)
        for metric_id in metric_ids
        for mode, part in by_mode.items()
    }
    effects = tuple(effect for metric_id in metric_ids for effect in mode_effects(chosen, metric_id, settings))
    weights = {
        mode: weight_effects(part, settings)
        for mode, part in by_mode.items()
        if _WEIGHTED in metric_ids and rankings[_WEIGHTED, mode].conversations
    }
    warnings += [*_too_few(rankings, settings), *filter(None, (shared_people_text(chosen, settings),))]
    analyses = [
        *([_overview(rankings, chosen.references, settings)] if rankings else []),
        *(_between_models(by_mode[mode], ranking, settings) for (_, mode), ranking in rankings.items()),
        *([_between_modes(effects, settings)] if effects else []),
        *([_under_weights(by_mode, weights, settings)] if weights else []),
    ]
    judged = (judges_text(chosen),) if JUDGED & set(metric_ids) else ()
    analyses[0] = replace(analyses[0], warnings=tuple(warnings), notes=(*analyses[0].notes, *judged))
    analyses = [replace(one, notes=(*one.notes, *legend(one.tables))) for one in analyses]
    return Comparison(tuple(analyses), rankings, effects, weights, tuple(warnings))


def _too_few(rankings: Mapping[tuple[str, str], Ranking], settings: Settings) -> list[str]:
    """Said once for a mode whose pairs support no claim in any metric."""
    few: dict[str, int] = {}
    for (_, mode), ranking in rankings.items():
        few[mode] = max(few.get(mode, 0), int(ranking.pairs.n.max()))
    said = [
        f"Only {n} conversations in common ({mode}): too few for a claim, so no pair is called told apart and nothing "
        f"is put in tiers. At least {settings.small} are needed."
        for mode, n in few.items()
        if n < settings.small
    ]
    enough = [ranking.pairs for (_, mode), ranking in rankings.items() if few[mode] >= settings.small]
    beyond = [sentence for pairs in enough for sentence in reach_text(pairs.least_of_pairs, settings)]
    return [*said, *dict.fromkeys(beyond)]


# Sentences


def _overview(
    rankings: Mapping[tuple[str, str], Ranking], references: Sequence[ReferenceValues], settings: Settings
) -> Analysis:
    columns = (
        Column("metric", "Metric", "text"),
        Column("mode", "Mode", "text"),
        Column("n", "n", "count", "Conversations that all models have."),
        Column("participants", "People", "count", "Participants that these conversations are of."),
        Column("models", "Models", "count"),
        Column("told_apart", "Told apart", "text", "Pairs that the corrected test tells apart."),
        Column("told_apart_raw", "Uncorrected", "text", "Pairs with p at most α, uncorrected."),
        Column("tiers", "Tiers", "count"),
    )
    table = Table(
        "overview",
        "Pairs told apart",
        columns,
        tuple(_overview_row(ranking, mode) for (_, mode), ranking in rankings.items()),
        f"A pair is told apart where its corrected p is at most {settings.alpha:g}, over at least {settings.small} "
        "conversations. The first tier is the best model and all that are not told apart from it.",
    )
    first = next(mode for _, mode in rankings)
    said = [(name, ranking) for (name, mode), ranking in rankings.items() if mode == first][:_SAID_AT_MOST]
    shows = " ".join(f"{label_of(name)} ({first}): {_found(ranking)}" for name, ranking in said)
    notes = [f"{reference.label}: {reference.meaning}" for reference in map(standing, references)]
    return Analysis(
        "compare",
        "Comparison",
        "Which models differ, and how sure is that?",
        shows,
        _CANNOT,
        (table,),
        notes=tuple(notes),
    )


def _overview_row(ranking: Ranking, mode: str) -> tuple[Cell, ...]:
    pairs = ranking.pairs
    counts = (f"{pairs.apart} of {pairs.of}", f"{pairs.apart_raw} of {pairs.of}")
    return (
        text(label_of(ranking.metric_id)),
        text(mode),
        Cell(len(ranking.conversations), small=ranking.small),
        Cell(ranking.participants),
        Cell(len(ranking.groups)),
        *(text("too few" if pairs.undecidable else count) for count in counts),
        Cell(None if ranking.small else len(ranking.tiers)),
    )


def _found(ranking: Ranking) -> str:
    """ "35 of 55 pairs are told apart, 41 before correction; first tier: a and b." """
    pairs = ranking.pairs
    if not pairs.tests:
        return "nothing to test."
    if pairs.undecidable:
        pair = "the one pair" if pairs.of == 1 else f"any of {pairs.of} pairs"
        return f"too few conversations or participants in common for a claim about {pair}."
    counts = f"{pairs.apart} of {counted(pairs.of, 'pair')} told apart, {pairs.apart_raw} before correction"
    if ranking.small or not ranking.tiers:
        return f"{counts}."
    first = [ranking.groups[i].label for i in ranking.tiers[0]]
    if len(first) == len(ranking.groups):
        return f"{counts}; no model is told apart from the first one."
    return f"{counts}; first tier: {listed(first)}."


def _between_models(study: ScoreTable, ranking: Ranking, settings: Settings) -> Analysis:
    mode = study.groups[0].mode
    label = label_of(ranking.metric_id)
    name = f"compare-{ranking.metric_id.replace('_', '-')}-{mode}"
    analysis = Analysis(name, f"{label}, mode {mode}", f"Which models differ in {label}?")
    if not ranking.pairs.tests:
        return replace(analysis, missing=f"no two models have {label} in two conversations in common.")
    found = [f"{said[0].upper()}{said[1:]}" if (said := _found(ranking)) else "", _detectable(ranking, settings)]
    shown: tuple[Table, ...] = (pairs_table(ranking, settings),)
    if ranking.conversations:
        references = _references(study.with_conversations(ranking.conversations), ranking.metric_id, settings)
        chance = cards_of(study.rules)[ranking.metric_id].chance
        shown = (tiers_table(ranking, references, settings, chance), *shown)
    else:
        found.append("No conversation was scored for all of them, so they have no places.")
    return replace(analysis, shows=" ".join(filter(None, found)), tables=shown)


def _detectable(ranking: Ranking, settings: Settings) -> str:
    """What the typical pair could have shown."""
    above = np.triu_indices(len(ranking.groups), 1)
    alone, corrected = ranking.pairs.mde[above], ranking.pairs.mde_corrected[above]
    if np.isnan(alone).all():
        return ""
    digits = digits_of(ranking.metric_id)
    return (
        f"In the median pair a difference of {number(float(np.nanmedian(alone)), digits)} would have been found with "
        f"{100 * settings.power:.0f} % power alone, of {number(float(np.nanmedian(corrected)), digits)} at the level "
        f"α/{ranking.pairs.tests} of the strictest correction."
    )


def _references(study: ScoreTable, metric_id: str, settings: Settings) -> list[tuple[ReferenceValues, Estimates]]:
    """The references that have the metric, with intervals by the resamples of the ranking."""
    clusters = study.clusters if settings.by_participant else None
    units = len(study.ids) if clusters is None else int(clusters.max()) + 1
    found = []
    for reference in map(standing, study.references):
        values = reference.values.get(metric_id)
        if values is not None and not np.isnan(values).all():
            weights = resample_weights(units, settings.resamples, settings.rng("ranks"))
            above, below = mean_as_ratio(values[:, None])
            estimates = estimate_ratios(above, below, weights, clusters=clusters, level=settings.level)
            shares = np.array([metric(metric_id).proportion])
            found.append((reference, with_wilson(estimates, below, shares, clusters, settings.level)[0]))
    return found


def _between_modes(effects: Sequence[ModeEffects], settings: Settings) -> Analysis:
    return Analysis(
        "compare-modes",
        "Modes against each other",
        "Do reasons or knowledge of the person change what a model scores?",
        " ".join(_changed(effect) for effect in effects),
        "What in a mode makes the difference. A model that is not told apart from itself in another mode may still "
        "change by less than could have been found (its MDE).",
        tuple(modes_table(effect, settings) for effect in effects),
    )


def _changed(effect: ModeEffects) -> str:
    head = f"{label_of(effect.metric_id)}, {effect.mode} − {effect.base}: "
    if effect.small.all():
        return f"{head}too few conversations in both modes for a claim."
    up = int((effect.told_apart & (effect.difference > 0)).sum())
    down = int((effect.told_apart & (effect.difference < 0)).sum())
    moved = [f"{g.label} {int(s):+d}" for g, s in zip(effect.groups, effect.shift, strict=True) if abs(s) >= 2]
    shifts = (
        f"; places change by two or more, as chance alone can bring about, for {listed(moved)}"
        if moved
        else "; no place changes by two or more"
    )
    if not up and not down:
        return f"{head}no change is told from none in {len(effect.groups)} models{shifts}."
    return f"{head}of {len(effect.groups)} models {up} go up and {down} go down{shifts}."


def _under_weights(
    by_mode: Mapping[str, ScoreTable], weights: Mapping[str, WeightSensitivity], settings: Settings
) -> Analysis:
    found = []
    for mode, sensitivity in weights.items():
        groups, holds = by_mode[mode].groups, sensitivity.near.holds[np.triu_indices(len(by_mode[mode].groups), 1)]
        known = holds[~np.isnan(holds)]
        firm = f"{int((known >= _FIRM).sum())} of {len(known)} orders of two hold in {_percent(_FIRM)} or more"
        leaders = [
            f"{group.label} is first in {_percent(share)}"
            for group, share, rank in zip(groups, sensitivity.near.p_best, sensitivity.rank, strict=True)
            if rank == 1
        ]
        found.append(f"{mode}: under weights near the published ones {listed(leaders)} of the draws; {firm} of them.")
    return Analysis(
        "compare-weights",
        "Composite under other weights",
        "Does the ranking hang on the weights of the three pillars?",
        " ".join(found),
        "Which weights are right; the published ones are a choice.",
        tuple(weights_table(by_mode[mode].groups, found_, mode, settings) for mode, found_ in weights.items()),
    )


def _percent(share: float) -> str:
    """Rounded down, so that 100 % means all of it."""
    return f"{math.floor(100 * share + 1e-9)} %"
