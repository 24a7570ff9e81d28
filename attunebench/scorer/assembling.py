"""Scored results → what `scores.json` holds around their entries: groups, coverage, references, what is left out. Pure.

Takes results in any order and puts them in that of the file: by group, then as the conversations stand, then by epoch.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from attunebench._version import __version__
from attunebench.judging import JUDGE_SCALE, JudgeScale
from attunebench.metrics import released
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY_VERSION, Rules, cards_of
from attunebench.results.folder import Duplicate, Skipped, find_duplicates
from attunebench.results.schema import Observed, Result, RunOrder
from attunebench.results.votes import on_one_scale
from attunebench.scorer.alignment import MismatchError, may_be_outdated
from attunebench.scorer.closeness import DraftScores
from attunebench.scorer.conversation import score_prepared
from attunebench.scorer.groups import Columns, Floats, Resampling, columns_of, numbers_of, pooled_of
from attunebench.scorer.references import references
from attunebench.scorer.truth import QUESTIONS, Ground, Truth
from attunebench.scores.files import new_scores
from attunebench.scores.schema import Aggregate, AggregateEntry, ConversationEntry, Coverage, Sample, Scores

Estimate = Callable[[Sequence["Columns | None"]], Iterable[dict[str, Aggregate]]]
"""The estimates of several groups, in their order."""
Group = tuple[str, str, str]


@dataclass(slots=True)
class Scored:
    """What is kept of a scored result until all are: its row of `numbers`, and what files and groups say of it.

    `entry` is what the file holds of it, or where that is kept.
    """

    key: tuple[str, str, str, str, int | None]
    source_file: str
    participant_id: str | None
    complete: bool
    numbers: Floats
    entry: Any
    settings: Mapping[str, Any]
    observed: Observed
    run_order: RunOrder | None
    judges: tuple[str, ...]
    votes_left_out: tuple[JudgeScale, ...]
    outdated: bool
    """Whether the conversation may have had other texts when it was run."""
    unjudged: bool = False
    """Whether the entry's judged scores do not count: `without_votes` takes them out."""

    @property
    def conversation_id(self) -> str:
        return self.key[0]

    @property
    def group(self) -> Group:
        return self.key[1:4]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A result of a conversation that the ground truth does not have, or, with a `reason`, not as it was answered."""

    file: str
    conversation_id: str
    reason: str = ""


def score_one(
    truths: Mapping[str, Truth],
    result: Result,
    drafts: DraftScores | None = None,
    judge_scale: JudgeScale | None = None,
) -> Scored | Unknown:
    """A result scored on the conversation that it answers."""
    truth = truths.get(result.conversation_id)
    if truth is None:
        return Unknown(result.source_file, result.conversation_id)
    result = on_one_scale(result, judge_scale)
    try:
        entry = score_prepared(truth, result, drafts)
    except MismatchError as error:
        return Unknown(result.source_file, result.conversation_id, str(error))
    return Scored(
        key=result.key,
        source_file=result.source_file,
        participant_id=entry["participant_id"],
        complete=entry["composite_complete"],
        numbers=numbers_of(entry),
        entry=entry,
        settings=result.settings,
        observed=result.observed,
        run_order=result.run_order,
        judges=result.judges,
        votes_left_out=result.votes_left_out,
        outdated=may_be_outdated(truth, result),
    )


def without_votes(entry: ConversationEntry) -> ConversationEntry:
    """The entry as if no judge had been set."""
    turns = [{**turn, "metrics": _unjudged(turn["metrics"])} for turn in entry["turns"]]
    return {**entry, "metrics": _unjudged(entry["metrics"]), "turns": turns}  # type: ignore[typeddict-item]


def _unjudged(values: Mapping[str, float | None]) -> dict[str, float | None]:
    return {metric_id: None if metric_id in JUDGED else value for metric_id, value in values.items()}


def assemble(
    ground: Ground,
    outcomes: Iterable[Scored | Unknown],
    skipped: Iterable[Skipped],
    resampling: Resampling,
    estimate: Estimate | None = None,
    bertscore: Mapping[str, Any] | None = None,
) -> tuple[Scores, list[Scored]]:
    """The file's content but for its `conversations`, and the results whose entries belong there, in order.

    `estimate` makes the intervals of the groups, by default one after the other. `skipped` is looked at only when all
    `outcomes` have been taken. `bertscore` says with which model drafts were compared, None where they were not.
    """
    rules = resampling.rules
    gathered = _gather(ground, outcomes, rules)
    skips = list(skipped)
    groups = _by_group(ground, gathered, skips)
    columns = [
        columns_of([(one.conversation_id, one.participant_id) for one in those], [o.numbers for o in those], resampling)
        for those in groups.values()
    ]
    estimates = map(resampling.estimate, columns) if estimate is None else estimate(columns)
    baselines = references(ground, resampling)  # while others may be at work on the estimates
    aggregates = [
        _aggregate(group, those, metrics, _coverage(group, those, ground, gathered, skips), rules)
        for (group, those), metrics in zip(groups.items(), estimates, strict=True)
    ]
    if rules == "released":
        _add_z_scores(aggregates)
    left_out: dict[str, list[Any]] = {
        "unreadable": [],
        "not_in_ground_truth": [
            {"file": one.file, "conversationId": one.conversation_id} for one in gathered.unknown if not one.reason
        ],
        "mismatched": [
            {"file": one.file, "conversationId": one.conversation_id, "reason": one.reason}
            for one in gathered.unknown
            if one.reason
        ],
        "duplicates": [
            {**dict(zip(_KEYS, duplicate.key, strict=True)), "files": list(duplicate.files)}
            for duplicate in gathered.duplicates
        ],
        "skipped": [asdict(entry) for entry in skips],
        "invalid_conversations": [],
    }
    metadata = _metadata(ground, gathered, groups, resampling) | ({} if bertscore is None else {"bertscore": bertscore})
    scores = new_scores(
        metadata, [], aggregates, left_out, questions=QUESTIONS, ground_truth=ground.entries, references=baselines
    )
    return scores, gathered.scored


_KEYS = ("conversationId", "provider", "em_model", "mode", "epoch")


@dataclass(slots=True)
class _Gathered:
    scored: list[Scored] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    by_settings: dict[Group, dict[str, list[Scored]]] = field(default_factory=lambda: defaultdict(dict))
    by_group: dict[Group, list[Scored]] = field(default_factory=lambda: defaultdict(list))
    judges: set[str] = field(default_factory=set)
    votes_left_out: Counter[tuple[Group, JudgeScale]] = field(default_factory=Counter)
    duplicates: tuple[Duplicate, ...] = ()


def _gather(ground: Ground, outcomes: Iterable[Scored | Unknown], rules: Rules) -> _Gathered:
    gathered, found = _Gathered(), list[Scored]()
    for outcome in outcomes:
        if isinstance(outcome, Unknown):
            gathered.unknown.append(outcome)
        else:
            found.append(outcome)
    scored, gathered.votes_left_out = _on_one_scale(found, rules)
    for one in scored:
        gathered.by_group[one.group].append(one)
        settings = json.dumps(one.settings, sort_keys=True)
        gathered.by_settings[one.group].setdefault(settings, []).append(one)
        gathered.judges.update(one.judges)
    gathered.duplicates = find_duplicates((one.key, one.source_file) for one in scored)
    doubtful = {duplicate.key for duplicate in gathered.duplicates}
    order = {conversation_id: position for position, conversation_id in enumerate(ground.truths)}
    gathered.scored = sorted(
        (one for one in scored if one.key not in doubtful),
        key=lambda one: (*one.group, order[one.conversation_id], one.key[-1] or 0),
    )
    return gathered


def _on_one_scale(scored: Sequence[Scored], rules: Rules) -> tuple[list[Scored], Counter[tuple[Group, JudgeScale]]]:
    """The results with judged scores on one scale in each group, the default one where there are several, and on which
    other scales how many results have votes that do not count."""
    scales: dict[Group, set[JudgeScale]] = defaultdict(set)
    for one in scored:
        scales[one.group].update(_scales(one))
    judged = [column for column, metric_id in enumerate(cards_of(rules)) if metric_id in JUDGED]
    on_one, left_out = [], Counter[tuple[Group, JudgeScale]]()
    for one in scored:
        others = _scales(one) - {JUDGE_SCALE} if len(scales[one.group]) > 1 else set()
        left_out.update((one.group, scale) for scale in {*one.votes_left_out, *others})
        if others:
            numbers = one.numbers.copy()
            numbers[judged] = np.nan
            settings = {**one.settings, "judge_scales": {}}
            one = replace(one, numbers=numbers, judges=(), settings=settings, unjudged=True)
        on_one.append(one)
    return on_one, left_out


def _scales(one: Scored) -> set[JudgeScale]:
    return set(one.settings.get("judge_scales", {}).values())


def _by_group(ground: Ground, gathered: _Gathered, skipped: Sequence[Skipped]) -> dict[Group, list[Scored]]:
    """Also the groups of which nothing was scored, so that a model that failed throughout does not vanish."""
    groups = {one.group for one in gathered.scored}
    groups |= {duplicate.key[1:4] for duplicate in gathered.duplicates}
    groups |= {(s.provider, s.em_model, s.mode) for s in skipped if s.conversation_id in ground.truths}
    by_group: dict[Group, list[Scored]] = {group: [] for group in sorted(groups)}
    for one in gathered.scored:
        by_group[one.group].append(one)
    return by_group


def _aggregate(
    group: Group, scored: Sequence[Scored], metrics: dict[str, Aggregate], coverage: Coverage, rules: Rules
) -> AggregateEntry:
    """The line of one group; a group of which nothing was scored has n 0 and no value anywhere."""
    incomplete = {one.conversation_id for one in scored if not one.complete}
    provider, em_model, mode = group
    return {
        "provider": provider,
        "em_model": em_model,
        "mode": mode,
        "n_conversations": len({one.conversation_id for one in scored}),
        "n_participants": len({one.participant_id for one in scored if one.participant_id is not None}),
        "composite_incomplete": len(incomplete),
        "judges": {judge: scale for one in scored for judge, scale in one.settings.get("judge_scales", {}).items()},
        "metrics": metrics,
        "pooled": pooled_of([one.numbers for one in scored], rules),
        "coverage": coverage,
    }


def _named(group: Group) -> dict[str, Any]:
    return dict(zip(_KEYS[1:4], group, strict=True))


def _add_z_scores(aggregates: Sequence[AggregateEntry]) -> None:
    """`z_score` is of a model and mode among all, and of no conversation."""
    means = [(aggregate["metrics"], aggregate["metrics"]["composite"]["mean"]) for aggregate in aggregates]
    known = [(metrics, mean) for metrics, mean in means if mean is not None]
    for (metrics, _), score in zip(known, released.z_scores([mean for _, mean in known]), strict=True):
        metrics["z_score"] |= {"mean": score, "n": metrics["composite"]["n"]}


def _metadata(ground: Ground, gathered: _Gathered, groups: Iterable[Group], resampling: Resampling) -> dict[str, Any]:
    groups = list(groups)
    return {
        "created": None,
        "attunebench_version": __version__,
        "ground_truth": None,
        "ground_truth_sha256": None,
        "results": None,
        "n_conversations": len(ground.truths),
        "n_results": len(gathered.scored),
        "models": sorted({model for _, model, _ in groups}),
        "modes": sorted({mode for _, _, mode in groups}),
        "n_outdated": sum(one.outdated for one in gathered.scored),
        "registry_version": REGISTRY_VERSION,
        "rules": resampling.rules,
        "judges": sorted(gathered.judges),
        "settings": [_settings(group, gathered) for group in groups if group in gathered.by_group],
        "intervals": {
            "method": f"{'BCa' if resampling.ci == 'bca' else 'percentile'} bootstrap",
            "level": 0.95,
            "resamples": resampling.resamples,
            "seed": resampling.seed,
            "unit": resampling.cluster or "conversation",
        },
        "sources": list(ground.sources),
        "votes_left_out": [
            {**_named(group), "judge_scale": scale, "n_results": count}
            for (group, scale), count in sorted(gathered.votes_left_out.items())
        ],
    }


def _settings(group: Group, gathered: _Gathered) -> dict[str, Any]:
    """The distinct settings of a group's results, and how often servers named themselves so or did not take something
    as it was asked."""
    observed = [one.observed for one in gathered.by_group[group]]
    adapted: dict[str, list[str]] = defaultdict(list)
    for parameter, how in (pair for each in observed for pair in each.adapted.items()):
        adapted[parameter].append(how)
    return {
        **_named(group),
        "variants": [{"n_results": len(those), **those[-1].settings} for those in gathered.by_settings[group].values()],
        "observed": {
            "models_reported": _counts(name for each in observed for name in each.models),
            "providers_reported": _counts(name for each in observed for name in each.providers),
            "structured_used": _counts(name for each in observed for name in each.structured),
            "adapted": {parameter: _counts(hows) for parameter, hows in sorted(adapted.items())},
        },
    }


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _coverage(
    group: Group, scored: Sequence[Scored], ground: Ground, gathered: _Gathered, skipped: Sequence[Skipped]
) -> Coverage:
    there = {one.conversation_id for one in scored}
    duplicated = {d.key[0] for d in gathered.duplicates if d.key[1:4] == group} - there
    failed = {s.conversation_id for s in skipped if (s.provider, s.em_model, s.mode) == group} - there - duplicated
    orders = {one.conversation_id: one.run_order for one in gathered.by_group.get(group, ())}
    accounted = there | failed | duplicated
    return {
        "expected": len(ground.truths),
        "scored": len(there),
        "skipped": [conversation_id for conversation_id in ground.truths if conversation_id in failed],
        "duplicated": [conversation_id for conversation_id in ground.truths if conversation_id in duplicated],
        "missing": [conversation_id for conversation_id in ground.truths if conversation_id not in accounted],
        "sample": _sample([orders[conversation_id] for conversation_id in there], len(ground.truths)),
    }


def _sample(orders: Sequence[RunOrder | None], expected: int) -> Sample | None:
    """The beginning of a run's order that these results reach into, and thus a fair sample of the `expected`.

    None where all is scored, and where that is not certain: results of several orders, an unknown one, another set.
    """
    known = [order for order in orders if order is not None]
    if not 0 < len(known) == len(orders) < expected:
        return None
    if {(order.seed, order.of) for order in known} != {(known[0].seed, expected)}:
        return None
    if len({order.position for order in known}) < len(known):  # results of sets that are not the same
        return None
    return {"seed": known[0].seed, "reached": max(order.position for order in known) + 1, "of": expected}
