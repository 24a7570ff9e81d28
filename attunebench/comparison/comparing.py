"""A whole comparison: every metric in every mode, modes against each other, other weights; as tables and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses.base import Settings, Subject, digits_of, label_of
from attunebench.analyses.catalogue import analyse
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Analysis, Cell, counts, legend, table, words
from attunebench.analyses.verdicts import judges_note, listed, number, shared_people_text
from attunebench.comparison.choosing import chosen_groups, refuse_too_little
from attunebench.comparison.pairing import reach_warnings
from attunebench.comparison.ranking import Ranking, ranking_sentence, tiers_of, weight_effects
from attunebench.comparison.tables import pairs_table, tiers_table, weights_table
from attunebench.metrics.rates import percent
from attunebench.metrics.registry import cards_of, metric
from attunebench.scores.compatibility import warnings_or_refusal
from attunebench.scores.references import standing
from attunebench.scores.table import ScoreTable
from attunebench.statistics.ranks import WeightSensitivity

DEFAULT_METRICS = ("composite", "pairwise_accuracy")
_SAID_AT_MOST = 4
"""More rankings than this, and other modes, are left to the table."""
_FIRM = 0.95
"""The order of two is firm if it holds under so large a share of other weights."""
Rankings = Mapping[tuple[str, str], Ranking]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared. `analyses` is all of it as tables and sentences, the answer first.

    The rest are the arrays behind them: `rankings` (with their `pairs`) by metric and mode, and `weights` (how the
    Composite's ranking moves with the weights of its pillars) by mode.
    """

    analyses: tuple[Analysis, ...]
    rankings: Rankings
    weights: Mapping[str, WeightSensitivity]
    warnings: tuple[str, ...]


def compare(
    study: ScoreTable, settings: Settings | None = None, *, models: Sequence[str] = (), force: bool = False
) -> Comparison:
    """Compare all models of a study, pair by pair, in `settings.metrics` (Composite and Pairwise where it is empty).

    Each mode is compared for itself, or `settings.mode` alone; where there are several, `analyze modes` compares each
    model with itself in the primary mode. `models` takes these alone. Pure: the same study and settings give the same.

    UsageError: unknown metric, mode or model, or a single model. DataError: no two have two conversations in common, or
    they differ in labels, definitions or judges, which `force` turns into warnings.
    """
    settings = settings or Settings()
    metric_ids = tuple(metric(metric_id).id for metric_id in settings.metrics or DEFAULT_METRICS)
    chosen = chosen_groups(study, settings, models)
    refuse_too_little(chosen)
    incompatible = warnings_or_refusal(chosen, metric_ids, force=force)
    parts = {mode: part for mode in chosen.modes if len((part := chosen.of_mode(mode)).groups) > 1}
    rankings = {(m, mode): tiers_of(part, m, settings) for m in metric_ids for mode, part in parts.items()}
    modes = analyse("modes", Subject(chosen, replace(settings, mode=None, metrics=metric_ids, baselines=True)))
    weighted = [mode for name, mode in rankings if name == "composite" and rankings[name, mode].conversations]
    weights = {mode: weight_effects(parts[mode], settings) for mode in weighted}
    warnings = (
        *incompatible,
        *_too_few(rankings, settings),
        *filter(None, [shared_people_text(chosen, settings)]),
    )
    first, *analyses = (
        *([_overview(rankings, chosen, settings)] if rankings else []),
        *(_between_models(parts[mode], ranking, settings) for (_, mode), ranking in rankings.items()),
        *([] if modes.missing and rankings else [replace(modes, name="compare-modes", warnings=())]),
        *([_under_weights(parts, weights, settings)] if weights else []),
    )
    first = replace(first, warnings=warnings, notes=(*first.notes, *judges_note(chosen, metric_ids)))
    notes = [tuple(dict.fromkeys((*one.notes, *legend(one.tables)))) for one in (first, *analyses)]
    marked = tuple(replace(one, notes=kept) for one, kept in zip((first, *analyses), notes, strict=True))
    return Comparison(marked, rankings, weights, warnings)


def _too_few(rankings: Rankings, settings: Settings) -> Iterable[str]:
    """Once for a mode whose pairs support no claim in any metric; else where no p can be small enough."""
    few: dict[str, int] = {}
    for (_, mode), ranking in rankings.items():
        few[mode] = max(few.get(mode, 0), int(ranking.pairs.n.max()))
    for mode, n in few.items():
        if n < settings.small:
            yield (
                f"Only {n} conversations in common ({mode}): too few for a claim, so no difference is called "
                f"significant and there are no tiers. At least {settings.small} are needed."
            )
    enough = [ranking.pairs for (_, mode), ranking in rankings.items() if few[mode] >= settings.small]
    yield from reach_warnings(enough, settings)


