"""Scored results → what `scores.json` holds around their entries: groups, coverage, references, what is left out. Pure.

Takes results in any order and puts them in that of the file: by group, then as the conversations stand, then by epoch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from attunebench._version import __version__
from attunebench.conversations.schema import Conversation
from attunebench.metrics import released
from attunebench.metrics.registry import REGISTRY_VERSION, Rules
from attunebench.results.folder import Duplicate, Skipped, find_duplicates
from attunebench.results.schema import RunOrder
from attunebench.scorer.answers import QUESTIONS, truth_entry
from attunebench.scorer.groups import (
    Columns,
    Group,
    ObservedCounts,
    Resampling,
    aggregate_group,
    columns_of,
    settings_of_groups,
)
from attunebench.scorer.kept import Kept
from attunebench.scorer.references import references
from attunebench.scorer.sample import sample_of
from attunebench.scorer.truth import Truth, prepare
from attunebench.scorer.votes import LeftOut, of_one_scale
from attunebench.scores import Aggregate, AggregateEntry, Coverage, GroundTruthEntry, Scores, new_scores

Estimate = Callable[[Sequence["Columns | None"]], Iterable[dict[str, Aggregate]]]
"""The estimates of several groups, in their order."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The ground truth: prepared for scoring, as the file keeps it, and where it comes from."""

    truths: Mapping[str, Truth]
    facts: tuple[GroundTruthEntry, ...]
    sources: tuple[str, ...]

    @classmethod
    def of(cls, conversations: Iterable[Conversation], rules: Rules = "attunebench") -> Ground:
        """Reads each conversation once, so that a generator will do."""
        truths: dict[str, Truth] = {}
        facts: list[GroundTruthEntry] = []
        sources: set[str] = set()
        for conversation in conversations:
            facts.append(truth_entry(conversation))
            truths[conversation.conversation_id] = prepare(conversation, rules)
            if source := conversation.metadata.get("source"):
                sources.add(str(source))
        return cls(truths, tuple(facts), tuple(sorted(sources)))


@dataclass(frozen=True, slots=True)
class Unknown:
    """A result of a conversation that the ground truth does not have, or, with a `reason`, not as it was answered."""

    file: str
    conversation_id: str
    reason: str = ""


def assemble(
    ground: Ground,
    found: Iterable[Kept | Unknown],
    skipped: Iterable[Skipped],
    resampling: Resampling,
    estimate: Estimate | None = None,
    bertscore: Mapping[str, Any] | None = None,
) -> tuple[Scores, list[Kept]]:
    """The file's content but for its `conversations`, and the results whose entries belong there, in order.

    `estimate` makes the intervals of the groups, by default one after the other. `skipped` is looked at only when all
    of `found` has been taken. `bertscore` says with which model drafts were compared, None where they were not.
    """
    gathered = _gather(ground.truths, found, resampling.rules)
    skips = list(skipped)
    groups = _by_group(ground.truths, gathered, skips)
    columns = [columns_of(kept, resampling) for kept in groups.values()]
    estimates = map(resampling.estimate, columns) if estimate is None else estimate(columns)
    baselines = references(ground.facts, ground.truths, resampling)  # while others may be at work on the estimates
    aggregates = [
        aggregate_group(group, kept, metrics, _coverage(group, kept, ground.truths, gathered, skips), resampling.rules)
        for (group, kept), metrics in zip(groups.items(), estimates, strict=True)
    ]
    if resampling.rules == "released":
        _add_z_scores(aggregates)
    left_out: dict[str, list[Any]] = {
        "unreadable": [],
        "not_in_ground_truth": [
            {"file": f.file, "conversationId": f.conversation_id} for f in gathered.unknown if not f.reason
        ],
        "mismatched": [
            {"file": f.file, "conversationId": f.conversation_id, "reason": f.reason}
            for f in gathered.unknown
            if f.reason
        ],
        "duplicates": [_duplicate(duplicate) for duplicate in gathered.duplicates],
        "skipped": [asdict(entry) for entry in skips],
        "invalid_conversations": [],
    }
    scores = new_scores(
        {
            **_metadata(ground, gathered, groups, resampling),
            **({} if bertscore is None else {"bertscore": dict(bertscore)}),
        },
        [],
        aggregates,
        left_out,
        questions=QUESTIONS,
        ground_truth=ground.facts,
        references=baselines,
    )
    return scores, gathered.kept


def _add_z_scores(aggregates: Sequence[AggregateEntry]) -> None:
    """`z_score` is of a model and mode among all, and of no conversation."""
    means = [(aggregate["metrics"], aggregate["metrics"]["composite"]["mean"]) for aggregate in aggregates]
    known = [(metrics, mean) for metrics, mean in means if mean is not None]
    for (metrics, _), score in zip(known, released.z_scores([mean for _, mean in known]), strict=True):
        metrics["z_score"] |= {"mean": score, "n": metrics["composite"]["n"]}


