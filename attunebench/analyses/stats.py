"""Everything that scores hold about one model in one mode: looked up and summed, compared with nobody.

Pure: scores in, analyses out. Where a result file lies on this disk is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attunebench.analyses import verdicts
from attunebench.analyses.account import UNSCORED, Account, account_tables, coverage_table, name_text
from attunebench.analyses.base import Settings, by_value, digits_of, label_of, metric_column, spread_columns, value_of
from attunebench.analyses.table import Analysis, Cell, Table, column, counts, table, words
from attunebench.analyses.verdicts import counted, legend, listed, number, with_interval
from attunebench.comparison.choosing import chosen_groups
from attunebench.metrics import rates
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import Group, ScoreTable

_FIRST = ("composite", "emotion_tracking", "evaluation_quality", "holistic_comprehension")
_TITLES = {
    "composite": "Composite (0–100)",
    "pillar": "The three pillars of the Composite",
    "turn": "Turn by turn",
    "conversation": "Conversation-wide",
    "draft": "Drafted replies (not in the Composite)",
    "diagnostic": "Diagnostics (not in the Composite)",
}
_LAST = ("draft", "diagnostic")
"""Tables that come last: long, and not part of the Composite."""
_KINDS = {
    "human": "Answers of a person, not of a language model.",
    "baseline": "A built-in baseline, not a language model.",
    "oracle": "The built-in oracle, which answers from the labels and shows the ceiling; not a language model.",
}
_PLACES = 3
"""So many best and worst conversations are listed of the first metric, and one of each of the others."""


Locate = Callable[[int, str], str]
"""(position of the scores file, name of the result file in its results folder) → where it is, as people read it."""


def as_named(_source: int, name: str) -> str:
    """The name of a result file as the scores have it, where nobody knows its folder."""
    return name_text(name, 200)


def model_stats(
    study: ScoreTable, settings: Settings, models: Sequence[str] = (), locate: Locate = as_named
) -> tuple[Analysis, ...]:
    """An overview with a line for each model and mode, then an analysis for each of them.

    `models` as in `comparison.compare`; without them all models and people, and baselines where the settings want
    them or where there is nothing else. `settings.metrics` restricts the metrics; the first one is that whose best and
    worst conversations are listed further down. UsageError for a model or mode that the scores do not hold.
    """
    labels, scored = {g.model_key: g.label for g in study.groups}, {g.key for g in study.groups}
    unscored = [key for key in study.aggregates if key not in scored]
    further = [Group(*key, label=labels.get(key[:2]) or name_text(key[1]) or "(no name)") for key in unscored]
    study = study.with_groups([*study.groups, *further])
    if models:
        study = chosen_groups(study, replace(settings, mode=None), models)
    else:
        study = study.models(baselines=settings.baselines, humans=True)
    study = study if settings.mode is None else study.of_mode(settings.mode)
    accounts = [Account.of(study, group, settings) for group in study.groups]
    metric_ids = tuple(m for m in REGISTRY if not settings.metrics or m in settings.metrics)
    return (_overview(study, accounts, metric_ids), *(_of_one(one, metric_ids, locate) for one in accounts))


def _overview(study: ScoreTable, accounts: Sequence[Account], metric_ids: Sequence[str]) -> Analysis:
    shown = [m for m in metric_ids if m in _FIRST] or list(metric_ids[: len(_FIRST)])
    answered, repaired, refused = (
        [one.share(name).value for one in accounts] for name in ("items answered", "calls repaired", "calls refused")
    )
    cost, time = ([one.amount(key) for one in accounts] for key in ("api_cost", "duration_seconds"))
    models = table(
        "models",
        "Models and modes",
        words("model", study.labels),
        words("mode", [name_text(group.mode) for group in study.groups]),
        counts("n", [len(one.study.ids) for one in accounts], "conversations", "Conversations that were scored."),
        counts("expected", [one.coverage.get("expected") for one in accounts], "of", "Conversations with labels."),
        *(metric_column(m, [one.mean(m) for one in accounts]) for m in shown),
        column("answered", answered, "", "share", "Share of expected items that were answered.", rounds_down=True),
        column("mended", repaired, "repaired", "share", "Share of calls."),
        column("refused", refused, "", "share", "Share of calls."),
        column("cost", [Cell(a.total, mark=a.scope) for a in cost], "", "usd", "Sum over all results that record it."),
        column("cost_each", [amount.mean for amount in cost], "per conversation", "usd"),
        column("seconds", [amount.mean for amount in time], "", "seconds", "Per conversation."),
        words("provider", [name_text(group.provider) for group in study.groups]),
        caption="Means over each model's own conversations. Where these differ, the models are not comparable here; "
        "use `attune-bench compare`.",
    )
    question = "What do the scores say about each model?"
    warnings = verdicts.comparability(study, shown)
    return Analysis("stats", "Model by model", question, warnings=warnings, tables=(models,))


def _of_one(one: Account, metric_ids: Sequence[str], locate: Locate) -> Analysis:
    label, mode = one.group.label, name_text(one.group.mode)
    about = Analysis(
        f"stats/{label}/{mode}",
        f"{label} ({mode})",
        f"What do the scores say about {name_text(f'{one.group.provider}/{one.group.model}')} in mode {mode}?",
    )
    expected, scored = one.coverage.get("expected"), len(one.study.ids)
    why = ", ".join(f"{len(ids)} {reason}" for reason in UNSCORED if (ids := one.coverage.get(reason)))
    why = why and f": {why}"
    if not scored:
        return replace(about, missing=f"None of its results was scored{why}.", tables=(coverage_table(one),))
    gap = f"{label}: scored {scored} of {expected}{why}." if expected is not None and scored < expected else ""
    measured = [m for m in metric_ids if REGISTRY[m].status == "canonical" or not np.isnan(one.values(m)).all()]
    by_group = {
        group: [m for m in measured if group == (m if m == "composite" else REGISTRY[m].group)] for group in _TITLES
    }
    tables = [_metrics(one, group, ids) for group, ids in by_group.items() if ids]
    absent = [label_of(m) for m in metric_ids if m not in measured]
    lead = one.settings.metrics or ("composite",)
    extremes = _extremes(one, sorted(metric_ids, key=lambda m: lead.index(m) if m in lead else len(lead)), locate)
    made = one.study.metadata[one.group.source].get("intervals") or {}
    method, unit = name_text(made.get("method", "bootstrap"), 40), name_text(made.get("unit", ""), 40)
    notes = (
        _KINDS.get(one.group.kind, ""),
        f"Means and [low, high], the 95 % {method} interval{f' over {unit}s' if unit else ''}, were computed by "
        "`score`; spread is over conversations.",
        verdicts.shared_people_text(one.study, one.settings) if unit == "conversation" else "",
        f"Not measured here: {'; '.join(absent)}." if absent else "",
        verdicts.small_text(one.settings),
        *legend(tables),
    )
    return replace(
        about,
        shows=_essentials(one, lead[0], extremes),
        cannot="This describes one model; use `attune-bench compare` to compare it with others. Best and worst "
        "conversations are single values and therefore noisy.",
        tables=(
            *(shown for shown in tables if shown.id not in _LAST),
            *(shown for shown in (extremes, *account_tables(one)) if shown.rows),
            *(shown for shown in tables if shown.id in _LAST),
        ),
        warnings=tuple(filter(None, (gap, *verdicts.comparability(one.study, metric_ids)))),
        notes=tuple(filter(None, notes)),
    )


def _metrics(one: Account, group: str, metric_ids: Sequence[str]) -> Table:
    digits, cells = digits_of(metric_ids[0]), [one.mean(m) for m in metric_ids]
    pooled = [card.label for card in rates.CARDS if card.id in metric_ids]
    lower = [label_of(m) for m in metric_ids if REGISTRY[m].higher_is_better is False]
    notes = (
        f"Mean pooled over all items or calls, spread over conversations: {'; '.join(pooled)}." if pooled else "",
        verdicts.judges_text(one.study) if group == "draft" else "",
        f"Lower is better: {'; '.join(lower)}." if lower else "",
    )
    return table(
        group,
        _TITLES[group],
        words("metric", map(label_of, metric_ids)),
        counts("n", [cell.n for cell in cells], "n", "Conversations in which the metric is defined."),
        column("mean", cells, meaning="Mean computed by `score`.", digits=digits),
        *spread_columns([one.values(m) for m in metric_ids], digits=digits),
        words("id", metric_ids, "id", "Name for --metric and `report --explain`."),
        notes=tuple(filter(None, notes)),
    )


def _extremes(one: Account, metric_ids: Sequence[str], locate: Locate) -> Table:
    """The best and worst conversations of each metric, with their result files; no row where nothing is defined."""
    rows: list[tuple[Any, ...]] = []
    for metric_id in metric_ids:
        rows += list(_ends(one, metric_id, locate, 1 if rows else _PLACES))
    return table(
        "extremes",
        "Best and worst conversations",
        words("metric"),
        words("end", (), "end", "best and worst; lowest and highest where neither is better."),
        column("value", digits=3),
        counts("alike", (), "alike", "Conversations with this value."),
        words("conversation"),
        words("talk", (), "labels", "File of the conversation."),
        words("file", label="result file"),
        rows=rows,
        caption="“alike” counts conversations with the same value; the first of them is shown.",
    )


def _ends(one: Account, metric_id: str, locate: Locate, places: int) -> Iterator[tuple[Any, ...]]:
    values, way = one.values(metric_id), REGISTRY[metric_id].higher_is_better
    defined = values[~np.isnan(values)]
    ends = {"highest": True, "lowest": False} if way is None else {"best": way, "worst": not way}
    if len(set(defined.tolist())) < 2:
        ends, places = {"only" if len(defined) == 1 else "all alike": way is not False}, 1
    for end, highest_first in ends.items():
        order = by_value(values, higher_is_better=highest_first)
        for position in order[: min(places, len(defined), max(1, len(defined) // 2))]:
            conversation = one.study.ids[position]
            runs = one.study.entries.get((one.group.key, conversation), ())
            name, truth = runs[0].get("source_file"), one.study.ground_truth.get(conversation)
            file = locate(one.group.source, name) if name else None
            yield (
                label_of(metric_id),
                end,
                values[position],
                (values == values[position]).sum(),
                name_text(conversation),
                None if truth is None else name_text(truth["source_file"]),
                Cell(file, mark=f"and {len(runs) - 1} more" if len(runs) > 1 else ""),
            )


def _essentials(one: Account, metric_id: str, extremes: Table) -> str:
    """What a person looks up a model for, in a few sentences."""
    cell, label, digits = one.mean(metric_id), label_of(metric_id), digits_of(metric_id)
    answered, cost, time = one.share("items answered").value, one.amount("api_cost"), one.amount("duration_seconds")
    over = f"{counted(cell.n or 0, 'conversation')} of {counted(one.participants, 'participant')}"
    few, scope = ", too few for a claim" if cell.small else "", f", recorded by {cost.n} of {cost.of} results"
    mean = f"{label} {with_interval(cell, digits)} over {over}{few}."
    spent = f"Cost ${cost.total or 0:.4f}{cost.scope and scope} (${cost.mean:.4f} per conversation)."
    served = {
        word: [f"{name} ({count})" for name, count in one.served(what) if one.group.kind == "model"]
        for word, what in (("as", "models_reported"), ("by", "providers_reported"))
    }
    ends = {str(row[1].value): row for row in reversed(extremes.rows) if row[0].value == label}
    places = sorted(
        f"{end} in {str(row[5].value or row[4].value).removesuffix('.json')} ({number(value_of(row[2]), digits)})"
        for end, row in ends.items()
    )
    return verdicts.sentences(
        mean if cell.value is not None else f"{label} is undefined in all {len(one.study.ids)} conversations.",
        "" if answered is None else f"{rates.percent(answered)} of the items answered.",
        spent if cost.total is not None else "No result records its cost.",
        f"{time.mean:.1f} s per conversation." if time.n else "",
        *(f"Served {word} {listed(names)}." for word, names in served.items() if names),
        f"{label} is {' and '.join(places)}." if len(places) == 2 else "",
    )