def _overview(rankings: Rankings, study: ScoreTable, settings: Settings) -> Analysis:
    rows, pairs = list(rankings.values()), [ranking.pairs for ranking in rankings.values()]
    apart, raw = (
        ["too few" if one.undecidable else f"{getattr(one, name)} of {one.of}" for one in pairs]
        for name in ("apart", "apart_raw")
    )
    shown = table(
        "overview",
        "Pairs that differ significantly",
        words("metric", [label_of(name) for name, _ in rankings], "Metric"),
        words("mode", [mode for _, mode in rankings], "Mode"),
        counts("n", [Cell(len(one.conversations), small=one.small) for one in rows], "n", "That all models have."),
        counts("participants", [one.participants for one in rows], "People", "Whose conversations these are."),
        counts("models", [len(one.groups) for one in rows], "Models"),
        words("told_apart", apart, "Differ", "Pairs that differ significantly after correction."),
        words("told_apart_raw", raw, "Uncorrected", "Pairs with p at most α, uncorrected."),
        counts("tiers", [None if one.small else len(one.tiers) for one in rows], "Tiers"),
        caption=f"A pair differs where its corrected p is at most {settings.alpha:g}, over at least {settings.small} "
        "conversations. The first tier is the best model and all that do not differ significantly from it.",
    )
    first = next(mode for _, mode in rankings)
    said = [ranking_sentence(ranking) for (_, mode), ranking in rankings.items() if mode == first]
    return Analysis(
        "compare",
        "Comparison",
        "Which models differ, and how sure is that?",
        " ".join(said[:_SAID_AT_MOST]),
        "That two models are equal: a pair without a significant difference may still differ by less than was "
        "detectable (the MDE). Nor how models would do with other people, topics or labels than these.",
        (shown,),
        notes=tuple(f"{one.label}: {one.meaning}" for one in map(standing, study.references)),
    )


def _between_models(study: ScoreTable, ranking: Ranking, settings: Settings) -> Analysis:
    mode, label, pairs = study.groups[0].mode, label_of(ranking.metric_id), ranking.pairs
    name = f"compare-{ranking.metric_id.replace('_', '-')}-{mode}"
    analysis = Analysis(name, f"{label}, mode {mode}", f"Which models differ in {label}?")
    if not pairs.tests:
        return replace(analysis, missing=f"no two models have {label} in two conversations in common.")
    shows, shown = [ranking_sentence(ranking)], [pairs_table(ranking, settings)]
    if not np.isnan(pairs.mde).all():
        alone, corrected = (number(pairs.median(one), digits_of(ranking.metric_id)) for one in ("mde", "mde_corrected"))
        shows.append(
            f"Median detectable difference with {100 * settings.power:.0f} % power: {alone} for one test, {corrected} "
            f"at α/{pairs.tests}."
        )
    if not ranking.conversations:
        shows.append("No conversation was scored for all of them, so they have no ranks.")
        return replace(analysis, shows=" ".join(shows), tables=tuple(shown))
    common, references = study.with_conversations(ranking.conversations), dict[str, Cell]()
    for reference in map(standing, common.references):
        values = reference.values.get(ranking.metric_id)
        if values is not None and not np.isnan(values).all():
            cells = Sampling.of(common, settings).cells(values[:, None], flag=False, of=ranking.metric_id)
            references[reference.label] = replace(cells[0], small=False)
    chance = cards_of(study.rules)[ranking.metric_id].chance
    shown.insert(0, tiers_table(ranking, references, settings, chance))
    return replace(analysis, shows=" ".join(shows), tables=tuple(shown))


def _under_weights(
    parts: Mapping[str, ScoreTable], weights: Mapping[str, WeightSensitivity], settings: Settings
) -> Analysis:
    shows = []
    for mode, found in weights.items():
        groups = parts[mode].groups
        holds = found.near.holds[np.triu_indices(len(groups), 1)]
        holds = holds[~np.isnan(holds)]
        leaders = [
            f"{group.label} is first in {percent(share)}"
            for group, share, rank in zip(groups, found.near.p_best, found.rank, strict=True)
            if rank == 1
        ]
        firm = f"{int((holds >= _FIRM).sum())} of {len(holds)} orders of two hold in {percent(_FIRM)} or more"
        shows.append(f"{mode}: under weights near the published ones {listed(leaders)} of the draws; {firm} of them.")
    return Analysis(
        "compare-weights",
        "Composite under other weights",
        "Does the ranking depend on the weights of the three pillars?",
        " ".join(shows),
        "Which weights are right; the published ones are a choice.",
        tuple(weights_table(parts[mode].groups, found, mode, settings) for mode, found in weights.items()),
    )
