"""Rankings, pairs and weights as tables with captions. Computes nothing but the order of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses.base import Settings, better, digits_of, metric_column, unit_of
from attunebench.analyses.sampling import CORRECTIONS
from attunebench.analyses.table import Cell, Chart, Drill, Filled, Table, column, counts, ranks, table, words
from attunebench.analyses.verdicts import counted, intervals_text
from attunebench.comparison.ranking import Ranking
from attunebench.metrics.composite import PILLAR_WEIGHTS
from attunebench.metrics.registry import metric
from attunebench.scores.table import Group
from attunebench.statistics.ranks import WeightSensitivity

_UNDEFINED = "–"


def tiers_table(ranking: Ranking, references: Mapping[str, Cell], settings: Settings, chance: float | None) -> Table:
    """A row for each group, best first, in tiers; below them the references, which have no rank."""
    card, pairs, groups, best = metric(ranking.metric_id), ranking.pairs, ranking.groups, ranking.order[0]
    nothing, size = [Cell(None)] * len(references), len(groups)
    tiers = [_UNDEFINED if ranking.small or np.isnan(tier) else str(int(tier)) for tier in ranking.tier]
    scores = [
        replace(cell, n=None, drill=Drill(group=group.key, metric=card.id, conversations=ranking.conversations))
        for cell, group in zip(ranking.score_cells(), groups, strict=True)
    ]
    from_best = [replace(_effect(cell), small=False) for cell in pairs.cells()[best::size]]
    p_best, p = [*ranking.stability.p_best, *nothing], [*pairs.p_corrected[:, best], *nothing]
    n = [*ranking.n, *(cell.n for cell in references.values())]
    notes = ["No tiers: there are too few conversations or participants for a claim."] if ranking.small else []
    notes += ["ref.: made from the labels alone and not ranked, for orientation."] if references else []
    lines = {} if chance is None else {"chance": chance}
    return table(
        "tiers",
        "Tiers",
        words("tier", [*tiers, *("ref." for _ in references)], "Tier", "Groups that do not differ from its best."),
        words("model", [*(group.label for group in groups), *references], "Model"),
        metric_column(card.id, [*scores, *(replace(cell, n=None) for cell in references.values())], id="score"),
        ranks("place", [*ranking.rank_cells(), *nothing], "Rank", "By the mean; in brackets over resamples."),
        column("p_best", p_best, "P(best)", "share", "Share of resamples in which it is first.", better=True, digits=2),
        _in_unit("from_best", [*from_best, *nothing], "From the best", "Difference from the first.", card.id),
        column("p_corrected", p, "p corr.", "p", "Of that difference."),
        counts("n", n, "n", "Conversations with a value, of those that all models have."),
        order=(*ranking.order, *range(size, size + len(references))),
        caption=f"Over the {ranking.sample} that all {size} have. {intervals_text(settings)}. A tier is its first "
        f"model and all that the corrected test ({CORRECTIONS[settings.correction]}, α {settings.alpha:g}, over "
        f"{counted(pairs.tests, 'pair')}) cannot distinguish from it. From the best: over the conversations of that "
        "pair.",
        notes=tuple(notes),
        chart=Chart("intervals", "model", ("score",), card.label, card.label, lines),
    )


def pairs_table(ranking: Ranking, settings: Settings) -> Table:
    """A row for each pair, the better one first; significant ones come first, then by the size of the difference."""
    pairs, labels, order = ranking.pairs, [group.label for group in ranking.groups], ranking.order
    metric_id, sign, level = ranking.metric_id, 1.0 if better(ranking.metric_id) else -1.0, max(1, pairs.tests)
    places = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :]]
    places = [(b, a) if sign * pairs.difference[b, a] > 0 else (a, b) for a, b in places]
    sizes = {place: np.nan_to_num(abs(pairs.difference[place]), nan=-1.0) for place in places}
    places.sort(key=lambda place: (not pairs.told_apart[place], -sizes[place]))
    at = tuple(np.array(places, dtype=np.intp).reshape(-1, 2).T)
    cells = pairs.cells()
    effects = [_effect(cells[a * len(labels) + b]) for a, b in places]
    verdicts = [
        _UNDEFINED if np.isnan(p) else "too few" if small else "yes" if apart else "no"
        for p, small, apart in zip(pairs.p[at], pairs.small[at], pairs.told_apart[at], strict=True)
    ]
    above = column("p_above", ranking.stability.p_above[at], "P above", "share", "Over resamples.", digits=2)
    return table(
        "pairs",
        "The pair" if pairs.of == 1 else f"All {pairs.of} pairs",
        words("ahead", [labels[a] for a, _ in places], "Ahead"),
        words("behind", [labels[b] for _, b in places], "Behind"),
        _in_unit("difference", effects, "Difference", "Ahead − behind, over their conversations.", metric_id),
        column("p_corrected", pairs.p_corrected[at], "p corr.", "p", f"Corrected over {pairs.tests} tests."),
        words("told_apart", verdicts, "Significant"),
        _in_unit("mde_corrected", pairs.mde_corrected[at], f"MDE at α/{level}", "At the corrected level.", metric_id),
        counts("n", pairs.n[at], "n", "Conversations that both have."),
        column("p", pairs.p[at], "p", "p", "Of the sign-flip test of this pair alone."),
        _in_unit("mde", pairs.mde[at], "MDE", "Minimum detectable effect.", metric_id),
        above,
        counts("participants", pairs.participants[at], "People", "Participants that these conversations are of."),
        caption=f"Ahead − behind over the n conversations that both have; {intervals_text(settings)}; p by sign flips "
        f"of {settings.units}, corrected ({CORRECTIONS[settings.correction]}) over {counted(pairs.tests, 'pair')} of "
        "this metric and mode. MDE, the minimum detectable effect, is the smallest true difference that the test finds "
        f"with {100 * settings.power:g} % power, alone at α {settings.alpha:g} or at α/{level}.",
    )


def weights_table(groups: Sequence[Group], found: WeightSensitivity, mode: str, settings: Settings) -> Table:
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


def _effect(cell: Cell) -> Cell:
    """A difference whose n and p have columns of their own."""
    return replace(cell, n=None, p=None, p_corrected=None)


def _in_unit(id: str, values: Sequence[Cell] | np.ndarray, label: str, meaning: str, metric_id: str) -> Filled:
    return column(id, values, label, unit_of(metric_id), meaning, digits=digits_of(metric_id))
