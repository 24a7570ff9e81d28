"""A whole comparison: every metric in every mode, modes against each other, other weights; as tables and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attunebench.analyses.base import Settings, Subject, better, digits_of, label_of, metric_column, unit_of
from attunebench.analyses.catalogue import analyse
from attunebench.analyses.sampling import CORRECTIONS, Sampling
from attunebench.analyses.table import Analysis, Cell, Chart, Filled, Table, column, counts, legend, ranks, table, words
from attunebench.analyses.verdicts import counted, intervals_text, judges_note, listed, shared_people_text
from attunebench.comparison.choosing import chosen_groups, refuse_too_little
from attunebench.comparison.pairing import reach_warnings
from attunebench.comparison.ranking import Ranking, p_best_column, ranking_sentence, tiers_of, weight_effects
from attunebench.metrics.composite import PILLAR_WEIGHTS
from attunebench.metrics.rates import percent
from attunebench.metrics.registry import cards_of, metric
from attunebench.scores.compatibility import warnings_or_refusal
from attunebench.scores.references import standing
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.ranks import WeightSensitivity

DEFAULT_METRICS = ("composite", "pairwise_accuracy")
_SAID_AT_MOST = 4
"""More rankings than this, and other modes, are left to the table."""
_FIRM = 0.95
"""The order of two is firm if it holds under so large a share of other weights."""
_UNDEFINED = "–"
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
    ranked = [mode for (name, mode), ranking in rankings.items() if name == "composite" and ranking.conversations]
    weights = {mode: weight_effects(parts[mode], settings) for mode in ranked}
    analyses = [
        *([_overview(rankings, chosen, settings)] if rankings else []),
        *(_between_models(parts[mode], ranking, settings) for (_, mode), ranking in rankings.items()),
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
                f"Only {n} conversations in common ({mode}): too few for a claim, so no difference is called "
                f"significant and there are no tiers. At least {settings.small} are needed."
            )
        else:
            yield from reach_warnings(pairs, settings)


def _overview(rankings: Rankings, study: ScoreTable, settings: Settings) -> Analysis:
    def apart(one: Ranking) -> list[str]:
        pairs = one.pairs
        return ["too few" if pairs.undecidable else f"{k} of {pairs.of}" for k in (pairs.apart, pairs.apart_raw)]

    shown = table(
        "overview",
        "Pairs that differ significantly",
        words("metric", (), "Metric"),
        words("mode", (), "Mode"),
        counts("n", (), "n", "That all models have."),
        counts("participants", (), "People", "Whose conversations these are."),
        counts("models", (), "Models"),
        words("told_apart", (), "Differ", "Pairs that differ significantly after correction."),
        words("told_apart_raw", (), "Uncorrected", "Pairs with p at most α, uncorrected."),
        counts("tiers", (), "Tiers"),
        rows=[
            (
                *(label_of(metric_id), mode, Cell(len(one.conversations), small=one.small), one.participants),
                len(one.groups),
                *apart(one),
                None if one.small else len(one.tiers),
            )
            for (metric_id, mode), one in rankings.items()
        ],
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
    metric_id, mode, label, pairs = ranking.metric_id, study.groups[0].mode, label_of(ranking.metric_id), ranking.pairs
    name = f"compare-{metric_id.replace('_', '-')}-{mode}"
    analysis = Analysis(name, f"{label}, mode {mode}", f"Which models differ in {label}?")
    if not pairs.tests:
        return replace(analysis, missing=f"no two models have {label} in two conversations in common.")
    shows, tables = [ranking_sentence(ranking)], [_pairs_table(ranking, settings)]
    if ranking.conversations:
        tables.insert(0, _tiers_table(study.with_conversations(ranking.conversations), ranking, settings))
    else:
        shows.append("No conversation was scored for all of them, so they have no ranks.")
    return replace(analysis, shows=" ".join(shows), tables=tuple(tables))


def _tiers_table(study: ScoreTable, ranking: Ranking, settings: Settings) -> Table:
    """A row for each group, best first, in tiers; below them the references, which have no rank."""
    card, pairs, size, best = metric(ranking.metric_id), ranking.pairs, len(ranking.groups), ranking.order[0]
    references, cells = {one.label: one.values.get(card.id) for one in map(standing, study.references)}, list[Cell]()
    references = {name: v for name, v in references.items() if v is not None and not np.isnan(v).all()}
    if references:
        values = np.stack(list(references.values()), axis=1)  # type: ignore[arg-type]
        cells = Sampling.of(study, settings).cells(values, flag=False, of=card.id)
    nothing, chance = [Cell(None)] * len(cells), cards_of(study.rules)[card.id].chance
    scores = [
        replace(cell, n=None, drill=cell.drill and replace(cell.drill, conversations=ranking.conversations))
        for cell in ranking.score_cells()
    ]
    scores += [replace(cell, n=None, small=False) for cell in cells]
    tiers = [_UNDEFINED if ranking.small or np.isnan(tier) else str(int(tier)) for tier in ranking.tier]
    from_best = [replace(_effect(cell), small=False) for cell in pairs.cells((i, best) for i in range(size))]
    notes = ["No tiers: there are too few conversations or participants for a claim."] if ranking.small else []
    notes += ["ref.: made from the labels alone and not ranked, for orientation."] if references else []
    return table(
        "tiers",
        "Tiers",
        words("tier", [*tiers, *("ref." for _ in references)], "Tier", "Groups that do not differ from its best."),
        words("model", [*study.labels, *references], "Model"),
        metric_column(card.id, scores, id="score"),
        ranks("place", [*ranking.rank_cells(), *nothing], "Rank", "By the mean; in brackets over resamples."),
        p_best_column([*ranking.stability.p_best, *nothing]),
        _in_unit("from_best", [*from_best, *nothing], "From the best", "Difference from the first.", card.id),
        column("p_corrected", [*pairs.p_corrected[best], *nothing], "p corr.", "p", "Of that difference."),
        counts("n", [*ranking.n, *(cell.n for cell in cells)], "n", "Common conversations with a value."),
        order=(*ranking.order, *range(size, size + len(cells))),
        caption=f"Over the {ranking.sample} that all {size} have. {intervals_text(settings)}. A tier is its first "
        f"model and all that the corrected test ({CORRECTIONS[settings.correction]}, α {settings.alpha:g}, over "
        f"{counted(pairs.tests, 'pair')}) cannot distinguish from it. From the best: over the conversations of that "
        "pair.",
        notes=tuple(notes),
        chart=Chart(
            "intervals", "model", ("score",), card.label, card.label, {} if chance is None else {"chance": chance}
        ),
    )


def _pairs_table(ranking: Ranking, settings: Settings) -> Table:
    """A row for each pair, the better one first; significant ones come first, then by the size of the difference."""
    pairs, labels, order = ranking.pairs, [group.label for group in ranking.groups], ranking.order
    metric_id, sign, level = ranking.metric_id, 1.0 if better(ranking.metric_id) else -1.0, max(1, pairs.tests)
    places = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :]]
    places = [(b, a) if sign * pairs.difference[b, a] > 0 else (a, b) for a, b in places]
    sizes = np.nan_to_num(abs(pairs.difference), nan=-1.0)
    places.sort(key=lambda place: (not pairs.told_apart[place], -sizes[place]))
    at = tuple(np.array(places, dtype=np.intp).reshape(-1, 2).T)
    verdicts = [
        _UNDEFINED if np.isnan(p) else "too few" if small else "yes" if apart else "no"
        for p, small, apart in zip(pairs.p[at], pairs.small[at], pairs.told_apart[at], strict=True)
    ]
    differences, power = list(map(_effect, pairs.cells(places))), f"{100 * settings.power:g} % power"
    return table(
        "pairs",
        "The pair" if pairs.of == 1 else f"All {pairs.of} pairs",
        words("ahead", [labels[a] for a, _ in places], "Ahead"),
        words("behind", [labels[b] for _, b in places], "Behind"),
        _in_unit("difference", differences, "Difference", "Ahead − behind, over their conversations.", metric_id),
        column("p_corrected", pairs.p_corrected[at], "p corr.", "p", f"Corrected over {pairs.tests} tests."),
        words("told_apart", verdicts, "Significant"),
        _in_unit("mde_corrected", pairs.mde_corrected[at], f"MDE at α/{level}", "At the corrected level.", metric_id),
        counts("n", pairs.n[at], "n", "Conversations that both have."),
        column("p", pairs.p[at], "p", "p", "Of the sign-flip test of this pair alone."),
        _in_unit("mde", pairs.mde[at], "MDE", "Minimum detectable effect.", metric_id),
        column("p_above", ranking.stability.p_above[at], "P above", "share", "Over resamples.", digits=2),
        counts("participants", pairs.participants[at], "People", "Participants that these conversations are of."),
        caption=f"Ahead − behind over the n conversations that both have; {intervals_text(settings)}; p by sign flips "
        f"of {settings.units}, corrected ({CORRECTIONS[settings.correction]}) over {counted(pairs.tests, 'pair')} of "
        "this metric and mode. MDE, the minimum detectable effect, is the smallest true difference that the test finds "
        f"with {power}, alone at α {settings.alpha:g} or at α/{level}.",
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
        groups = parts[mode].groups
        holds = found.near.holds[np.triu_indices(len(groups), 1)]
        holds = holds[~np.isnan(holds)]
        leaders = [
            f"{groups[i].label} is first in {percent(found.near.p_best[i])}" for i in np.flatnonzero(found.rank == 1)
        ]
        firm = f"{int((holds >= _FIRM).sum())} of {len(holds)} orders of two hold in {percent(_FIRM)} or more"
        shows.append(f"{mode}: under weights near the published ones {listed(leaders)} of the draws; {firm} of them.")
    return Analysis(
        "compare-weights",
        "Composite under other weights",
        "Does the ranking depend on the weights of the three pillars?",
        " ".join(shows),
        "Which weights are right; the published ones are a choice.",
        tuple(_weights_table(parts[mode].groups, found, mode, settings) for mode, found in weights.items()),
    )


def _weights_table(groups: Sequence[Group], found: WeightSensitivity, mode: str, settings: Settings) -> Table:
    """A row for each model: how firmly it keeps its rank under other weights."""
    columns = []
    for key, label, draws in (("near", "near", found.near), ("uniform", "any", found.uniform)):
        ends = [
            _UNDEFINED if np.isnan(one) else "–".join(dict.fromkeys((f"{one:.0f}", f"{other:.0f}")))
            for one, other in zip(draws.best, draws.worst, strict=True)
        ]
        columns += [
            column(f"{key}_keeps", draws.keeps, f"Keeps it, {label}", "share", "Share of draws.", digits=2),
            words(f"{key}_places", ends, f"Ranks, {label}", "Best and worst rank in any draw."),
            column(f"{key}_p_best", draws.p_best, f"P(best), {label}", "share", "Share of draws.", digits=2),
        ]
    published = ", ".join(f"{weight:g}" for weight in PILLAR_WEIGHTS.values())
    spread = ", ".join(f"{value:.2f}" for value in found.spread)
    return table(
        f"weights-{mode}",
        f"Other weights, {mode}",
        words("model", [group.label for group in groups], "Model"),
        ranks("place", found.rank, "Rank", "Under the published weights."),
        *columns,
        order=np.argsort(np.nan_to_num(found.rank, nan=np.inf), kind="stable"),
        caption=f"{settings.resamples:,} draws of the pillar weights each: near the published ones ({published}, with "
        f"standard deviations of {spread}), and any at all, every weighting being as likely. The means of the pillars "
        "are taken as they are: the uncertainty is that of the weights, not of the conversations.",
    )
