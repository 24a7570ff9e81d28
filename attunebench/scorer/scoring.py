"""Conversations and results → what `scores.json` holds. Pure: takes results one by one and keeps only their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, cast, get_args

from attunebench.conversations.schema import Conversation
from attunebench.errors import UsageError
from attunebench.judging import JudgeScale
from attunebench.metrics.registry import Rules
from attunebench.results.folder import Skipped
from attunebench.results.schema import Result
from attunebench.results.votes import on_one_scale
from attunebench.scorer.alignment import MismatchError, may_be_outdated
from attunebench.scorer.assembling import Ground, Unknown, assemble
from attunebench.scorer.closeness import DraftScores
from attunebench.scorer.conversation import ConversationScore, score_prepared
from attunebench.scorer.entries import entry_of
from attunebench.scorer.groups import Ci, Resampling
from attunebench.scorer.kept import Kept, keep
from attunebench.scorer.truth import Truth
from attunebench.scores import ConversationEntry, Scores

Cluster = Literal["participant"]


def score(
    conversations: Iterable[Conversation],
    results: Iterable[Result],
    *,
    seed: int = 0,
    resamples: int = 10_000,
    cluster: Cluster | None = None,
    ci: Ci = "percentile",
    rules: Rules = "attunebench",
    skipped: Iterable[Skipped] = (),
    drafts: DraftScores | None = None,
    judge_scale: JudgeScale | None = None,
) -> Scores:
    """Score results on the conversations of the same ids.

    Intervals are 95 % percentile bootstrap intervals over conversations, or over participants with
    `cluster="participant"`; with `ci="bca"` they are corrected for bias and skewness where that is defined. Results of
    other conversations, answers to other turns, texts or comparisons, and results that share conversation, provider,
    model, mode and epoch are not scored but named in `left_out`. `skipped`, what runs could not finish, enters coverage
    alone and may be filled while `results` is read. `drafts` are the BERTScores of the results' drafts, where they were
    asked for. `judge_scale`: the scale of the votes that count; without it, where a model's results hold votes on both,
    those on the quality scale. `rules` "released" computes what the released scorer does, for comparison with published
    numbers.
    UsageError for a seed, number of resamples, cluster, ci or rules that do not exist.
    """
    resampling = resampling_of(seed, resamples, cluster, ci, rules)
    ground = Ground.of(conversations, rules)
    found = (score_one(ground.truths, result, entry_of, drafts, judge_scale) for result in results)
    scores, kept = assemble(ground, found, skipped, resampling, bertscore=None if drafts is None else drafts.facts)
    scores["conversations"] = [cast(ConversationEntry, one.entry) for one in kept]
    return scores


def resampling_of(
    seed: int, resamples: int, cluster: Cluster | None, ci: Ci, rules: Rules = "attunebench"
) -> Resampling:
    """How intervals are made; UsageError for what does not exist."""
    if resamples < 1 or seed < 0:
        raise UsageError("The number of resamples must be at least 1 and the seed at least 0.")
    if cluster not in (None, "participant"):
        raise UsageError(f"There is no cluster {cluster!r}; `participant` is the one there is.")
    if ci not in ("percentile", "bca"):
        raise UsageError(f"There is no interval {ci!r}; there are `percentile` and `bca`.")
    if rules not in get_args(Rules):
        raise UsageError(f"Unknown rules {rules!r}; choose attunebench or released.")
    return Resampling(seed, resamples, by_participant=cluster is not None, ci=ci, rules=rules)


def score_one(
    truths: Mapping[str, Truth],
    result: Result,
    form: Callable[[ConversationScore], ConversationEntry | str],
    drafts: DraftScores | None = None,
    judge_scale: JudgeScale | None = None,
) -> Kept | Unknown:
    """What is kept of a result; `form` makes its entry, or the text of it. `judge_scale` as for `score`."""
    truth = truths.get(result.conversation_id)
    if truth is None:
        return Unknown(result.source_file, result.conversation_id)
    result = on_one_scale(result, judge_scale)
    try:
        found = score_prepared(truth, result, drafts)
    except MismatchError as error:
        return Unknown(result.source_file, result.conversation_id, str(error))
    return keep(found, result, form(found), outdated=may_be_outdated(truth, result))
