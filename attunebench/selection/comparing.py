"""A subset beside the conversations that do not match: model by model, and from model to model, in tables and words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses.base import Settings, better, digits_of, label_of, unit_of
from attunebench.analyses.sampling import CORRECTIONS, claimed, plain_correction
from attunebench.analyses.table import Analysis, Filled, Table, column, counts, legend, table, words
from attunebench.analyses.verdicts import (
    claims_sentence,
    counted,
    intervals_text,
    listed,
    reach_text,
    sample_text,
    small_text,
    with_interval,
)
from attunebench.selection.contrasts import Family, Row, Sides, contrast, pairs, tests_in

_NAMED = 4
"""So many metrics get a sentence; the tables have all."""


def beside(sides: Sides, families: Sequence[Family], settings: Settings) -> Analysis:
    """All tables of a mode: a row for each metric and model; then, where there are two models, one for each pair."""
    begun = Analysis(
        f"subset-{sides.mode}",
        f"The subset beside the rest, mode {sides.mode}",
        "Do models score differently on the subset than on the rest, and does any of them lose more than another?",
    )
    if not sides.inside.any() or sides.inside.all():
        where = "the rest" if sides.inside.any() else "the subset"
        return replace(begun, missing=f"no conversation of {where} was scored in mode {sides.mode}.")
    contrasts = [(family, rows) for family in families if (rows := contrast(sides, family, settings))]
    if not contrasts:
        return replace(begun, missing="none of the metrics asked for is defined for any conversation here.")
    # Models are compared in the metrics that were asked for, else in those of the first table.
    metrics = [metric_id for family in (families if settings.metrics else families[:1]) for metric_id in family.metrics]
    between = [rows for metric_id in metrics if (rows := pairs(sides, metric_id, settings))]
    tables = (
        *(_contrast_table(sides, family, rows, settings) for family, rows in contrasts),
        *(_pairs_table(sides, rows, settings) for rows in between),
    )
    by_people = replace(settings, by_participant=True)
    of_tables = [*(rows for _, rows in contrasts), *between]
    reach = [reach_text(np.array([row.least for row in rows]), by_people, together=False) for rows in of_tables]
    return replace(
        begun,
        tables=tables,
        shows=" ".join(_sentences(sides, [rows for _, rows in contrasts], between, settings)),
        cannot="That there is no difference: one that was not found may still be as large as the MDE.",
        warnings=tuple(dict.fromkeys(sentence for found in reach for sentence in found)),
        notes=(*_notes(sides, settings), *legend(tables)),
    )


def _contrast_table(sides: Sides, family: Family, rows: Sequence[Row], settings: Settings) -> Table:
    beyond = []
    if cells := [row.beyond for row in rows if row.beyond]:
        meaning, unit = "Difference minus that of the base rate.", unit_of(rows[0].metric_id)
        beyond = [column("beyond", cells, "beyond base rate", unit, meaning)]
    inflated = list(dict.fromkeys(label_of(row.metric_id) for row in rows if row.inflated))
    note = (
        "At least nine in ten conversations of a side share one value (mostly 0), so that intervals are narrower than "
        f"they should be: {listed(inflated, most=8)}."
    )
    metrics = [label_of(row.metric_id) for row in rows]
    return table(
        f"beside-{family.id}",
        f"{family.title}, subset and rest",
        *([words("metric", metrics)] if len(set(metrics)) > 1 else []),
        words("model", [row.names[0] for row in rows]),
        *_columns(rows, settings, "Mean", "difference"),
        *beyond,
        caption=_caption(sides, rows, settings),
        notes=(note,) if inflated else (),
    )


def _pairs_table(sides: Sides, rows: Sequence[Row], settings: Settings) -> Table:
    meaning = "The model whose standing against the other is the better one there."
    return table(
        f"between-{rows[0].metric_id}",
        f"{label_of(rows[0].metric_id)} from model to model, subset and rest",
        words("gains", [row.names[0] for row in rows], meaning=meaning),
        words("on", [row.names[1] for row in rows]),
        *_columns(rows, settings, "First minus second", "difference in differences"),
        caption=_caption(sides, rows, settings),
    )


def _columns(rows: Sequence[Row], settings: Settings, what: str, difference: str) -> Iterator[Filled]:
    """Both sides and their difference, without columns that would be the same in every row.

    `what` says what the values are, `difference` what their difference is.
    """
    unit, tests = unit_of(rows[0].metric_id), tests_in(rows)
    yield column("subset", [row.inside for row in rows], "", unit, f"{what} over the conversations that match.")
    yield column("rest", [row.outside for row in rows], "", unit, f"{what} over those that do not match.")
    yield column("difference", [row.difference for row in rows], difference, unit, "Subset minus rest.")
    effect = f"the smallest true difference that would be found with {100 * settings.power:.0f} % power"
    if tests:
        found = [row.detectable(settings, 1) for row in rows]
        yield column("mde", found, "MDE", unit, f"Minimum detectable effect: {effect} by a test alone.")
    if tests > 1:
        found = [row.detectable(settings, tests) for row in rows]
        yield column("mde_corrected", found, f"MDE α/{tests}", unit, f"MDE: {effect} after correction.")
    inside, outside = zip(*(row.people for row in rows), strict=True)
    if len(set(inside)) > 1 or len(set(outside)) > 1:
        yield counts("participants", inside, "people", "Participants of the subset behind the row.")
        yield counts("participants_rest", outside, "people, rest", "Participants of the rest behind the row.")


def _sentences(
    sides: Sides, contrasts: Sequence[Sequence[Row]], between: Sequence[Sequence[Row]], settings: Settings
) -> Iterator[str]:
    """The answer of a mode, from the rows of its tables: the first table (those asked for) at length."""
    if not any(map(tests_in, contrasts)):
        yield (
            f"Too few for a claim: {counted(int(sides.inside.sum()), 'conversation')} in the subset and "
            f"{int((~sides.inside).sum())} in the rest, where each side needs {settings.small} of at least two "
            "participants."
        )
        return
    rows = [row for rows in contrasts for row in rows]
    shown = [row.metric_id for rows in (contrasts if settings.metrics else contrasts[:1]) for row in rows]
    shown = list(dict.fromkeys(shown))[:_NAMED]
    for metric_id in shown:
        mine = [row for row in rows if row.metric_id == metric_id]
        named = [(str(row.names[0].value), row.difference) for row in mine if not row.reference]
        of, digits = "between subset and rest", digits_of(metric_id)
        yield f"{label_of(metric_id)}: {claims_sentence(named, settings, of=of, digits=digits)}"
        yield from (sentence for row in mine if row.reference and (sentence := _of_base_rate(row, settings)))
    claims = [row.metric_id for row in rows if claimed(row.difference, settings) and row.metric_id not in shown]
    if claims:
        yield f"Differences are also significant in {listed(list(map(label_of, dict.fromkeys(claims))))}."
    for of_pairs in filter(tests_in, between[:_NAMED]):
        named = [(" on ".join(str(name.value) for name in row.names), row.difference) for row in of_pairs]
        metric_id, of = of_pairs[0].metric_id, "of one model on another in the subset"
        sentence = claims_sentence(named, settings, noun="gain", of=of, digits=digits_of(metric_id))
        yield f"{label_of(metric_id)}: {sentence}"


def _of_base_rate(row: Row, settings: Settings) -> str:
    """Whether the subset is easier or harder to be right about, whoever answers."""
    cell = row.difference
    # Nothing is tested here, and an interval over few people is too narrow to say so much.
    if cell.small or cell.low is None or cell.high is None or min(row.people) < settings.small:
        return ""
    effect = with_interval(cell, digits_of(row.metric_id), sign=True)
    if cell.low <= 0 <= cell.high:
        return f"The interval of the base rate's difference includes 0 ({effect})."
    word = "easier" if (cell.low > 0) == better(row.metric_id) else "harder"
    return f"The base rate itself differs ({effect}): the subset is {word}, whoever answers."


def _caption(sides: Sides, rows: Sequence[Row], settings: Settings) -> str:
    """What n is, how intervals were made and what was corrected."""
    inside, outside = (sample_text(sides.side(mask)) for mask in (sides.inside, ~sides.inside))
    correction, tests = CORRECTIONS[plain_correction(settings)], tests_in(rows)
    over = f"permutation p, corrected ({correction}) over the {counted(tests, 'test')} of this table"
    few = any(min(row.people) < settings.small for row in rows)
    return (
        f"Subset: {inside}; rest: {outside}. Means: {intervals_text(settings)}. Difference: subset minus rest, "
        f"participants resampled as a whole; {over if tests else 'nothing is tested on so few'}."
        + (f" On under {settings.small} participants a side its intervals are too narrow; go by p." * few)
    )


def _notes(sides: Sides, settings: Settings) -> tuple[str, ...]:
    notes = [small_text(settings)]
    if settings.correction == "maxt":
        notes.append("Max-T does not exist for differences between groups of conversations; Holm's correction is used.")
    if sides.base_rate is not None:
        notes.append(
            "The base rate is made from the labels alone and not tested: where it differs itself, the subset is easier "
            "or harder to be right about, whoever answers; “beyond base rate” is what a model's difference is without "
            "that."
        )
    if len(sides.study.groups) < 2:
        notes.append("One model alone: there is no difference in differences.")
    return tuple(notes)
