"""A whole comparison: every metric in every mode, modes against each other, other weights; as tables and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attunebench.analyses.base import Settings, Subject, better, digits_of, label_of, unit_of
from attunebench.analyses.catalogue import analyse
from attunebench.analyses.sampling import CORRECTIONS
from attunebench.analyses.table import Analysis, Cell, Filled, Table, column, counts, ranks, table, words
from attunebench.analyses.verdicts import counted, intervals_text, judges_note, legend, listed, shared_people_text
from attunebench.comparison.choosing import chosen_groups, refuse_too_little
from attunebench.comparison.leaderboard import leaderboard
from attunebench.comparison.pairing import reach_warnings
from attunebench.comparison.ranking import Ranking, tiers_of, weight_effects
from attunebench.metrics.composite import PILLAR_WEIGHTS
from attunebench.metrics.rates import percent
from attunebench.metrics.registry import metric
from attunebench.scores.compatibility import warnings_or_refusal
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.ranks import WeightSensitivity

DEFAULT_METRICS = ("composite", "pairwise_accuracy")
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
    refuse_too_little(chosen, study)
    incompatible = warnings_or_refusal(chosen, metric_ids, force=force)
    parts = {mode: part for mode in chosen.modes if len((part := chosen.of_mode(mode)).groups) > 1}
    rankings = {(m, mode): tiers_of(part, m, settings) for m in metric_ids for mode, part in parts.items()}
    modes = analyse("modes", Subject(chosen, replace(settings, mode=None, metrics=metric_ids, baselines=True)))
    ranked = [mode for (name, mode), ranking in rankings.items() if name == "composite" and ranking.conversations]
    weights = {mode: weight_effects(parts[mode], settings) for mode in ranked}
    analyses = [
        *(
            _between_models(part, mode, [rankings[m, mode] for m in metric_ids], settings)
            for mode, part in parts.items()
        ),
        *([] if modes.missing and rankings else [replace(modes, name="compare-modes", warnings=())]),
        *([_under_weights(parts, weights, settings)] if weights else []),
    ]
    people = shared_people_text(chosen, settings)
    warnings = tuple(dict.fromkeys(filter(None, (*incompatible, *_too_few(rankings, settings), people))))
    notes = (*analyses[0].notes, *judges_note(chosen, metric_ids))
    analyses[0] = replace(analyses[0], warnings=warnings, notes=notes)
    marked = [replace(one, notes=tuple(dict.fromkeys((*one.notes, *legend(one.tables))))) for one in analyses]
    return Comparison(tuple(marked), rankings, weights, warnings)


def _too_few(rankings: Rankings, settings: Settings) -> Iterable[str]:
    """Once for a mode whose pairs support no claim in any metric; else where no p can be small enough."""
    for mode in dict.fromkeys(mode for _, mode in rankings):
        pairs = [ranking.pairs for (_, other), ranking in rankings.items() if other == mode]
        if (n := max(int(one.n.max()) for one in pairs)) < settings.small:
            yield (
                f"Only {n} conversations in common ({mode}): too few for claims and tiers. At least {settings.small} "
                "are needed."
            )
        else:
            yield from reach_warnings(pairs, settings)


def _between_models(study: ScoreTable, mode: str, rankings: Sequence[Ranking], settings: Settings) -> Analysis:
    """The leaderboard of a mode, and all pairs in each metric."""
    about = Analysis(f"compare-{mode}", f"Comparison, mode {mode}", "Which models differ, and how sure is that?")
    shared = [ranking for ranking in rankings if (ranking.pairs.n > 1).any()]
    if not shared:
        labels = listed([label_of(ranking.metric_id) for ranking in rankings])
        return replace(about, missing=f"no two models have {labels} in two conversations in common.")
    board = leaderboard(study, shared, settings)
    return replace(
        about,
        shows=" ".join(ranking.sentence() for ranking in rankings),
        cannot="A pair without a significant difference is not equal: it may differ by less than was detectable (the "
        "MDE). Results may differ for other people, topics or labels.",
        tables=(*board.tables, *(_pairs_table(ranking, settings) for ranking in shared)),
        notes=(f"Intervals: {intervals_text(settings)}.", *board.notes),
    )


def _pairs_table(ranking: Ranking, settings: Settings) -> Table:
    """A row for each pair, the better one first; significant ones come first, then by the size of the difference."""
    pairs, labels, order = ranking.pairs, ranking.study.labels, ranking.order
    metric_id, sign, level = ranking.metric_id, 1.0 if better(ranking.metric_id) else -1.0, max(1, pairs.tests)
    places = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :]]
    places = [(b, a) if sign * pairs.difference[b, a] > 0 else (a, b) for a, b in places]
    sizes = np.nan_to_num(abs(pairs.difference), nan=-1.0)
    places.sort(key=lambda place: (not pairs.told_apart[place], -sizes[place]))
    at = tuple(np.array(places, dtype=np.intp).reshape(-1, 2).T)
    verdicts = [
        None if np.isnan(p) else "too few" if small else "yes" if apart else "no"
        for p, small, apart in zip(pairs.p[at], pairs.small[at], pairs.told_apart[at], strict=True)
    ]
    return table(
        f"pairs_{metric_id}",
        f"{label_of(metric_id)}, " + ("the pair" if pairs.of == 1 else f"all {pairs.of} pairs"),
        words("ahead", [labels[a] for a, _ in places]),
        words("behind", [labels[b] for _, b in places]),
        _in_unit(
            "difference",
            map(_effect, pairs.cells(places)),
            "",
            "Ahead − behind, over their shared conversations.",
            metric_id,
        ),
        column("p_corrected", pairs.p_corrected[at], "p corr.", "p", f"Corrected over {pairs.tests} tests."),
        words("told_apart", verdicts, "significant"),
        _in_unit(
            "mde_corrected", pairs.mde_corrected[at], f"MDE at α/{level}", "MDE at the corrected level.", metric_id
        ),
        counts("n", pairs.n[at], "", "Shared conversations."),
        column("p", pairs.p[at], "p", "p", "Uncorrected p of the sign-flip test."),
        _in_unit("mde", pairs.mde[at], "MDE", "Minimum detectable effect.", metric_id),
        column("p_above", ranking.stability.p_above[at], "P above", "share", "Over resamples.", digits=2),
        counts("participants", pairs.participants[at], "people", "Participants in these conversations."),
        caption=f"Ahead − behind over the n shared conversations; p by sign flips "
        f"of {settings.units}, corrected ({CORRECTIONS[settings.correction]}) over {counted(pairs.tests, 'pair')} of "
        "this metric and mode. MDE, the minimum detectable effect, is the smallest true difference that the test finds "
        f"with {100 * settings.power:g} % power, alone at α {settings.alpha:g} or at α/{level}.",
    )


def _effect(cell: Cell) -> Cell:
    """A difference whose n and p have columns of their own."""
    return replace(cell, n=None, p=None, p_corrected=None)


def _in_unit(id: str, values: Iterable[Any], label: str, meaning: str, metric_id: str) -> Filled:
    return column(id, values, label, unit_of(metric_id), meaning, digits=digits_of(metric_id))


# Other weights


def _under_weights(
    parts: Mapping[str, ScoreTable], weights: Mapping[str, WeightSensitivity], settings: Settings
) -> Analysis:
    shows = []
    for mode, found in weights.items():
        labels = parts[mode].labels
        holds = found.near.holds[np.triu_indices(len(labels), 1)]
        holds = holds[~np.isnan(holds)]
        leaders = [f"{labels[i]} is first in {percent(found.near.p_best[i])}" for i in np.flatnonzero(found.rank == 1)]
        firm = f"{int((holds >= _FIRM).sum())} of {len(holds)} orders of two hold in {percent(_FIRM)} or more"
        shows.append(f"{mode}: under weights near the published ones {listed(leaders)} of the draws; {firm} of them.")
    return Analysis(
        "compare-weights",
        "Composite under other weights",
        "Does the ranking depend on the weights of the pillars?",
        " ".join(shows),
        "Which weights are right: the published weights are a choice.",
        tuple(_weights_table(parts[mode].groups, found, mode, settings) for mode, found in weights.items()),
    )


def _weights_table(groups: Sequence[Group], found: WeightSensitivity, mode: str, settings: Settings) -> Table:
    """A row for each model: how firmly it keeps its rank under other weights."""
    columns = []
    for key, label, draws in (("near", "near", found.near), ("uniform", "any", found.uniform)):
        ends = [
            None if np.isnan(one) else "–".join(dict.fromkeys((f"{one:.0f}", f"{other:.0f}")))
            for one, other in zip(draws.best, draws.worst, strict=True)
        ]
        columns += [
            column(f"{key}_keeps", draws.keeps, f"keeps it, {label}", "share", "Share of draws.", digits=2),
            words(f"{key}_places", ends, f"ranks, {label}", "Best and worst rank in all draws."),
            column(f"{key}_p_best", draws.p_best, f"P(best), {label}", "share", "Share of draws.", digits=2),
        ]
    published = ", ".join(f"{weight:g}" for weight in PILLAR_WEIGHTS.values())
    spread = ", ".join(f"{value:.2f}" for value in found.spread)
    return table(
        f"weights-{mode}",
        f"Other weights, {mode}",
        words("model", [group.label for group in groups]),
        ranks("place", found.rank, "rank", "Rank under the published weights."),
        *columns,
        order=np.argsort(np.nan_to_num(found.rank, nan=np.inf), kind="stable"),
        caption=f"{settings.resamples:,} draws of the pillar weights each: near the published ones ({published}, with "
        f"standard deviations of {spread}), and uniform over all weightings. Only the weights vary: the pillar means "
        "are fixed, so this does not cover the choice of conversations.",
    )
