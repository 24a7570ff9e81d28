"""The scorer and its metric: a sample's result → our scores, and all samples' scores → what `score` would say of them.

Every metric of the registry is a key of a sample's score; NaN is undefined. A sample whose calls were not all made is
unscored. Means are over conversations, epochs first, each with its standard error and its number of conversations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from attunebench.harness.inspect_ai.estimates import NAN, Observed, estimate
from attunebench.harness.inspect_ai.logs import STORE
from attunebench.harness.inspect_ai.study import Choices, study_of
from attunebench.harness.inspect_ai.trouble import sentences
from attunebench.metrics.registry import cards_of
from attunebench.results.parsing import parse_result
from attunebench.scorer.alignment import MismatchError
from attunebench.scorer.conversation import ConversationScore, score_conversation
from attunebench.scorer.tallies import RATES

ITEMS = {"answered_items": "answered", "expected_items": "expected"}
"""Keys of a score that are counts: how much was answered stands apart from how well."""
SHOWN = tuple(card.id for card in cards_of("attunebench").values() if card.status != "diagnostic")
"""Metrics that are aggregated; a sample's score has all others too."""


@metric(scores="unreduced")
def summary(by_mode: bool = False, cluster: str | None = None) -> Metric:
    """Each shown metric as `<id>`, `<id>_stderr` and `<id>_n`, and the counts of items; absent is undefined.

    `cluster`: the metadata whose values a standard error is taken over, in place of conversations. Modes are never
    averaged with each other: with several of them, and with `by_mode`, a name is `<mode>.<id>`.
    """

    def summarised(scores: list[SampleScore]) -> Value:
        modes: dict[str, list[SampleScore]] = {}
        for score in scores:
            modes.setdefault((score.sample_metadata or {})["mode"], []).append(score)
        if len(modes) < 2 and not by_mode:
            return dict(_rows(scores, cluster))
        return {f"{mode}.{name}": row for mode, those in modes.items() for name, row in _rows(those, cluster)}

    return summarised


@scorer(name="attunebench_scorer", metrics=[summary()])
def attunebench_scorer(**arguments: Any) -> Scorer:
    """Score a sample by the labels of its conversation; `arguments` as the task takes them."""
    with sentences():
        study = study_of(Choices.of(**arguments))

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (labels are no target: they stay here)
        result = (state.store.get(STORE) or {}).get("result")
        if result is None:
            return Score.unscored(
                reason="scoring_failed", explanation="The sample ended before every call had its answer."
            )
        with sentences():
            conversation = study.conversation(state.metadata["conversation"])
        try:
            return _score(score_conversation(conversation, parse_result(result)))
        except MismatchError as error:
            return Score.unscored(reason="scoring_failed", explanation=f"The sample cannot be scored: {error}.")

    return score


def _score(found: ConversationScore) -> Score:
    tallies = found.tallies.as_json()
    values = {**found.metrics, **{key: tallies[name] for key, name in ITEMS.items()}}
    composite = found.metrics["composite"]
    shown = "undefined" if composite is None else f"{composite:.1f}"
    whole = "" if found.composite_complete else ", a term of it is undefined"
    return Score(
        value={key: NAN if value is None else value for key, value in values.items()},
        answer=f"{_shown(tallies['answered'])} of {_shown(tallies['expected'])} items answered",
        explanation=f"Composite {shown}{whole}",
        metadata={"counts": tallies, "composite_complete": found.composite_complete},
    )


def _rows(scores: Sequence[SampleScore], cluster: str | None) -> Iterator[tuple[str, float]]:
    for metric_id in SHOWN:
        found = estimate([_observed(score, metric_id, cluster) for score in scores], clustered=cluster is not None)
        if found.n:
            yield metric_id, found.mean
        if found.n > 1:
            yield f"{metric_id}_stderr", found.se
        if found.n:
            yield f"{metric_id}_n", float(found.n)
    for key in ITEMS:
        yield key, sum(score.score.as_dict()[key] for score in scores)


def _observed(score: SampleScore, metric_id: str, cluster: str | None) -> Observed:
    counts = (score.score.metadata or {})["counts"]
    pair = [NAN if counts[name] is None else float(counts[name]) for name in RATES.get(metric_id, ())]
    return Observed(
        conversation=str(score.sample_id),
        value=float(score.score.as_dict()[metric_id]),
        cluster=(score.sample_metadata or {}).get(cluster) if cluster else None,
        counts=(pair[0], pair[1]) if pair else None,
    )


def _shown(count: float | None) -> str:
    return "?" if count is None else f"{count:g}"
