"""Rankings, pairs, modes and weights as tables with captions. Computes nothing but the order of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attunebench.analyses.common import CORRECTIONS, counted, digits_of, intervals_text, mark_of, unit_of
from attunebench.analyses.model import Cell, Chart, Column, Drill, Settings, Table, known, text
from attunebench.comparison.modes import ModeEffects
from attunebench.comparison.ranking import Ranking
from attunebench.metrics.composite import PILLAR_WEIGHTS
from attunebench.metrics.registry import metric
from attunebench.scores.table import Group, ReferenceValues
from attunebench.statistics.bootstrap import Estimates
from attunebench.statistics.ranks import WeightDraws, WeightSensitivity

_NOTHING = "–"
_MARGIN = "the smallest true difference that the test finds with the asked power"


def tiers_table(
    ranking: Ranking, references: Sequence[tuple[ReferenceValues, Estimates]], settings: Settings, chance: float | None
) -> Table:
    """A row for each group, best first, in tiers; below them the references, which have no place."""
    card, pairs = metric(ranking.metric_id), ranking.pairs
    unit, digits = unit_of(card.id), digits_of(card.id)
    columns = (
        Column("tier", "Tier", "text", "Models that are not told apart from the best of their tier share it."),
        Column("model", "Model", "text"),
        Column("score", card.label, unit, card.meaning, card.higher_is_better, digits),
        Column("place", "Place", "rank", "Place by the mean, and where resampled conversations put the model.", False),
        Column("p_best", "P(best)", "share", "Share of resamples in which the model is first.", True, 2),
        Column("from_best", "From the best", unit, "Difference from the first model.", None, digits),
        Column("p_corrected", "p corr.", "p", "Of that difference."),
        Column("n", "n", "count", "Conversations with a value, of those that all models have."),
    )
    order = ranking.order
    best = order[0]
    rows = [_ranked_row(ranking, i, best) for i in order]
    rows += [_reference_row(*reference) for reference in references]
    caption = (
        f"Over the {counted(len(ranking.conversations), 'conversation')} of "
        f"{counted(ranking.participants, 'participant')} that all {len(ranking.groups)} have. "
        f"{intervals_text(settings)}. A tier is its first model and all that the corrected test "
        f"({CORRECTIONS[settings.correction]}, α {settings.alpha:g}, over {counted(pairs.tests, 'pair')}) does not "
        "tell apart from it. Place: its bounds are where the model stands in the resamples. "
        f"From the best: over the conversations of that pair."
    )
    notes = []
    if ranking.small:
        notes.append("No tiers: there are too few conversations or participants for a claim.")
    if references:
        notes.append("ref.: made from the labels alone and not ranked, to hold the models against.")
    chart = Chart("intervals", "model", ("score",), title=card.label, axis=card.label, lines=_chance(chance))
    return Table("tiers", "Tiers", columns, tuple(rows), caption, tuple(notes), chart)


def pairs_table(ranking: Ranking, settings: Settings) -> Table:
    """A row for each pair, the better one first; pairs told apart come first, then by the size of the difference."""
    pairs, card = ranking.pairs, metric(ranking.metric_id)
    unit, digits = unit_of(card.id), digits_of(card.id)
    m = max(1, pairs.tests)
    columns = (
        Column("ahead", "Ahead", "text"),
        Column("behind", "Behind", "text"),
        Column(
            "difference", "Difference", unit, "Ahead − behind, over the conversations that both have.", None, digits
        ),
        Column("p_corrected", "p corr.", "p", f"Corrected over {counted(pairs.tests, 'pair')}."),
        Column("told_apart", "Told apart", "text"),
        Column("mde_corrected", f"MDE at α/{m}", unit, f"MDE, {_MARGIN}, at the corrected level.", None, digits),
        Column("n", "n", "count", "Conversations that both have."),
        Column("p", "p", "p", "Of the sign-flip test of this pair alone."),
        Column("mde", "MDE", unit, f"Minimum detectable effect: {_MARGIN}.", None, digits),
        Column(
            "p_above", "P above", "share", "Share of resamples in which the first stands above the second.", None, 2
        ),
        Column("participants", "People", "count", "Participants that these conversations are of."),
    )
    rows = tuple(_pair_row(ranking, a, b) for a, b in _sorted(ranking))
    caption = (
        "Ahead − behind over the n conversations that both have; "
        f"{_test_text(settings, counted(pairs.tests, 'pair') + ' of this metric and mode')} {_mde_text(settings, m)}"
    )
    title = "The pair" if pairs.of == 1 else f"All {pairs.of} pairs"
    return Table("pairs", title, columns, rows, caption)


def modes_table(effects: ModeEffects, settings: Settings) -> Table:
    """A row for each model: what the mode changes, and the places in both."""
    card = metric(effects.metric_id)
    unit, digits = unit_of(card.id), digits_of(card.id)
    m = max(1, effects.tests)
    columns = (
        Column("model", "Model", "text"),
        Column("difference", "Difference", unit, f"{effects.mode} − {effects.base}.", None, digits),
        Column("p_corrected", "p corr.", "p", f"Corrected over {counted(effects.tests, 'model')}."),
        Column("told_apart", "Told apart", "text"),
        Column("mde_corrected", f"MDE at α/{m}", unit, f"MDE, {_MARGIN}, at the corrected level.", None, digits),
        Column("n", "n", "count", "Conversations that the model has in both modes."),
        Column("place_base", f"Place, {effects.base}", "rank"),
        Column("place_mode", f"Place, {effects.mode}", "rank"),
        Column("shift", "Places gained", "number", "Positive is up.", None, 0),
        Column("p", "p", "p", "Of the sign-flip test of this model alone."),
        Column("mde", "MDE", unit, f"Minimum detectable effect: {_MARGIN}.", None, digits),
        Column("participants", "People", "count", "Participants that these conversations are of."),
    )
    caption = (
        f"{effects.mode} − {effects.base} over the n conversations that a model has in both; "
        f"{_test_text(settings, counted(effects.tests, 'model'))} Places are over the "
        f"{counted(effects.ranked_on, 'conversation')} that all {len(effects.groups)} have in both modes. "
        f"{_mde_text(settings, m)}"
    )
    order = np.argsort(np.where(np.isnan(effects.difference), np.inf, -np.abs(effects.difference)), kind="stable")
    rows = tuple(_mode_row(effects, int(i)) for i in order)
    title = f"{card.label}: {effects.mode} − {effects.base}"
    chart = Chart("intervals", "model", ("difference",), title=title, axis=card.label, lines={"no change": 0.0})
    return Table(f"{card.id}-{effects.mode}", title, columns, rows, caption, (), chart)


def weights_table(groups: Sequence[Group], found: WeightSensitivity, mode: str, settings: Settings) -> Table:
    """A row for each model: how firmly it keeps its place under other weights."""
    columns = [
        Column("model", "Model", "text"),
        Column("place", "Place", "rank", "Under the published weights.", False),
    ]
    for key, label in (("near", "near"), ("uniform", "any")):
        columns += [
            Column(f"{key}_keeps", f"Keeps it, {label}", "share", "Share of draws in which the place holds.", None, 2),
            Column(f"{key}_places", f"Places, {label}", "text", "Best and worst place in any draw."),
            Column(
                f"{key}_p_best", f"P(best), {label}", "share", "Share of draws in which the model is first.", None, 2
            ),
        ]
    order = np.argsort(np.where(np.isnan(found.rank), np.inf, found.rank), kind="stable")
    rows = []
    for i in map(int, order):
        cells = [text(groups[i].label), Cell(known(found.rank[i]))]
        for draws in (found.near, found.uniform):
            places = _places(draws, i)
            cells += [Cell(known(draws.keeps[i])), text(places), Cell(known(draws.p_best[i]))]
        rows.append(tuple(cells))
    published = ", ".join(f"{weight:g}" for weight in PILLAR_WEIGHTS.values())
    spread = ", ".join(f"{value:.2f}" for value in found.spread)
    caption = (
        f"{settings.resamples:,} draws of the pillar weights each: near the published ones ({published}, with standard "
        f"deviations of {spread}), and any at all, every weighting being as likely. The means of the pillars are taken "
        "as they are: this is doubt about the weights, not about the conversations."
    )
    return Table(f"weights-{mode}", f"Other weights, {mode}", tuple(columns), tuple(rows), caption)


def _ranked_row(ranking: Ranking, i: int, best: int) -> tuple[Cell, ...]:
    group, stability, pairs = ranking.groups[i], ranking.stability, ranking.pairs
    nameless = ranking.small or np.isnan(ranking.tier[i])
    mean, low, high = (known(part[i]) for part in (ranking.mean, ranking.low, ranking.high))
    drill = Drill(group=group.key, metric=ranking.metric_id, conversations=ranking.conversations)
    behind, furthest, nearest = (known(part[i, best]) for part in (pairs.difference, pairs.low, pairs.high))
    return (
        text(_NOTHING if nameless else str(int(ranking.tier[i]))),
        text(group.label),
        Cell(
            mean,
            low,
            high,
            small=ranking.small and ranking.n[i] > 0,
            mark=mark_of(ranking.mean[i], ranking.low[i], int(ranking.n[i])),
            drill=drill,
        ),
        Cell(known(stability.rank[i]), known(stability.low[i]), known(stability.high[i])),
        Cell(known(stability.p_best[i])),
        Cell(
            behind,
            furthest,
            nearest,
            mark=mark_of(pairs.difference[i, best], pairs.low[i, best], int(pairs.n[i, best])),
        ),
        Cell(known(pairs.p_corrected[i, best])),
        Cell(int(ranking.n[i])),
    )


def _reference_row(reference: ReferenceValues, estimates: Estimates) -> tuple[Cell, ...]:
    mean, low, high, n = estimates.value[0], estimates.low[0], estimates.high[0], int(estimates.n[0])
    nothing = Cell(None)
    score = Cell(known(mean), known(low), known(high), mark=mark_of(mean, low, n))
    return (text("ref."), text(reference.label), score, nothing, nothing, nothing, nothing, Cell(n))


def _sorted(ranking: Ranking) -> list[tuple[int, int]]:
    pairs, order = ranking.pairs, ranking.order
    found = []
    for place, a in enumerate(order):
        for b in order[place + 1 :]:
            ahead = (b, a) if pairs.ahead(b, a) else (a, b)
            size = abs(float(pairs.difference[a, b]))
            found.append((not pairs.told_apart[a, b], np.isnan(size), -size, ahead))
    return [ahead for *_, ahead in sorted(found, key=lambda item: item[:3])]


def _pair_row(ranking: Ranking, a: int, b: int) -> tuple[Cell, ...]:
    pairs = ranking.pairs
    p, small, n = float(pairs.p[a, b]), bool(pairs.small[a, b]), int(pairs.n[a, b])
    difference, low, high = (known(part[a, b]) for part in (pairs.difference, pairs.low, pairs.high))
    return (
        text(pairs.groups[a].label),
        text(pairs.groups[b].label),
        Cell(difference, low, high, small=small and n > 0, mark=mark_of(pairs.difference[a, b], pairs.low[a, b], n)),
        Cell(known(pairs.p_corrected[a, b])),
        text(_told(bool(pairs.told_apart[a, b]), small, p)),
        Cell(known(pairs.mde_corrected[a, b])),
        Cell(n),
        Cell(known(p)),
        Cell(known(pairs.mde[a, b])),
        Cell(known(ranking.stability.p_above[a, b])),
        Cell(int(pairs.participants[a, b])),
    )


def _mode_row(effects: ModeEffects, i: int) -> tuple[Cell, ...]:
    group, p, small, n = effects.groups[i], float(effects.p[i]), bool(effects.small[i]), int(effects.n[i])
    difference, low, high = (known(part[i]) for part in (effects.difference, effects.low, effects.high))
    return (
        text(group.label),
        Cell(
            difference,
            low,
            high,
            small=small and n > 0,
            mark=mark_of(effects.difference[i], effects.low[i], n),
            drill=Drill(group=group.key, metric=effects.metric_id),
        ),
        Cell(known(effects.p_corrected[i])),
        text(_told(bool(effects.told_apart[i]), small, p)),
        Cell(known(effects.mde_corrected[i])),
        Cell(n),
        Cell(known(effects.rank_base[i])),
        Cell(known(effects.rank_mode[i])),
        Cell(known(effects.shift[i])),
        Cell(known(p)),
        Cell(known(effects.mde[i])),
        Cell(int(effects.participants[i])),
    )


def _told(apart: bool, small: bool, p: float) -> str:
    """Whether a difference is told from none, in a word."""
    if np.isnan(p):
        return _NOTHING
    return "too few" if small else "yes" if apart else "no"


def _test_text(settings: Settings, over: str) -> str:
    return (
        f"{intervals_text(settings)}; p by sign flips of {settings.units}, corrected "
        f"({CORRECTIONS[settings.correction]}) over {over}."
    )


def _mde_text(settings: Settings, m: int) -> str:
    return (
        f"MDE, the minimum detectable effect, is {_MARGIN} ({100 * settings.power:g} %), alone at α {settings.alpha:g} "
        f"or at α/{m}."
    )


def _places(draws: WeightDraws, i: int) -> str:
    if np.isnan(draws.best[i]):
        return _NOTHING
    best, worst = int(draws.best[i]), int(draws.worst[i])
    return str(best) if best == worst else f"{best}–{worst}"


def _chance(chance: float | None) -> dict[str, float]:
    return {} if chance is None else {"chance": chance}
