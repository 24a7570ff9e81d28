"""Scores over the conversations that match, model by model; with `compare` beside those that do not match.

Takes a study and what was chosen of it, hands on tables and sentences. Chooses nothing, reads and draws nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses.base import Settings, better, by_value, digits_of, label_of, metric_column, unit_of, value_of
from attunebench.analyses.sampling import CORRECTIONS, Sampling, claimed, plain_correction
from attunebench.analyses.table import Analysis, Filled, Table, column, counts, table, words
from attunebench.analyses.verdicts import (
    claims_sentence,
    comparability,
    counted,
    intervals_text,
    legend,
    listed,
    reach_text,
    sample_text,
    shared_people_text,
    small_text,
    with_interval,
)
from attunebench.metrics.registry import REGISTRY, metric
from attunebench.scores.table import ScoreTable
from attunebench.selection.conditions import Selection, fields_in
from attunebench.selection.contrasts import Family, Row, Sides, contrast, pairs, tests_in
from attunebench.text import printable

FAMILIES = (
    Family("composite", "Composite", ("composite",)),
    Family("pillars", "Pillars", tuple(c.id for c in REGISTRY.values() if c.group == "pillar" and c.id != "composite")),
    *(
        Family(name, title, tuple(c.id for c in REGISTRY.values() if c.group == group and c.status == "canonical"))
        for name, title, group in (("turn", "Turn by turn", "turn"), ("talk", "Whole conversation", "conversation"))
    ),
)
"""The tables without `--metric`."""
_SAID = 4
"""So many metrics get a sentence; the tables have all."""
_SELF_REPORTED = (
    "Diagnoses and other facts about people are self-reported. Scales are screeners: a value beyond a cut-off is "
    "“screen-positive” and never a diagnosis."
)


def subset_report(
    study: ScoreTable, selection: Selection, settings: Settings | None = None, *, compare: bool = False
) -> tuple[Analysis, ...]:
    """What was chosen and, for each mode, the metrics of each model over it: mean, interval, n.

    `selection` is of conversations of the study. With `compare` each metric stands beside that of the conversations
    that do not match, with the difference and, between models, the difference in differences. Conversations of which
    it is not known whether they match are on neither side. `settings.metrics` takes the place of the canonical ones,
    `settings.mode` that of all modes. The same study, selection and settings give the same.

    UsageError for an unknown metric or mode.
    """
    settings = settings or Settings()
    study = study if settings.mode is None else study.of_mode(settings.mode)
    families = _families(settings)
    others = selection.others if compare else ()
    made = [_head(study, selection, families, settings, compare=compare)]
    for mode in study.modes:
        sides = Sides.of(study, mode, selection.chosen, others)
        made.append(_beside(sides, families, settings) if others else _alone(sides, families, settings))
    return tuple(made)


def _families(settings: Settings) -> tuple[Family, ...]:
    if not settings.metrics:
        return FAMILIES
    wanted = tuple(dict.fromkeys(metric(metric_id).id for metric_id in settings.metrics))
    # Points and shares cannot stand in one column.
    points = tuple(name for name in wanted if unit_of(name) == "points")
    parts = (("points", points), ("metrics", tuple(name for name in wanted if name not in points)))
    return tuple(Family(name, listed([label_of(one) for one in ids]), ids) for name, ids in parts if ids)


def _head(
    study: ScoreTable, selection: Selection, families: Sequence[Family], settings: Settings, *, compare: bool
) -> Analysis:
    """What was chosen, who is in, and what stands against reading the numbers."""
    compared = compare and bool(selection.others)
    shown = study.with_conversations((*selection.chosen, *selection.others) if compared else selection.chosen)
    shared = shared_people_text(shown, settings)
    if shared and compared:
        shared = (
            "Participants with several conversations: intervals of means treat these as independent; differences and "
            "their p values resample participants as a whole. With `--cluster participant`, means do so too."
        )
    expression, fields = selection.condition.text(), dict.fromkeys(fields_in(selection.condition))
    metrics = [metric_id for family in families for metric_id in family.metrics]
    return Analysis(
        "subset",
        f"Subset: {printable(expression, 200) or 'all conversations'}",
        f"How do models score on these conversations{', and do they score differently on the rest' * compared}?",
        _counts_text(study, selection, nothing_beside=compare and not compared),
        "A difference does not show a cause: conversations in a subset differ from others in more than the criterion. "
        f"{_SELF_REPORTED}",
        (_sides_table(selection),),
        warnings=(*comparability(shown, metrics), *((shared,) if shared else ())),
        notes=(
            *((f"To select the same: --where {shlex.quote(expression)}",) if expression else ()),
            *(f"{field.name}: {field.meaning}" for field in fields),
        ),
    )


def _sides_table(selection: Selection) -> Table:
    """Who is on which side; its caption says which values are missing, and who is on both sides."""
    labels = {"chosen": "in the subset", "others": "rest", "unknown": "not known"}
    sides = [side for side in labels if side != "unknown" or selection.unknown]
    parts = [f"{name} in {count}" for name, count in selection.lacking.items()]
    said = [f"On neither side, because a value is missing: {listed(parts, most=8)}."] if parts else []
    if both := selection.participants["both"]:
        said.append(f"{counted(both, 'participant')} {'has' if both == 1 else 'have'} conversations on both sides.")
    return table(
        "sides",
        "Conversations and participants",
        words("side", [labels[side] for side in sides]),
        counts("n", [len(getattr(selection, side)) for side in sides], "conversations"),
        counts("participants", [selection.participants[side] for side in sides]),
        caption=" ".join(said),
    )


def _counts_text(study: ScoreTable, selection: Selection, *, nothing_beside: bool) -> str:
    chosen = len(selection.chosen)
    said = (
        f"{chosen} of {counted(len(study.ids), 'scored conversation')} {'matches' if chosen == 1 else 'match'}, of "
        f"{counted(selection.participants['chosen'], 'participant')}; {len(selection.others)} do not."
    )
    if unknown := len(selection.unknown):
        said += f" {counted(unknown, 'conversation')} left out, because a value is missing."
    if nothing_beside:
        said += " No conversation is known to be outside the subset, so there is nothing to compare it with."
    return said


def _alone(sides: Sides, families: Sequence[Family], settings: Settings) -> Analysis:
    title = f"Scores on the subset, mode {sides.mode}"
    begun = Analysis(f"subset-{sides.mode}", title, "How does each model score on the subset?")
    if not sides.study.ids:
        return replace(begun, missing=f"no conversation of the subset was scored in mode {sides.mode}.")
    sampling = Sampling.of(sides.study, settings)
    tables = [made for family in families if (made := _table(sides, family, sampling))]
    if not tables:
        return replace(begun, missing="none of the requested metrics is defined for these conversations.")
    notes = [small_text(settings)]
    if sides.references:
        notes.append("References are made from the labels alone, to hold the models against; they are in no ranking.")
    return replace(begun, tables=tuple(tables), shows=_shows(tables[0]), notes=(*notes, *legend(tables)))


def _table(sides: Sides, family: Family, sampling: Sampling) -> Table | None:
    values = np.stack([sides.values(metric_id) for metric_id in family.metrics], axis=2)
    metrics = [name for m, name in enumerate(family.metrics) if not np.isnan(values[:, :, m]).all()]
    kept = [family.metrics.index(name) for name in metrics]
    names, sizes, people, cells = [], [], [], []
    for i, name in enumerate(sides.lines):
        of_line = values[:, i, kept]
        if not np.isnan(of_line).all():
            # What counts for a row as a whole is a conversation in which any of its metrics is defined.
            defined = np.where(np.isnan(of_line).all(axis=1), np.nan, 1.0)
            names.append(name)
            sizes.append(int(np.nansum(defined)))
            people.append(sides.people(sides.inside, defined))
            cells.append(sampling.cells(of_line, of=metrics))
    if not names:
        return None
    return table(
        family.id,
        family.title,
        words("model", names),
        counts("n", sizes, "n", "Conversations."),
        counts("participants", people, "people", "Participants of these conversations."),
        *(
            metric_column(metric_id, column)
            for metric_id, column in zip(metrics, zip(*cells, strict=True), strict=True)
        ),
        caption=f"{sample_text(sides.study)}. {intervals_text(sampling.settings)}.",
    )


def _shows(first: Table) -> str:
    """The first metric of the first table, the best model first."""
    card = REGISTRY[first.columns[3].id]
    rows = [row for row in first.rows if row[0].mark == "" and row[3].value is not None]
    if not rows:
        return ""
    values = np.array([value_of(row[3]) for row in rows])
    order = by_value(values, higher_is_better=better(card.id))
    digits = digits_of(card.id)
    said = listed([f"{rows[i][0].value} {with_interval(rows[i][3], digits)}" for i in order], most=4)
    few = " These are too few conversations for a claim." if all(row[3].small for row in rows) else ""
    return f"{card.label}: {said}.{few}"


# With --compare


def _beside(sides: Sides, families: Sequence[Family], settings: Settings) -> Analysis:
    """All tables of a mode: a row for each metric and model; then, where there are two models, one for each pair."""
    begun = Analysis(
        f"subset-{sides.mode}",
        f"The subset beside the rest, mode {sides.mode}",
        "Do models score differently on the subset than on the rest, and does any model lose more than another?",
    )
    if not sides.inside.any() or sides.inside.all():
        where = "the rest" if sides.inside.any() else "the subset"
        return replace(begun, missing=f"no conversation of {where} was scored in mode {sides.mode}.")
    contrasts = [(family, rows) for family in families if (rows := contrast(sides, family, settings))]
    if not contrasts:
        return replace(begun, missing="none of the requested metrics is defined for these conversations.")
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
        cannot="A non-significant difference does not show that there is none; it may still be as large as the MDE."
        if any(map(tests_in, of_tables))
        else "Too few conversations or participants to test whether the two differ.",
        warnings=tuple(dict.fromkeys(sentence for found in reach for sentence in found)),
        notes=(*_notes(sides, settings), *legend(tables)),
    )


def _contrast_table(sides: Sides, family: Family, rows: Sequence[Row], settings: Settings) -> Table:
    metrics = [label_of(row.metric_id) for row in rows]
    beyond = [row.beyond for row in rows if row.beyond]
    unit, meaning = unit_of(rows[0].metric_id), "Difference minus that of the base rate."
    return table(
        f"beside-{family.id}",
        f"{family.title}, subset and rest",
        *([words("metric", metrics)] if len(set(metrics)) > 1 else []),
        words("model", [row.names[0] for row in rows]),
        *_columns(rows, settings, "Mean", "difference"),
        *([column("beyond", beyond, "beyond base rate", unit, meaning)] if beyond else []),
        caption=_caption(sides, rows, settings),
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
    """Both sides and their difference: `what` the values are, and their difference is."""
    unit, tests = unit_of(rows[0].metric_id), tests_in(rows)
    yield column("subset", [row.inside for row in rows], "", unit, f"{what} over the conversations that match.")
    yield column("rest", [row.outside for row in rows], "", unit, f"{what} over those that do not match.")
    yield column("difference", [row.difference for row in rows], difference, unit, "Subset minus rest.")
    if tests:
        meaning = f"Minimum detectable effect: detected with {100 * settings.power:.0f} % power after correction."
        yield column("mde", [row.mde for row in rows], f"MDE α/{tests}" if tests > 1 else "MDE", unit, meaning)
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
    shown = list(dict.fromkeys(shown))[:_SAID]
    for metric_id in shown:
        mine = [row for row in rows if row.metric_id == metric_id]
        named = [(str(row.names[0].value), row.difference) for row in mine if not row.reference]
        of, digits = "between subset and rest", digits_of(metric_id)
        yield f"{label_of(metric_id)}: {claims_sentence(named, settings, of=of, digits=digits)}"
    claims = [row.metric_id for row in rows if claimed(row.difference, settings) and row.metric_id not in shown]
    if claims:
        yield f"Differences are also significant in {listed(list(map(label_of, dict.fromkeys(claims))))}."
    for of_pairs in filter(tests_in, between[:_SAID]):
        named = [(" on ".join(str(name.value) for name in row.names), row.difference) for row in of_pairs]
        metric_id, of = of_pairs[0].metric_id, "of one model over another in the subset"
        sentence = claims_sentence(named, settings, noun="gain", of=of, digits=digits_of(metric_id))
        yield f"{label_of(metric_id)}: {sentence}"


def _caption(sides: Sides, rows: Sequence[Row], settings: Settings) -> str:
    """What n is, how intervals were made and what was corrected."""
    inside, outside = (sample_text(sides.side(mask)) for mask in (sides.inside, ~sides.inside))
    correction, tests = CORRECTIONS[plain_correction(settings)], tests_in(rows)
    over = f"permutation p values, corrected ({correction}) over the {counted(tests, 'test')} of this table"
    few = any(min(row.people) < settings.small for row in rows)
    return (
        f"Subset: {inside}; rest: {outside}. Means: {intervals_text(settings)}. Difference: subset minus rest, "
        f"participants resampled as a whole; {over if tests else 'nothing is tested on so few'}."
        + (f" On under {settings.small} participants a side its intervals are too narrow; go by p." * few)
    )


def _notes(sides: Sides, settings: Settings) -> tuple[str, ...]:
    notes = [small_text(settings)]
    if settings.correction == "maxt":
        notes.append(
            "Max-T is not available for differences between groups of conversations; Holm's correction is used."
        )
    if sides.base_rate is not None:
        notes.append(
            "The base rate is made from the labels alone and not tested. If it differs, the subset is easier or harder "
            "to predict; “beyond base rate” is a model's difference minus that of the base rate."
        )
    if len(sides.study.groups) < 2:
        notes.append("One model: there is no difference in differences.")
    return tuple(notes)
