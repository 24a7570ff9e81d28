"""Which models to look up, and what is said of each first: the essentials in sentences, then all tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attunebench.analyses import common
from attunebench.analyses.model import Analysis, Cell, Column, Settings, Table, legend, text
from attunebench.analyses.stats import made, metrics, taken
from attunebench.analyses.stats.metrics import Files, Locate
from attunebench.analyses.stats.one import One
from attunebench.comparison.choosing import chosen_groups
from attunebench.metrics.rates import percent
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import Group, ScoreTable
from attunebench.text import printable

_LONGEST = 100
_FIRST = ("composite", "emotion_tracking", "evaluation_quality", "holistic_comprehension")
_LAST = ("draft", "diagnostic")
"""Tables that stand behind everything else: long, and no part of the Composite."""
_KINDS = {
    "human": "A person who answered, no language model.",
    "baseline": "A built-in baseline, no language model.",
    "oracle": "The built-in oracle answers from the labels: it shows the ceiling, and is no language model.",
}


def as_named(_source: int, name: str) -> Files:
    """The name of a result file as the scores have it, where nobody knows its folder."""
    return Files(printable(name, 2 * _LONGEST))


def model_stats(
    study: ScoreTable, settings: Settings, models: Sequence[str] = (), locate: Locate = as_named
) -> tuple[Analysis, ...]:
    """An overview with a line for each model and mode, then an analysis for each of them.

    `models` as in `comparison.compare`; without them all models and people, and baselines where the settings want
    them or where there is nothing else. `settings.metrics` restricts the metrics; the first one is that whose best and
    worst conversations are listed further down. UsageError for a model or mode that the scores do not hold.
    """
    chosen = _chosen(study, settings, models)
    ones = [One.of(chosen, group, settings) for group in chosen.groups]
    metric_ids = tuple(m for m in REGISTRY if not settings.metrics or m in settings.metrics)
    return (_overview(chosen, ones, metric_ids), *(_of_one(one, metric_ids, locate) for one in ones))


def _chosen(study: ScoreTable, settings: Settings, models: Sequence[str]) -> ScoreTable:
    study = _with_unscored(study)
    if models:
        study = chosen_groups(study, replace(settings, mode=None), models)
    else:
        study = study.models(baselines=settings.baselines, humans=True)
    return study if settings.mode is None else study.of_mode(settings.mode)


def _with_unscored(study: ScoreTable) -> ScoreTable:
    """The study with the groups of which the scores know, and of which nothing was scored."""
    labels = {group.model_key: group.label for group in study.groups}
    scored = {group.key for group in study.groups}
    lacking = [
        Group(*key, label=labels.get(key[:2]) or printable(key[1], _LONGEST) or "(no name)")
        for key in study.aggregates
        if key not in scored
    ]
    return study.with_groups([*study.groups, *lacking])


def _overview(study: ScoreTable, ones: Sequence[One], metric_ids: Sequence[str]) -> Analysis:
    shown = [m for m in metric_ids if m in _FIRST] or list(metric_ids[: len(_FIRST)])
    rows = tuple(_overview_row(one, shown) for one in ones)
    columns = (
        Column("model", "model", "text"),
        Column("mode", "mode", "text"),
        Column("n", "conversations", "count", "That were scored."),
        Column("expected", "of", "count", "Conversations of the ground truth."),
        *(Column(m, common.label_of(m), common.unit_of(m), REGISTRY[m].meaning) for m in shown),
        Column("answered", "answered", "share", "Items answered of items expected.", rounds_down=True),
        Column("mended", "mended", "share", "Of the calls."),
        Column("refused", "refused", "share", "Of the calls."),
        Column("cost", "cost", "usd", "Of all results that say it."),
        Column("cost_each", "per conversation", "usd"),
        Column("seconds", "seconds", "seconds", "Per conversation."),
        Column("provider", "provider", "text"),
    )
    return Analysis(
        "stats",
        "Model by model",
        "What do the scores hold about each model?",
        warnings=common.comparability(study, shown),
        tables=(
            Table(
                "models",
                "Each model and mode",
                columns,
                rows,
                caption="Means over the conversations of each: where these differ, models are not comparable here. "
                "`attune-bench compare` compares them.",
            ),
        ),
    )


def _overview_row(one: One, shown: Sequence[str]) -> tuple[Cell, ...]:
    spent, time = taken.amount_of(one, taken.cost), taken.amount_of(one, taken.seconds)
    rates = (
        taken.share_of(one, *parts) for parts in (("answered", "expected"), ("mended", "made"), ("refused", "made"))
    )
    return (
        text(one.group.label),
        text(printable(one.group.mode, _LONGEST)),
        Cell(len(one.study.ids)),
        Cell((one.aggregate.get("coverage") or {}).get("expected")),
        *(one.mean(m) for m in shown),
        *(Cell(rate.value) for rate in rates),
        Cell(spent.total, mark=_part_of(spent)),
        Cell(spent.mean),
        Cell(time.mean),
        text(printable(one.group.provider, _LONGEST)),
    )


def _part_of(amount: taken.Amount) -> str:
    if amount.n == 0:
        return taken.NOT_STATED
    return "" if amount.n == amount.of else f"of {amount.n} of {amount.of}"


def _of_one(one: One, metric_ids: Sequence[str], locate: Locate) -> Analysis:
    label, mode = one.group.label, printable(one.group.mode, _LONGEST)
    name = printable(f"{one.group.provider}/{one.group.model}", _LONGEST)
    begun = Analysis(
        f"stats/{label}/{mode}", f"{label} ({mode})", f"What do the scores hold about {name} in mode {mode}?"
    )
    lacking = made.unscored(one)
    if not one.study.ids:
        why = made.reasons(one)
        missing = f"Nothing of it was scored{f': {why}' if why else ''}."
        return replace(begun, missing=missing, tables=(made.coverage_table(one),))
    tables, absent = metrics.metric_tables(one, metric_ids)
    first = [table for table in tables if table.id not in _LAST]
    notes = (
        _KINDS.get(one.group.kind, ""),
        metrics.intervals_text(one),
        f"Not measured here: {', '.join(absent)}." if absent else "",
        common.small_text(one.settings),
        *legend(tables),
    )
    lead = one.settings.metrics or ("composite",)
    return replace(
        begun,
        shows=_essentials(one, lead[0]),
        cannot="One model alone: whether it is better than another is for `attune-bench compare` to say. Best and "
        "worst conversations are single values, and single values are noisy.",
        tables=(*first, *_beside(one, lead, metric_ids, locate), *(table for table in tables if table not in first)),
        warnings=(*([f"{label}: {lacking}."] if lacking else []), *common.comparability(one.study, metric_ids)),
        notes=tuple(note for note in notes if note),
    )


def _beside(one: One, lead: Sequence[str], metric_ids: Sequence[str], locate: Locate) -> list[Table]:
    """What is looked up beside the scores themselves."""
    ordered = (*(m for m in lead if m in metric_ids), *(m for m in metric_ids if m not in lead))
    tables = (
        metrics.extremes_table(one, ordered, locate),
        *taken.taken_tables(one),
        made.coverage_table(one),
        made.served_table(one),
        made.settings_table(one),
    )
    return [table for table in tables if table is not None]


def _essentials(one: One, metric_id: str) -> str:
    """What a person looks up a model for, in a few sentences."""
    said = [_score(one, metric_id), _answered(one), _spent(one), _who(one)]
    if ends := metrics.best_and_worst(one, metric_id):
        said.append(f"Best in {ends[0]}, worst in {ends[1]}.")
    return " ".join(sentence for sentence in said if sentence)


def _score(one: One, metric_id: str) -> str:
    cell = one.mean(metric_id)
    label, digits = common.label_of(metric_id), common.digits_of(metric_id)
    over = f"over {common.counted(cell.n or 0, 'conversation')} of {common.counted(one.participants, 'participant')}"
    if cell.value is None:
        return f"{label} is undefined in all of {common.counted(len(one.study.ids), 'conversation')}."
    few = ", too few for a claim" if cell.small else ""
    return f"{label} {common.with_interval(cell, digits)} {over}{few}."


def _answered(one: One) -> str:
    answered = taken.share_of(one, "answered", "expected")
    ends = {"mended": "mended", "refused": "refused", "truncated": "cut short"}
    shares = {words: taken.share_of(one, part, "made") for part, words in ends.items()}
    told = [f"{share.part:,.0f} {words}" for words, share in shares.items() if share.n]
    said = []
    if answered.value is not None:
        said.append(f"{percent(answered.value)} of the items answered")
    if told:
        said.append(f"of {max(share.whole for share in shares.values()):,.0f} calls {common.listed(told)}")
    return f"{'; '.join(said)}." if said else ""


def _spent(one: One) -> str:
    cost, time = taken.amount_of(one, taken.cost), taken.amount_of(one, taken.seconds)
    said = []
    if cost.total is None:
        said.append("no result says its cost")
    else:
        known = "" if cost.n == cost.of else f", of the {cost.n} of {cost.of} results that say it"
        said.append(f"cost ${cost.total:.4f} (${cost.mean:.4f} per conversation{known})")
    if time.mean is not None:
        said.append(f"{time.mean:.1f} s per conversation")
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def _who(one: One) -> str:
    names, hosts = made.served(one, "models_reported"), made.served(one, "providers_reported")
    if one.group.kind != "model" or not (names or hosts):
        return ""
    parts = [
        f"{word} {common.listed([f'{n} ({c})' for n, c in who])}" for word, who in (("as", names), ("by", hosts)) if who
    ]
    return f"Served {' '.join(parts)}."
