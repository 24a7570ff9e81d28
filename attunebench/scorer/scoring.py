"""Conversations and results → what `scores.json` holds. Pure: takes results one by one and keeps only their scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from attunebench._version import __version__
from attunebench.conversations.schema import Conversation
from attunebench.errors import UsageError
from attunebench.metrics.registry import REGISTRY_VERSION
from attunebench.results.reading import Duplicate, Skipped, find_duplicates
from attunebench.results.schema import Result, RunOrder
from attunebench.scorer.answers import QUESTIONS, truth_entry
from attunebench.scorer.conversation import ConversationScore, score_prepared
from attunebench.scorer.groups import (
    Group,
    ObservedCounts,
    Resampling,
    aggregate_group,
    pooled_json,
    settings_of_groups,
)
from attunebench.scorer.references import references
from attunebench.scorer.sample import sample_of
from attunebench.scorer.truth import Truth, prepare
from attunebench.scores import ConversationEntry, Coverage, GroundTruthEntry, Scores, new_scores

Cluster = Literal["participant"]


def score(
    conversations: Iterable[Conversation],
    results: Iterable[Result],
    *,
    seed: int = 0,
    resamples: int = 10_000,
    cluster: Cluster | None = None,
    skipped: Iterable[Skipped] = (),
) -> Scores:
    """Score results on the conversations of the same ids.

    Intervals are 95 % percentile bootstrap intervals over conversations, or over participants with
    `cluster="participant"`. Results of other conversations and results that share conversation, provider, model, mode
    and epoch are not scored but named in `left_out`. `skipped`, what runs could not finish, enters coverage alone and
    may be filled while `results` is read. UsageError for a seed, number of resamples or cluster that does not exist.
    """
    if resamples < 1 or seed < 0:
        raise UsageError("The number of resamples must be at least 1 and the seed at least 0.")
    if cluster not in (None, "participant"):
        raise UsageError(f"There is no cluster {cluster!r}; `participant` is the one there is.")
    truths: dict[str, Truth] = {}
    facts: list[GroundTruthEntry] = []
    sources: set[str] = set()
    for conversation in conversations:
        facts.append(truth_entry(conversation))
        truths[conversation.conversation_id] = prepare(conversation)
        if source := conversation.metadata.get("source"):
            sources.add(str(source))
    gathered = _gather(truths, results)
    resampling = Resampling(seed, resamples, by_participant=cluster is not None)
    scores = _scores(truths, gathered, list(skipped), resampling)
    scores["metadata"]["sources"] = sorted(sources)
    scores["ground_truth"] = facts
    scores["references"] = references(facts, truths, resampling)
    return scores


@dataclass(slots=True)
class _Gathered:
    scores: list[ConversationScore] = field(default_factory=list)
    unknown: list[dict[str, str]] = field(default_factory=list)
    settings: dict[Group, dict[str, tuple[dict[str, Any], int]]] = field(default_factory=dict)
    observed: dict[Group, ObservedCounts] = field(default_factory=dict)
    orders: dict[Group, dict[str, RunOrder | None]] = field(default_factory=dict)
    judges: dict[str, None] = field(default_factory=dict)
    duplicates: tuple[Duplicate, ...] = ()


def _gather(truths: Mapping[str, Truth], results: Iterable[Result]) -> _Gathered:
    gathered = _Gathered()
    for result in results:
        truth = truths.get(result.conversation_id)
        if truth is None:
            gathered.unknown.append({"file": result.source_file, "conversationId": result.conversation_id})
            continue
        gathered.scores.append(score_prepared(truth, result))
        group = (result.provider, result.em_model, result.mode)
        gathered.observed.setdefault(group, ObservedCounts()).add(result.observed)
        gathered.orders.setdefault(group, {})[result.conversation_id] = result.run_order
        variants = gathered.settings.setdefault(group, {})
        text = json.dumps(result.settings, sort_keys=True)
        variants[text] = (dict(result.settings), variants.get(text, ({}, 0))[1] + 1)
        gathered.judges.update(dict.fromkeys(result.judges))
    gathered.duplicates = find_duplicates((found.key, found.source_file) for found in gathered.scores)
    doubtful = {duplicate.key for duplicate in gathered.duplicates}
    order = {conversation_id: position for position, conversation_id in enumerate(truths)}
    gathered.scores = sorted(
        (found for found in gathered.scores if found.key not in doubtful),
        key=lambda found: (*_group(found), order[found.conversation_id], found.epoch or 0),
    )
    return gathered


def _group(found: ConversationScore) -> Group:
    return (found.provider, found.em_model, found.mode)


def _scores(truths: Mapping[str, Truth], gathered: _Gathered, skipped: list[Skipped], resampling: Resampling) -> Scores:
    by_group: dict[Group, list[ConversationScore]] = {group: [] for group in _all_groups(truths, gathered, skipped)}
    for found in gathered.scores:
        by_group[_group(found)].append(found)
    aggregates = [
        aggregate_group(group, found, _coverage(group, found, truths, gathered, skipped), resampling)
        for group, found in by_group.items()
    ]
    metadata = {
        "created": None,
        "attunebench_version": __version__,
        "ground_truth": None,
        "ground_truth_sha256": None,
        "results": None,
        "n_conversations": len(truths),
        "n_results": len(gathered.scores),
        "models": sorted({model for _, model, _ in by_group}),
        "modes": sorted({mode for _, _, mode in by_group}),
        "registry_version": REGISTRY_VERSION,
        "judges": sorted(gathered.judges),
        "settings": settings_of_groups(
            {g: gathered.settings[g] for g in by_group if g in gathered.settings}, gathered.observed
        ),
        "intervals": {
            "method": "percentile bootstrap",
            "level": 0.95,
            "resamples": resampling.resamples,
            "seed": resampling.seed,
            "unit": "participant" if resampling.by_participant else "conversation",
        },
    }
    left_out: dict[str, list[Any]] = {
        "unreadable": [],
        "not_in_ground_truth": list(gathered.unknown),
        "duplicates": [_duplicate(duplicate) for duplicate in gathered.duplicates],
        "skipped": [asdict(entry) for entry in skipped],
        "invalid_conversations": [],
    }
    return new_scores(metadata, [_entry(found) for found in gathered.scores], aggregates, left_out, questions=QUESTIONS)


def _all_groups(truths: Mapping[str, Truth], gathered: _Gathered, skipped: list[Skipped]) -> list[Group]:
    """Also the groups of which nothing was scored, so that a model that failed throughout does not vanish."""
    groups = {_group(found) for found in gathered.scores}
    groups |= {duplicate.key[1:4] for duplicate in gathered.duplicates}
    groups |= {(s.provider, s.em_model, s.mode) for s in skipped if s.conversation_id in truths}
    return sorted(groups)


def _coverage(
    group: Group,
    scores: list[ConversationScore],
    truths: Mapping[str, Truth],
    gathered: _Gathered,
    skipped: list[Skipped],
) -> Coverage:
    scored = {found.conversation_id for found in scores}
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


def _entry(found: ConversationScore) -> ConversationEntry:
    return {
        "conversationId": found.conversation_id,
        "provider": found.provider,
        "em_model": found.em_model,
        "mode": found.mode,
        "epoch": found.epoch,
        "source_file": found.source_file,
        "participant_id": found.participant_id,
        "n_turns": len(found.turns),
        "metrics": found.metrics,
        "turns": [
            {"turnNumber": number, "metrics": values, "answers": found.answers.turns[number]}
            for number, values in found.turns.items()
        ],
        "pooled": pooled_json(found.pooled),
        "calls": asdict(found.tallies),
        "composite_complete": found.composite_complete,
        "answers": found.answers.whole,
        "usage": found.answers.usage,
        "api_cost": found.answers.api_cost,
        "duration_seconds": found.answers.duration_seconds,
    }
