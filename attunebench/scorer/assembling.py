"""Scored results → what `scores.json` holds around their entries: groups, coverage, references, what is left out. Pure.

Takes results in any order and puts them in that of the file: by group, then as the conversations stand, then by epoch.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from attunebench._version import __version__
from attunebench.judging import JUDGE_SCALE, JudgeScale
from attunebench.metrics import released
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY_VERSION, Rules, cards_of
from attunebench.results.folder import Duplicate, Findings, NoResult, find_duplicates
from attunebench.results.schema import BINARY_BLOCKS, Observed, Result, RunOrder
from attunebench.results.votes import on_one_scale
from attunebench.scorer.answers import Answers, MismatchError, answers_of, may_be_outdated
from attunebench.scorer.closeness import DraftScores
from attunebench.scorer.conversation import score_together
from attunebench.scorer.groups import Columns, ScoreSettings, columns_of, pooled_of
from attunebench.scorer.references import references
from attunebench.scorer.truth import QUESTIONS, Ground, Truth
from attunebench.scores.files import line_of, new_scores
from attunebench.scores.schema import Aggregate, AggregateEntry, ConversationEntry, Coverage, Sample, Scores
from attunebench.statistics.bootstrap import Floats


@dataclass(frozen=True, slots=True)
class Task:
    """What every process of scoring needs: the labels, how scores are made, and BERTScores where asked for."""

    ground: Ground
    settings: ScoreSettings
    drafts: DraftScores | None = None


Estimate = Callable[[Sequence["Columns | None"]], Iterable[dict[str, Aggregate]]]
"""The estimates of several groups, in their order."""
Group = tuple[str, str, str]


@dataclass(slots=True)
class Scored:
    """What is kept of a scored result until all are: its row of `numbers`, and what files and groups say of it.

    `line`: its entry in the file, or where that line is kept.
    """

    key: tuple[str, str, str, str, int | None]
    source_file: str
    participant_id: str | None
    complete: bool
    numbers: Floats
    line: Any
    settings: Mapping[str, Any]
    observed: Observed
    run_order: RunOrder | None
    judges: tuple[str, ...]
    votes_left_out: tuple[JudgeScale, ...]
    outdated: bool
    """Whether the conversation may have had other texts when it was run."""
    unjudged: bool = False
    """Whether the judged scores of the line do not count: `entry_of` takes them out."""

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


Outcome = Scored | Unknown | NoResult
"""What comes of a file that may hold a result."""


def score_results(task: Task, results: Iterable[Result | NoResult]) -> Iterator[Outcome]:
    """Results scored on the conversations that they answer, in their order; those of one conversation that follow each
    other, as in a folder most do, are scored together."""
    for conversation_id, several in groupby(results, _conversation_of):
        if conversation_id is None or (truth := task.ground.truths.get(conversation_id)) is None:
            yield from (Unknown(o.source_file, o.conversation_id) if isinstance(o, Result) else o for o in several)
        else:
            answered = [_answers(truth, one, task) for one in several if isinstance(one, Result)]
            entries = iter(score_together(truth, [o for o in answered if isinstance(o, Answers)], task.drafts))
            yield from (_scored(truth, o, *next(entries)) if isinstance(o, Answers) else o for o in answered)


def _conversation_of(found: Result | NoResult) -> str | None:
    return found.conversation_id if isinstance(found, Result) else None


def _answers(truth: Truth, result: Result, task: Task) -> Answers | Unknown:
    try:
        return answers_of(truth, on_one_scale(result, task.settings.judge_scale))
    except MismatchError as error:
        return Unknown(result.source_file, result.conversation_id, str(error))


def _scored(truth: Truth, answers: Answers, entry: ConversationEntry, numbers: Floats) -> Scored:
    result = answers.result
    return Scored(
        key=result.key,
        source_file=result.source_file,
        participant_id=entry["participant_id"],
        complete=entry["composite_complete"],
        numbers=numbers,
        line=line_of(entry),
        settings=result.settings,
        observed=result.observed,
        run_order=result.run_order,
        judges=result.judges,
        votes_left_out=result.votes_left_out,
        outdated=may_be_outdated(truth, result),
    )


def entry_of(line: bytes, *, unjudged: bool) -> ConversationEntry:
    """The entry on a line; `unjudged`: as if no judge had been set."""
    entry: ConversationEntry = json.loads(line)
    for part in (entry, *entry["turns"]) if unjudged else ():
        part["metrics"] |= dict.fromkeys(part["metrics"].keys() & JUDGED)
    return entry


def assemble(
    task: Task, outcomes: Iterable[Outcome], findings: Findings, estimate: Estimate | None = None
) -> tuple[Scores, list[Scored]]:
    """The file's content but for its `conversations`, and the results whose lines belong there, in order.

    `findings` of the folder take what is no result. `estimate` makes the intervals of the groups, by default one after
    the other.
    """
    ground, settings = task.ground, task.settings
    gathered = _gather(ground, outcomes, findings, settings.rules)
    groups = gathered.groups
    columns = [
        columns_of([(one.conversation_id, one.participant_id) for one in those], [o.numbers for o in those], settings)
        for those in groups.values()
    ]
    estimates = map(settings.estimate, columns) if estimate is None else estimate(columns)
    baselines = references(ground, settings)  # while others may be at work on the estimates
    aggregates = [
        _aggregate(group, metrics, ground, gathered, settings.rules)
        for group, metrics in zip(groups, estimates, strict=True)
    ]
    if settings.rules == "released":
        _add_z_scores(aggregates)
    metadata = _metadata(ground, gathered, settings)
    if task.drafts is not None:
        metadata["bertscore"] = task.drafts.facts
    scores = new_scores(
        metadata,
        [],
        aggregates,
        _left_out(gathered),
        questions=QUESTIONS,
        ground_truth=ground.entries,
        references=baselines,
    )
    return scores, [one for those in groups.values() for one in those]


def _left_out(gathered: _Gathered) -> dict[str, list[Any]]:
    """Every file and result that was not scored, by reason."""
    findings = gathered.findings
    unknown: list[dict[str, str]] = [
        {"file": one.file, "conversationId": one.conversation_id, **({"reason": one.reason} if one.reason else {})}
        for one in gathered.unknown
    ]
    return {
        "unreadable": [asdict(file) for file in findings.unreadable],
        "not_in_ground_truth": [one for one in unknown if "reason" not in one],
        "mismatched": [one for one in unknown if "reason" in one],
        "duplicates": [
            {**dict(zip(_KEYS, duplicate.key, strict=True)), "files": list(duplicate.files)}
            for duplicate in gathered.duplicates
        ],
        "skipped": [asdict(entry) for entry in findings.skipped],
        "invalid_conversations": [],
        **({"profiles": [{"file": file} for file in findings.profiles]} if findings.profiles else {}),
    }


_KEYS = ("conversationId", "provider", "em_model", "mode", "epoch")


@dataclass(frozen=True, slots=True)
class _Gathered:
    """What came of all files. `results`: of each group, duplicates among them; `groups`: those that count, in order,
    also of groups of which nothing was scored, so that a model that failed throughout does not vanish."""

    results: Mapping[Group, Sequence[Scored]]
    groups: Mapping[Group, Sequence[Scored]]
    unknown: Sequence[Unknown]
    duplicates: Sequence[Duplicate]
    votes_left_out: Mapping[tuple[Group, JudgeScale], int]
    findings: Findings


def _gather(ground: Ground, outcomes: Iterable[Outcome], findings: Findings, rules: Rules) -> _Gathered:
    found, unknown = list[Scored](), list[Unknown]()
    for outcome in outcomes:
        if isinstance(outcome, Scored):
            found.append(outcome)
        elif isinstance(outcome, Unknown):
            unknown.append(outcome)
        else:
            findings.add(outcome)
    scored, votes_left_out = _on_one_scale(found, rules)
    results: dict[Group, list[Scored]] = defaultdict(list)
    for one in scored:
        results[one.group].append(one)
    duplicates = find_duplicates((one.key, one.source_file) for one in scored)
    doubtful = {duplicate.key for duplicate in duplicates}
    skipped = {(s.provider, s.em_model, s.mode) for s in findings.skipped if s.conversation_id in ground.truths}
    order = {conversation_id: position for position, conversation_id in enumerate(ground.truths)}
    groups = {
        group: sorted(
            (one for one in results.get(group, ()) if one.key not in doubtful),
            key=lambda one: (order[one.conversation_id], one.key[-1] or 0),
        )
        for group in sorted(results.keys() | skipped)
    }
    return _Gathered(results, groups, unknown, duplicates, votes_left_out, findings)


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


def _aggregate(
    group: Group, metrics: dict[str, Aggregate], ground: Ground, gathered: _Gathered, rules: Rules
) -> AggregateEntry:
    """The line of one group; a group of which nothing was scored has n 0 and no value anywhere."""
    scored = gathered.groups[group]
    return {
        **_named(group),  # type: ignore[typeddict-item]
        "n_conversations": len({one.conversation_id for one in scored}),
        "n_participants": len({one.participant_id for one in scored if one.participant_id is not None}),
        "composite_incomplete": len({one.conversation_id for one in scored if not one.complete}),
        "judges": {judge: scale for one in scored for judge, scale in one.settings.get("judge_scales", {}).items()},
        "metrics": metrics,
        "pooled": pooled_of([one.numbers for one in scored], rules) if scored else dict.fromkeys(BINARY_BLOCKS),
        "coverage": _coverage(group, ground, gathered),
    }


def _named(group: Group) -> dict[str, Any]:
    return dict(zip(_KEYS[1:4], group, strict=True))


def _add_z_scores(aggregates: Sequence[AggregateEntry]) -> None:
    """`z_score` is of a model and mode among all, and of no conversation."""
    means = [(aggregate["metrics"], aggregate["metrics"]["composite"]["mean"]) for aggregate in aggregates]
    known = [(metrics, mean) for metrics, mean in means if mean is not None]
    for (metrics, _), score in zip(known, released.z_scores([mean for _, mean in known]), strict=True):
        metrics["z_score"] |= {"mean": score, "n": metrics["composite"]["n"]}


def _metadata(ground: Ground, gathered: _Gathered, settings: ScoreSettings) -> dict[str, Any]:
    scored = [one for those in gathered.groups.values() for one in those]
    return {
        "created": None,
        "attunebench_version": __version__,
        "ground_truth": None,
        "ground_truth_sha256": None,
        "results": None,
        "n_conversations": len(ground.truths),
        "n_results": len(scored),
        "models": sorted({model for _, model, _ in gathered.groups}),
        "modes": sorted({mode for _, _, mode in gathered.groups}),
        "n_outdated": sum(one.outdated for one in scored),
        "registry_version": REGISTRY_VERSION,
        "rules": settings.rules,
        "judges": sorted({judge for those in gathered.results.values() for one in those for judge in one.judges}),
        "settings": [
            _settings(group, gathered.results[group]) for group in gathered.groups if group in gathered.results
        ],
        "intervals": {
            "method": f"{'BCa' if settings.ci == 'bca' else 'percentile'} bootstrap",
            "level": 0.95,
            "resamples": settings.resamples,
            "seed": settings.seed,
            "unit": settings.cluster or "conversation",
        },
        "sources": list(ground.sources),
        "votes_left_out": [
            {**_named(group), "judge_scale": scale, "n_results": count}
            for (group, scale), count in sorted(gathered.votes_left_out.items())
        ],
    }


def _settings(group: Group, results: Sequence[Scored]) -> dict[str, Any]:
    """The distinct settings of a group's results, and how often servers named themselves so or did not take something
    as it was asked."""
    variants: dict[str, dict[str, Any]] = {}
    adapted: dict[str, list[str]] = defaultdict(list)
    for one in results:
        variant = variants.setdefault(json.dumps(one.settings, sort_keys=True), {"n_results": 0})
        variant |= {"n_results": variant["n_results"] + 1, **one.settings}
        for parameter, how in one.observed.adapted.items():
            adapted[parameter].append(how)
    return {
        **_named(group),
        "variants": list(variants.values()),
        "observed": {
            "models_reported": _counts(name for one in results for name in one.observed.models),
            "providers_reported": _counts(name for one in results for name in one.observed.providers),
            "structured_used": _counts(name for one in results for name in one.observed.structured),
            "adapted": {parameter: _counts(hows) for parameter, hows in sorted(adapted.items())},
        },
    }


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _coverage(group: Group, ground: Ground, gathered: _Gathered) -> Coverage:
    there = {one.conversation_id for one in gathered.groups[group]}
    duplicated = {d.key[0] for d in gathered.duplicates if d.key[1:4] == group} - there
    skipped = (s for s in gathered.findings.skipped if (s.provider, s.em_model, s.mode) == group)
    failed = {s.conversation_id for s in skipped} - there - duplicated
    orders = {one.conversation_id: one.run_order for one in gathered.results.get(group, ())}
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