@dataclass(slots=True)
class _Gathered:
    kept: list[Kept] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    settings: dict[Group, dict[str, tuple[dict[str, Any], int]]] = field(default_factory=dict)
    observed: dict[Group, ObservedCounts] = field(default_factory=dict)
    orders: dict[Group, dict[str, RunOrder | None]] = field(default_factory=dict)
    judges: dict[str, None] = field(default_factory=dict)
    votes_left_out: list[LeftOut] = field(default_factory=list)
    duplicates: tuple[Duplicate, ...] = ()


def _gather(truths: Mapping[str, Truth], found: Iterable[Kept | Unknown], rules: Rules) -> _Gathered:
    gathered = _Gathered()
    for result in found:
        if isinstance(result, Unknown):
            gathered.unknown.append(result)
            continue
        gathered.kept.append(result)
        gathered.observed.setdefault(result.group, ObservedCounts()).add(result.observed)
        gathered.orders.setdefault(result.group, {})[result.conversation_id] = result.run_order
    gathered.kept, gathered.votes_left_out = of_one_scale(gathered.kept, rules)
    for result in gathered.kept:
        variants = gathered.settings.setdefault(result.group, {})
        text = json.dumps(result.settings, sort_keys=True)
        variants[text] = (result.settings, variants.get(text, ({}, 0))[1] + 1)
        gathered.judges.update(dict.fromkeys(result.judges))
    gathered.duplicates = find_duplicates((kept.key, kept.source_file) for kept in gathered.kept)
    doubtful = {duplicate.key for duplicate in gathered.duplicates}
    order = {conversation_id: position for position, conversation_id in enumerate(truths)}
    gathered.kept = sorted(
        (kept for kept in gathered.kept if kept.key not in doubtful),
        key=lambda kept: (*kept.group, order[kept.conversation_id], kept.key[-1] or 0),
    )
    return gathered


def _by_group(truths: Mapping[str, Truth], gathered: _Gathered, skipped: Sequence[Skipped]) -> dict[Group, list[Kept]]:
    """Also the groups of which nothing was scored, so that a model that failed throughout does not vanish."""
    groups = {kept.group for kept in gathered.kept}
    groups |= {duplicate.key[1:4] for duplicate in gathered.duplicates}
    groups |= {(s.provider, s.em_model, s.mode) for s in skipped if s.conversation_id in truths}
    by_group: dict[Group, list[Kept]] = {group: [] for group in sorted(groups)}
    for kept in gathered.kept:
        by_group[kept.group].append(kept)
    return by_group


def _metadata(ground: Ground, gathered: _Gathered, groups: Iterable[Group], resampling: Resampling) -> dict[str, Any]:
    groups = list(groups)
    return {
        "created": None,
        "attunebench_version": __version__,
        "ground_truth": None,
        "ground_truth_sha256": None,
        "results": None,
        "n_conversations": len(ground.truths),
        "n_results": len(gathered.kept),
        "models": sorted({model for _, model, _ in groups}),
        "modes": sorted({mode for _, _, mode in groups}),
        "n_outdated": sum(kept.outdated for kept in gathered.kept),
        "registry_version": REGISTRY_VERSION,
        "rules": resampling.rules,
        "judges": sorted(gathered.judges),
        "settings": settings_of_groups(
            {group: gathered.settings[group] for group in groups if group in gathered.settings}, gathered.observed
        ),
        "intervals": {
            "method": f"{'BCa' if resampling.ci == 'bca' else 'percentile'} bootstrap",
            "level": 0.95,
            "resamples": resampling.resamples,
            "seed": resampling.seed,
            "unit": "participant" if resampling.by_participant else "conversation",
        },
        "sources": list(ground.sources),
        "votes_left_out": [left.as_json() for left in gathered.votes_left_out],
    }


def _coverage(
    group: Group,
    kept: Sequence[Kept],
    truths: Mapping[str, Truth],
    gathered: _Gathered,
    skipped: Sequence[Skipped],
) -> Coverage:
    scored = {found.conversation_id for found in kept}
    duplicated = {d.key[0] for d in gathered.duplicates if d.key[1:4] == group} - scored
    failed = {s.conversation_id for s in skipped if (s.provider, s.em_model, s.mode) == group} - scored - duplicated
    return {
        "expected": len(truths),
        "scored": len(scored),
        "skipped": [conversation_id for conversation_id in truths if conversation_id in failed],
        "duplicated": [conversation_id for conversation_id in truths if conversation_id in duplicated],
        "missing": [
            conversation_id
            for conversation_id in truths
            if conversation_id not in scored and conversation_id not in failed and conversation_id not in duplicated
        ],
        "sample": sample_of([gathered.orders[group][conversation_id] for conversation_id in scored], len(truths)),
    }


def _duplicate(duplicate: Duplicate) -> dict[str, Any]:
    conversation_id, provider, em_model, mode, epoch = duplicate.key
    return {
        "conversationId": conversation_id,
        "provider": provider,
        "em_model": em_model,
        "mode": mode,
        "epoch": epoch,
        "files": list(duplicate.files),
    }
