"""The scorer and its metric: a sample's result → our scores, and all samples' scores → what `score` would say of them.

Every metric of the registry is a key of a sample's score; NaN is undefined. A sample whose calls were not all made is
unscored. Means are over conversations, epochs first, each with its standard error and its number of conversations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from attunebench.harness.inspect_ai.solving import sentences
from attunebench.harness.inspect_ai.study import STORE, study_of
from attunebench.metrics.registry import cards_of
from attunebench.results.parsing import parse_result
from attunebench.scorer.alignment import MismatchError
from attunebench.scorer.conversation import ConversationScore, score_conversation
from attunebench.scorer.tallies import RATES
from attunebench.statistics.bootstrap import standard_errors, sum_by_cluster

ITEMS = {"answered_items": "answered", "expected_items": "expected"}
"""Keys of a score that are counts: how much was answered stands apart from how well."""
SHOWN = tuple(card.id for card in cards_of("attunebench").values() if card.status != "diagnostic")
"""Metrics that are aggregated; a sample's score has all others too."""
_NAN = float("nan")


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
        study = study_of(**arguments)

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
    answered, expected = ("?" if (count := tallies[name]) is None else f"{count:g}" for name in ITEMS.values())
    return Score(
        value={key: _NAN if value is None else value for key, value in values.items()},
        answer=f"{answered} of {expected} items answered",
        explanation=f"Composite {shown}{'' if found.composite_complete else ', a term of it is undefined'}",
        metadata={"counts": tallies, "composite_complete": found.composite_complete},
    )


def _rows(scores: Sequence[SampleScore], cluster: str | None) -> Iterator[tuple[str, float]]:
    """The rows of one mode: ratios of sums over conversations, as `attune-bench score` takes them."""
    places: dict[Any, int] = {}
    rows = np.array([places.setdefault(score.sample_id, len(places)) for score in scores], dtype=np.intp)
    # Of each sample and metric the two numbers whose ratio it is: counts for a rate, else the value and 1.
    pairs = np.array([[_pair(score, metric_id) for metric_id in SHOWN] for score in scores], dtype=np.float64)
    pairs = pairs.reshape(len(scores), len(SHOWN), 2)
    pairs[np.isnan(pairs).any(axis=2)] = 0
    above, below = (sum_by_cluster(pairs[:, :, part], rows) for part in (0, 1))
    # A conversation counts once however often it was run: its epochs are averaged first, where they are no counts.
    weights = np.where([metric_id in RATES for metric_id in SHOWN], 1, np.maximum(below, 1))
    above, below = above / weights, below / weights
    clusters = None
    if cluster is not None:
        people = {score.sample_id: (score.sample_metadata or {}).get(cluster) for score in scores}
        labels: dict[Any, int] = {}
        keys = [(person is None, name if person is None else person) for name, person in people.items()]
        clusters = np.array([labels.setdefault(key, len(labels)) for key in keys], dtype=np.intp)
    errors = standard_errors(above, below, clusters)
    for place, metric_id in enumerate(SHOWN):
        if n := int((below[:, place] > 0).sum()):
            yield metric_id, float(above[:, place].sum() / below[:, place].sum())
            if n > 1:
                yield f"{metric_id}_stderr", float(errors[place])
            yield f"{metric_id}_n", float(n)
    for key in ITEMS:
        yield key, float(sum(float(score.score.as_dict()[key] or 0) for score in scores))


def _pair(score: SampleScore, metric_id: str) -> tuple[float | None, float | None]:
    if metric_id not in RATES:
        value: Any = score.score.as_dict()[metric_id]
        return value, 1
    counts = (score.score.metadata or {})["counts"]
    part, whole = RATES[metric_id]
    return counts[part], counts[whole]
